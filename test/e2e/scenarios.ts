// What a client may count on, as one body each. They run over every way to the bridge, see scenarios.test.ts.

import { expect } from 'vitest';
import { type Bridge, untilStatus } from '../support/bridges.ts';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer } from '../support/test-daemon.ts';

export interface Scenario {
  readonly title: string;
  readonly config?: object;
  run(bridge: Bridge): Promise<void>;
}

const ONE_SERVER = { mcpServers: { fixture: fixtureServer() } };
const TWO_SERVERS = { mcpServers: { one: fixtureServer(), other: fixtureServer() } };

async function ready(bridge: Bridge, capabilities: object = {}): Promise<RawClient> {
  const client = await bridge.connect();
  await client.initialize(undefined, 'init', capabilities);
  return client;
}

interface Seen {
  methods: string[];
  cancelled: unknown[];
  subscribed: string[];
  unsubscribed: string[];
  levels: string[];
}

const seen = async (client: RawClient): Promise<Seen> =>
  JSON.parse(textOf(await client.callTool('seen', 'seen'))) as Seen;

/** A progress note's token, and how far it is. */
const progressOf = ({ params }: Message): [unknown, unknown] => [params?.progressToken, params?.progress];

export const SCENARIOS: readonly Scenario[] = [
  {
    title: "initialize is answered with the server's own words, in the version that was asked for",
    async run(bridge) {
      const client = await bridge.connect();
      const { result } = await client.initialize();
      expect(result).toMatchObject({
        protocolVersion: '2025-06-18',
        serverInfo: { name: 'fixture', version: '1.2.3' },
        capabilities: { tools: { listChanged: true } },
        instructions: 'Fixture.',
        extra: { kept: 1 },
        _meta: { 'mcp-bridge/clientId': expect.any(String), 'mcp-bridge/instanceId': expect.any(String) },
      });
    },
  },
  {
    title: 'initialize also works as the client-discovery document has it',
    async run(bridge) {
      const client = await bridge.connect();
      const clientInfo = { name: 'Example', version: '1.2.0', protocols: ['mcp/1.0'] };
      const answer = await client.request(1, 'initialize', {
        processId: 1,
        clientInfo,
        capabilities: { example: true },
      });
      expect(answer.result).toMatchObject({ protocolVersion: '2025-11-25', serverInfo: { name: 'fixture' } });
      expect(textOf(await client.callTool(2, 'echo', { text: 'hi' }))).toBe('hi');
    },
  },
  {
    title: 'a server is initialized once, however many clients come, early or late',
    async run(bridge) {
      const clients = await Promise.all([ready(bridge), ready(bridge), ready(bridge)]);
      const late = await ready(bridge);
      for (const client of [...clients, late])
        expect(textOf(await client.callTool(1, 'echo', { text: 'x' }))).toBe('x');
      const { methods } = await seen(late);
      expect(methods.filter((method) => method === 'initialize')).toHaveLength(1);
      expect(methods.filter((method) => method === 'notifications/initialized')).toHaveLength(1);
      const { instances } = await bridge.status();
      expect(instances).toMatchObject([{ server: 'fixture', state: 'ready', sessions: 4, restarts: 0 }]);
    },
  },
  {
    title: "a server's errors, and methods that nobody knows, pass through",
    async run(bridge) {
      const client = await ready(bridge);
      expect((await client.request(1, 'no/such')).error).toEqual({
        code: -32601,
        message: 'Method not found: no/such',
      });
      expect((await client.callTool(2, 'nope')).error).toEqual({ code: -32602, message: 'Unknown tool: nope' });
    },
  },
  {
    title: 'ids come back with the bytes they were sent with',
    async run(bridge) {
      const client = await ready(bridge);
      for (const id of [
        '0',
        '-7',
        '9007199254740991',
        '1.0',
        '1e2',
        '""',
        '"a"',
        '"\\u0061\\/"',
        '"é漢"',
        '"1"',
        '1',
      ]) {
        client.send(
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"text":"t"}}}`,
        );
        expect(await client.nextLine()).toContain(`"id":${id},`);
      }
    },
  },
  {
    title: 'what the router does not read reaches the server byte for byte',
    async run(bridge) {
      const client = await ready(bridge);
      const before =
        '{ "params" : {"zeta":1.0, "name" :"raw", "arguments":{"n":1e5,"deep":[[{"id":1,"id":2}]],"u":"\\u00e9"}} ,"jsonrpc":"2.0","x-unknown":[ 1 ],  "id":';
      const after = ', "method":"tools/call"  }';
      client.send(`${before}"mine"${after}`);
      const received = textOf(await client.answerTo('mine'));
      expect(received.startsWith(before)).toBe(true);
      expect(received.endsWith(after)).toBe(true);
      expect(received.slice(before.length, -after.length)).toMatch(/^\d+$/);
    },
  },
  {
    title: 'what a server sends reaches the client byte for byte',
    async run(bridge) {
      const client = await ready(bridge);
      await client.callTool(0, 'echo', { text: 'ready' });
      const line =
        '{ "method":"notifications/x" ,"params":{"b":1.0,"a":[2e5,"\\u00e9é"]},"jsonrpc":"2.0","extra":null}';
      client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'print', arguments: { line } } });
      expect(await client.nextLine()).toBe(line);
    },
  },
  {
    title: 'clients with the same ids get their own answers',
    async run(bridge) {
      const clients = await Promise.all(Array.from({ length: 5 }, () => ready(bridge)));
      const asked = clients.flatMap((client, n) =>
        [0, 1, 2, 3].map(async (id) => {
          client.send({
            jsonrpc: '2.0',
            id,
            method: 'tools/call',
            params: { name: 'echo', arguments: { text: `${n}:${id}` } },
          });
          return [n, id];
        }),
      );
      await Promise.all(asked);
      for (const [n, client] of clients.entries()) {
        for (const id of [0, 1, 2, 3]) expect(textOf(await client.answerTo(id))).toBe(`${n}:${id}`);
      }
    },
  },
  {
    title: 'progress reaches the one who asked for it, under the token of its own',
    async run(bridge) {
      const [one, other, quiet] = await Promise.all([ready(bridge), ready(bridge), ready(bridge)]);
      one.send({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'slow', arguments: { ms: 60, steps: 2 }, _meta: { progressToken: 'same' } },
      });
      other.send({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { _meta: { progressToken: 'same' }, name: 'slow', arguments: { ms: 60, steps: 3 } },
      });
      const [fromOne, fromOther] = await Promise.all([take(one, 3), take(other, 4)]);
      expect(fromOne.slice(0, 2).map(progressOf)).toEqual([
        ['same', 1],
        ['same', 2],
      ]);
      expect(fromOther.slice(0, 3).map(progressOf)).toEqual([
        ['same', 1],
        ['same', 2],
        ['same', 3],
      ]);
      expect(textOf(await quiet.callTool(9, 'echo', { text: 'only this' }))).toBe('only this');
      expect(quiet.lines).toHaveLength(2);
    },
  },
  {
    title: "a cancel reaches the server under the server's id, and nothing but the cancelled call is lost",
    async run(bridge) {
      const [one, other] = await Promise.all([ready(bridge), ready(bridge)]);
      one.send({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'hold' } });
      other.send({ jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'hold' } });
      await untilStatus(bridge, ({ instances }) => instances[0]?.calls === 2);
      one.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5, reason: 'no more' } });
      await untilStatus(bridge, ({ counters }) => counters.cancelled === 1);
      expect((await seen(one)).cancelled).toHaveLength(1);
      expect(textOf(await one.callTool(6, 'release'))).toBe('ok');
      expect(textOf(await other.answerTo(5))).toBe('released');
      expect(one.lines.some((line) => (JSON.parse(line) as Message).id === 5)).toBe(false);
      expect((await bridge.status()).counters).toMatchObject({ cancelled: 1, strayResponses: 1 });
    },
  },
  {
    title: 'what a client had in flight when it went is cancelled at the server',
    async run(bridge) {
      const [one, other] = await Promise.all([ready(bridge), ready(bridge)]);
      one.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
      await untilStatus(bridge, ({ instances }) => instances[0]?.calls === 1);
      one.destroy();
      await untilStatus(bridge, ({ counters }) => counters.cancelled === 1);
      expect((await seen(other)).cancelled).toHaveLength(1);
      await untilStatus(bridge, ({ instances }) => instances[0]?.sessions === 1);
    },
  },
  {
    title: 'a crash gives each call in flight one error at once, and the next call starts the server again',
    async run(bridge) {
      const [one, other] = await Promise.all([ready(bridge), ready(bridge)]);
      one.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
      one.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hold' } });
      await untilStatus(bridge, ({ instances }) => instances[0]?.calls === 2);
      const lost = [await other.callTool(1, 'crash', { code: 7 }), await one.answerTo(1), await one.answerTo(2)];
      for (const { error } of lost) {
        expect(error).toMatchObject({ code: -32603, data: { code: 'SERVER_CRASHED', server: 'fixture' } });
        expect(error?.message).toContain('outcome is unknown');
      }
      expect(textOf(await one.callTool(3, 'echo', { text: 'again' }))).toBe('again');
      expect(textOf(await other.callTool(3, 'echo', { text: 'again' }))).toBe('again');
      const { instances, counters } = await bridge.status();
      expect(instances).toMatchObject([{ restarts: 1, state: 'ready' }]);
      expect(counters).toMatchObject({ serverCrashes: 1, serverStarts: 2 });
    },
  },
  {
    title: 'a server that cannot start fails initialize with what it said last, without the values it was given',
    config: {
      mcpServers: { fixture: fixtureServer({ FIXTURE_EXIT: '4', FIXTURE_STDERR: 'no key hunter2', KEY: 'hunter2' }) },
    },
    async run(bridge) {
      const client = await bridge.connect();
      const { error } = await client.initialize();
      expect(error).toMatchObject({ code: -32603, data: { code: 'SERVER_START_FAILED', server: 'fixture' } });
      expect(error?.message).toContain('exited with code 4');
      expect(JSON.stringify(error)).not.toContain('hunter2');
      // The connection is not lost by that.
      expect((await client.request(2, 'ping')).result).toEqual({});
    },
  },
  {
    title: 'a server that prints what is no JSON on stdout is understood all the same',
    config: { mcpServers: { fixture: fixtureServer({ FIXTURE_NOISE: '1' }) } },
    async run(bridge) {
      const client = await ready(bridge);
      client.send({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'print', arguments: { line: 'debug: {"id":1}' } },
      });
      expect(textOf(await client.answerTo(1))).toBe('ok');
      expect((await bridge.status()).counters.serverNoise).toBe(1);
    },
  },
  {
    title: 'an answer that cannot be passed on is an error of the one who waits for it, and of nobody else',
    async run(bridge) {
      const [one, other] = await Promise.all([ready(bridge), ready(bridge)]);
      other.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold' } });
      const refused = [
        await one.callTool(1, 'deep', { levels: 5000 }),
        await one.callTool(2, 'blob', { mib: 11 }),
        await one.callTool(3, 'blob', { mib: 9, idFirst: true }),
        await one.callTool(4, 'latin1'),
      ];
      for (const { error } of refused)
        expect(error).toMatchObject({ code: -32603, data: { code: 'SERVER_ANSWER_REFUSED', server: 'fixture' } });
      expect((await one.callTool(2, 'deep', { levels: 100 })).result).toBeDefined();
      await one.callTool(3, 'release');
      expect(textOf(await other.answerTo(1))).toBe('released');
    },
  },
  {
    title: 'notices of a server reach all its clients',
    async run(bridge) {
      const [one, other] = await Promise.all([ready(bridge), ready(bridge)]);
      await other.callTool(0, 'echo', { text: 'here' });
      await one.callTool(1, 'notify', { method: 'notifications/tools/list_changed' });
      expect(await other.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      expect(one.lines).toContain('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    },
  },
  {
    title: 'two clients that answer a question differently each get their own answer, also when they call all the time',
    async run(bridge) {
      const clients = await Promise.all(['yes', 'no'].map(() => ready(bridge, { elicitation: {} })));
      for (const [n, client] of clients.entries())
        client.answerQuestions(({ params }) => ({
          result: { action: 'accept', content: { from: n, about: params?.about } },
        }));
      const calls = 250;
      for (const [n, client] of clients.entries()) {
        for (let id = 0; id < calls; id++) {
          const params = { name: 'ask', arguments: { params: { about: `${n}:${id}` } } };
          client.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
        }
      }
      for (const [n, client] of clients.entries()) {
        for (let id = 0; id < calls; id++) {
          const said = JSON.parse(textOf(await client.answerTo(id))) as object;
          expect(said).toEqual({ action: 'accept', content: { from: n, about: `${n}:${id}` } });
        }
      }
    },
  },
  {
    title: 'a question during which others have calls under way is held until it is certain whom it is for',
    async run(bridge) {
      const [one, other] = [await ready(bridge, { sampling: {} }), await ready(bridge, { sampling: {} })];
      one.answerQuestions(() => ({ result: { from: 'one' } }));
      other.answerQuestions(() => ({ result: { from: 'other' } }));
      for (let n = 0; n < 3; n++) await other.callTool(`q${n}`, 'slow', { ms: 1 }); // by now it counts as quiet
      other.send({ jsonrpc: '2.0', id: 's', method: 'tools/call', params: { name: 'slow', arguments: { ms: 300 } } });
      await untilStatus(bridge, ({ instances }) => instances[0]?.calls === 4);
      const said = await one.callTool(1, 'ask', { method: 'sampling/createMessage' });
      expect(JSON.parse(textOf(said))).toEqual({ from: 'one' });
      expect(textOf(await other.answerTo('s'))).toBe('done');
    },
  },
  {
    title:
      'a client that lacks the capability, or goes, or is not there, leaves the server with an error and no question',
    async run(bridge) {
      const able = await ready(bridge, { elicitation: {}, sampling: {} });
      const unable = await ready(bridge);
      expect(textOf(await unable.callTool(1, 'ask'))).toContain('-32601');
      let isAsked = false;
      able.answerQuestions(() => {
        isAsked = true;
        return undefined;
      });
      able.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } });
      await untilStatus(bridge, () => isAsked);
      able.destroy();
      await untilStatus(bridge, ({ instances }) => instances[0]?.sessions === 1);
      expect(unable.lines.filter((line) => line.includes('elicitation/create'))).toEqual([]);
      expect(textOf(await unable.callTool(2, 'echo', { text: 'goes on' }))).toBe('goes on');
    },
  },
  {
    title: 'a server that asks for roots runs once for each set of roots',
    async run(bridge) {
      const rooted = async (uri: string) => {
        const client = await ready(bridge, { roots: { listChanged: true } });
        client.answerQuestions(() => ({ result: { roots: [{ uri, name: `as ${client.lines.length} has it` }] } }));
        return client;
      };
      const rootsOf = async (client: RawClient, id: number) =>
        textOf(await client.callTool(id, 'ask', { method: 'roots/list' })).match(/file:[^"]*/g);
      const one = await rooted('file:///one');
      expect(await rootsOf(one, 1)).toEqual(['file:///one']);
      const other = await rooted('file:///other');
      const same = await rooted('file:///one');
      expect(await rootsOf(other, 1)).toEqual(['file:///other']);
      expect(await rootsOf(same, 1)).toEqual(['file:///one']);
      const { instances } = await bridge.status();
      expect(instances.map(({ sessions }) => sessions)).toEqual([2, 1]);
      // Who has others now is with those who have the same.
      same.answerQuestions(() => ({ result: { roots: [{ uri: 'file:///other' }] } }));
      same.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
      expect(await rootsOf(same, 2)).toEqual(['file:///other']);
      expect((await bridge.status()).instances.map(({ sessions }) => sessions)).toEqual([1, 2]);
    },
  },
  {
    title:
      'a server that asks for roots for the first time, in a call, gets those of its client, and so does each other client',
    async run(bridge) {
      const clients = await Promise.all(['one', 'other'].map(() => ready(bridge, { roots: {} })));
      for (const [n, client] of clients.entries()) {
        client.answerQuestions(() => ({ result: { roots: [{ uri: `file:///${n}` }] } }));
        await client.callTool(1, 'echo', { text: 'bound' });
      }
      for (const [n, client] of clients.entries())
        expect(textOf(await client.callTool(2, 'ask', { method: 'roots/list' }))).toBe(
          `{"roots":[{"uri":"file:///${n}"}]}`,
        );
    },
  },
  {
    title: 'a client of the revision 2025-03-26 may send batches, any other may not',
    async run(bridge) {
      const batch = [
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'one' } } },
        { jsonrpc: '2.0', method: 'notifications/x' },
        { jsonrpc: '2.0', id: 2, method: 'ping' },
        [{ jsonrpc: '2.0', id: 3, method: 'ping' }],
        7,
      ];
      const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
      const old = await bridge.connect();
      await old.request('init', 'initialize', params);
      old.send(batch);
      const answers = await take(old, 3);
      const ids = answers.map(({ id, error }) => `${id} ${error?.code ?? 'fine'}`);
      expect(ids.sort()).toEqual(['1 fine', '2 fine', 'null -32600']); // once for what are no messages
      old.send(Array(100_000).fill(0));
      expect(await old.next()).toMatchObject({ id: null, error: { code: -32600 } });
      old.send([]);
      expect(await old.next()).toMatchObject({ id: null, error: { code: -32600 } });
      const current = await ready(bridge);
      current.send(batch);
      expect(await current.next()).toMatchObject({ id: null, error: { code: -32600 } });
    },
  },
  {
    title: 'an update of a resource reaches those who subscribed to it, or to what it is a part of, and nobody else',
    async run(bridge) {
      const [one, other, third] = await Promise.all([ready(bridge), ready(bridge), ready(bridge)]);
      await third.callTool(0, 'echo', { text: 'ready' });
      expect((await one.request(1, 'resources/subscribe', { uri: 'file:///a' })).result).toEqual({});
      expect((await other.request(1, 'resources/subscribe', { uri: 'file:///a' })).result).toEqual({});
      expect((await third.request(1, 'resources/subscribe', { uri: 'no://where' })).error?.code).toBe(-32002);
      const update = (id: string, uri: string) =>
        third.callTool(id, 'notify', { method: 'notifications/resources/updated', params: { uri } });
      await update('u1', 'file:///a/part');
      await update('u2', 'no://where');
      expect((await one.next()).params).toEqual({ uri: 'file:///a/part' });
      expect((await other.next()).params).toEqual({ uri: 'file:///a/part' });
      // The server is told when the last of them has enough, by word or by leaving.
      expect((await one.request(2, 'resources/unsubscribe', { uri: 'file:///a' })).result).toEqual({});
      expect((await seen(third)).unsubscribed).toEqual([]);
      other.destroy();
      await untilStatus(bridge, ({ instances }) => instances[0]?.sessions === 2);
      expect((await seen(third)).unsubscribed).toEqual(['file:///a']);
      expect(third.lines.filter((line) => line.includes('resources/updated'))).toEqual([]);
      expect((await bridge.status()).counters.strayResponses).toBe(0);
    },
  },
  {
    title: 'each client gets the log messages that it asked for, and the server the most verbose level of all',
    async run(bridge) {
      const [chatty, terse] = await Promise.all([ready(bridge), ready(bridge)]);
      expect((await terse.request(1, 'logging/setLevel', { level: 'error' })).result).toEqual({});
      expect((await chatty.request(1, 'logging/setLevel', { level: 'debug' })).result).toEqual({});
      expect((await terse.request(2, 'logging/setLevel', { level: 'warning' })).result).toEqual({});
      expect((await seen(chatty)).levels).toEqual(['error', 'debug']);
      for (const [n, level] of ['debug', 'warning'].entries())
        await chatty.callTool(`n${n}`, 'notify', { method: 'notifications/message', params: { level, data: level } });
      expect((await terse.next()).params).toMatchObject({ level: 'warning' });
      expect(chatty.lines.filter((line) => line.includes('notifications/message'))).toHaveLength(2);
      chatty.destroy();
      await untilStatus(bridge, ({ instances }) => instances[0]?.sessions === 1);
      expect((await seen(terse)).levels).toEqual(['error', 'debug', 'warning']);
    },
  },
  {
    title: 'a server that was started again is told of subscriptions and log level anew',
    async run(bridge) {
      const client = await ready(bridge);
      await client.request(1, 'resources/subscribe', { uri: 'file:///a' });
      await client.request(2, 'logging/setLevel', { level: 'notice' });
      await client.callTool(3, 'crash');
      expect(await seen(client)).toMatchObject({ subscribed: ['file:///a'], levels: ['notice'] });
    },
  },
  {
    title:
      'before initialize there is ping, a quick no to a server/discover that does not say its version, and a clear error to all else',
    async run(bridge) {
      const client = await bridge.connect();
      expect((await client.request(1, 'ping')).result).toEqual({});
      expect((await client.request(2, 'server/discover')).error?.code).toBe(-32602);
      expect((await client.request(3, 'tools/list')).error).toMatchObject({
        code: -32600,
        message: expect.stringContaining('initialize'),
      });
      await client.initialize();
      expect((await client.request(4, 'initialize', { protocolVersion: '2025-06-18' })).error?.code).toBe(-32600);
      expect(textOf(await client.callTool(5, 'echo', { text: 'fine' }))).toBe('fine');
    },
  },
  {
    title: 'a whole conversation sent at once, its end included, is answered in full',
    async run(bridge) {
      const client = await bridge.connect();
      const initialize = {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'script', version: '1' } },
      };
      const calls = Array.from({ length: 100 }, (_, i) => ({
        jsonrpc: '2.0',
        id: i + 2,
        method: 'tools/call',
        params: { name: 'slow', arguments: { ms: 20 } },
      }));
      for (const message of [initialize, { jsonrpc: '2.0', method: 'notifications/initialized' }, ...calls])
        client.send(message);
      client.end();
      const answers = await take(client, 101);
      expect(new Set(answers.map(({ id }) => id)).size).toBe(101);
      expect(answers.every(({ result }) => result !== undefined)).toBe(true);
      await client.untilClosed();
      await untilStatus(bridge, ({ clients }) => clients === 0);
    },
  },
  {
    title: 'an id that is still in use is refused, and the first request keeps its answer',
    async run(bridge) {
      const client = await ready(bridge);
      client.send({ jsonrpc: '2.0', id: 'twice', method: 'tools/call', params: { name: 'hold' } });
      expect((await client.callTool('twice', 'echo')).error).toMatchObject({
        code: -32600,
        data: { code: 'REQUEST_REFUSED' },
      });
      client.send({ jsonrpc: '2.0', id: 'other', method: 'tools/call', params: { name: 'release' } });
      expect(textOf(await client.answerTo('twice'))).toBe('released');
    },
  },
  {
    title: 'one client can hold no more than its share: 600 requests at once are all answered',
    async run(bridge) {
      const client = await ready(bridge);
      for (let id = 0; id < 600; id++)
        client.send({
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'echo', arguments: { text: `${id}` } },
        });
      for (let id = 0; id < 600; id++) expect(textOf(await client.answerTo(id))).toBe(`${id}`);
    },
  },
  {
    title: 'a view names the server to be shown; what does not exist is said, with what does',
    config: TWO_SERVERS,
    async run(bridge) {
      const chosen = await bridge.connect();
      expect(
        (await chosen.initialize({ 'mcp-bridge/view': 'server:other', 'mcp-bridge/clientId': 'me' })).result,
      ).toMatchObject({ _meta: { 'mcp-bridge/clientId': 'me' } });
      const client = await bridge.connect();
      const undecided = await bridge.connect();
      expect((await undecided.initialize()).result).toMatchObject({ serverInfo: { name: 'mcp-bridge-server' } });
      const unknown = await client.initialize({ 'mcp-bridge/view': 'server:none' });
      expect(unknown.error).toMatchObject({
        code: -32601,
        data: { code: 'SERVER_NOT_FOUND', hint: expect.stringContaining('one, other') },
      });
      const strange = await client.initialize({ 'mcp-bridge/view': 'sideways' });
      expect(strange.error).toMatchObject({ code: -32602, data: { code: 'VIEW_UNKNOWN' } });
      expect(
        (await client.initialize({ 'mcp-bridge/view': 'server:one', 'mcp-bridge/clientId': 'me' })).result?._meta,
      ).toMatchObject({ 'mcp-bridge/clientId': 'me-2' });
    },
  },
];

async function take(client: RawClient, count: number): Promise<Message[]> {
  const messages: Message[] = [];
  while (messages.length < count) messages.push(await client.next());
  return messages;
}

export const DEFAULT_CONFIG = ONE_SERVER;
