// Requests on their way through the core: sent under the bridge's ids, answered under the client's, exactly once.

import { describe, expect, test } from 'vitest';
import { GRACE_MS } from '../../../src/core/pressure.ts';
import { CoreInMemory, type Message } from '../../support/core-in-memory.ts';

const codeOf = (message: Message | undefined): string | undefined => message?.error?.data?.code;

describe('a call', () => {
  test('comes back to its client under its own id, however that is spelled', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    const ids = ['1.0', '"a"', '"\\u0062"', '"é😀"', '-0', '1e2', `"${'x'.repeat(256)}"`];
    for (const id of ids) client.say(`{"jsonrpc":"2.0","id": ${id} ,"method":"tools/call","params":{}}`);
    await core.settle();
    const server = core.server();
    expect(server.requests.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    for (const { id } of server.requests) server.say(`{"jsonrpc":"2.0","result":{"x": 1.50},"id":${id}}`);
    await core.settle();
    expect(client.link.lines).toEqual(ids.map((id) => `{"jsonrpc":"2.0","result":{"x": 1.50},"id":${id}}`));
    expect(core.openCalls).toBe(0);
  });

  test('of two clients with the same id comes back to the right one', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    one.call(1, { from: 'one' });
    other.call(1, { from: 'other' });
    await core.settle();
    for (const request of [...core.server().requests].reverse()) core.server().answer(request);
    await core.settle();
    expect(one.answersTo(1).map(({ result }) => result)).toEqual([{ echo: { from: 'one' } }]);
    expect(other.answersTo(1).map(({ result }) => result)).toEqual([{ echo: { from: 'other' } }]);
  });

  test('under an id that is still in use is refused, also when the id is spelled in another way', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    client.say('{"jsonrpc":"2.0","id":1.0,"method":"tools/call"}');
    client.call('1');
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
    expect(client.received.map(codeOf)).toEqual(['REQUEST_REFUSED']);
  });

  test('that was answered may be followed by another one under its id', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    for (let round = 0; round < 3; round++) {
      client.call(1, { round });
      await core.settle();
      core.server().answer(core.server().requests[round]);
      await core.settle();
    }
    expect(client.answersTo(1).map(({ result }) => result?.echo)).toEqual([{ round: 0 }, { round: 1 }, { round: 2 }]);
  });

  test('is answered once, even by a server that answers twice, or answers unknown ids', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    const [request] = core.server().requests;
    core.server().answer(request);
    core.server().answer(request);
    for (const id of ['"1"', '99', 'null', '0', '1.5', '{}'])
      core.server().say(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    core.server().say('{"jsonrpc":"2.0","result":{}}');
    await core.settle();
    expect(client.received).toHaveLength(1);
    expect(core.counters.strayResponses).toBe(8);
  });

  test('with a key that is there twice where a policy would look is refused, and goes nowhere', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.say('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}');
    client.say('{"jsonrpc":"2.0","id":2,"method":"tools\\/call","params":{"name":"a","Name":"b"}}');
    client.say('{"jsonrpc":"2.0","id":3,"method":"other","params":{"name":"a","name":"b"}}');
    client.say(
      '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{"b":1}}}',
    );
    await core.settle();
    expect(client.received.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, -32600],
      [2, -32600],
      [4, -32600],
    ]);
    expect(core.server().requests).toHaveLength(1);
  });

  test('of an unknown method passes through byte for byte', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.say('{ "zz":[1.0, 2e0],"method":"x/y\\u007a" ,"jsonrpc":"2.0","id":"q", "params":[ ] }');
    client.say('{"jsonrpc":"2.0","method":"notifications/x",  "params":{"a":"\\u0061"}}');
    await core.settle();
    expect(core.server().link?.lines).toEqual([
      '{ "zz":[1.0, 2e0],"method":"x/y\\u007a" ,"jsonrpc":"2.0","id":1, "params":[ ] }',
      '{"jsonrpc":"2.0","method":"notifications/x",  "params":{"a":"\\u0061"}}',
    ]);
  });

  test.each(['tools/call', 'tools\\/call', 'tools/list', 'initialize', 'sampling/createMessage'])(
    'of %s without an id is dropped in both directions, because nothing decides about it',
    async (method) => {
      const core = new CoreInMemory();
      const client = await core.ready();
      client.call(1);
      await core.settle();
      const sent = core.server().link?.lines.length;
      const frame = `{"jsonrpc":"2.0","method":"${method}","params":{"name":"tool"}}`;
      client.say(frame);
      core.server().say(frame);
      await core.settle();
      expect(core.server().link?.lines).toHaveLength(sent ?? 0);
      expect(client.received).toEqual([]);
      expect(core.counters).toMatchObject({ badFrames: 1, serverNoise: 1 });
    },
  );

  test.each<[string, (id: number) => string]>([
    ['nests too deeply', (id) => `{"jsonrpc":"2.0","id":${id},"result":{"x":${'['.repeat(200)}${']'.repeat(200)}}}`],
    ['has a key twice', (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"result":{}}`],
    ['has a key of another case beside its own', (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"Error":null}`],
  ])('is answered with an error when the server’s answer to it %s', async (_, answer) => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    core.server().say(answer(Number(core.server().requests[0]?.id)));
    await core.settle();
    expect(client.answersTo(1)).toHaveLength(1);
  });
});

describe('a cancellation', () => {
  test('reaches the server under the id that the server knows, and the client gets no answer', async () => {
    const core = new CoreInMemory();
    const [other, client] = [await core.ready(), await core.ready()];
    other.call('a');
    client.call('a');
    await core.settle();
    client.say(
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"é", "requestId" : "\\u0061" }}',
    );
    await core.settle();
    expect(core.server().link?.lines.at(-1)).toBe(
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"é", "requestId" : 2 }}',
    );
    core.server().answer(core.server().requests[1]);
    await core.settle();
    expect(client.received).toEqual([]);
    expect(core.counters).toMatchObject({ cancelled: 1, strayCancels: 0, strayResponses: 1 });
    expect(core.sessionOf(client)).toMatchObject({ sentCount: 0, waitingBytes: 0 });
    expect(core.server().instance.openCalls).toBe(1);
  });

  test('of an unknown, ended or foreign request is dropped and counted', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    one.call(1);
    one.call(2);
    await core.settle();
    core.server().answer(core.server().requests[1]);
    other.cancel(1);
    one.cancel(2);
    one.cancel('1');
    one.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}');
    one.say('{"jsonrpc":"2.0","method":"notifications/cancelled"}');
    await core.settle();
    expect(core.server().cancelled).toEqual([]);
    expect(core.counters.strayCancels).toBe(5);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(one.answersTo(1)).toHaveLength(1);
  });

  test('of a request that still waits takes it out, and the server never hears of it', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1 } });
    const client = await core.ready();
    for (const id of [1, 2, 3]) client.call(id, { id });
    client.cancel(2);
    await core.settle();
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(core.server().requests.map(({ params }) => params?.arguments)).toEqual([{ id: 1 }, { id: 3 }]);
    expect(core.server().cancelled).toEqual([]);
    core.server().answer(core.server().requests[1]);
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual([1, 3]);
    expect(core.openCalls).toBe(0);
  });

  test('makes room for the next request that waits', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerClient: 1 } });
    const client = await core.ready();
    client.call(1);
    client.call(2);
    client.cancel(1);
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
  });
});

describe('progress', () => {
  test('with equal tokens reaches the client that the token came from, spelled as it was', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    one.say('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken": "\\u0070" }}}');
    other.call(1, {}, { progressToken: 'p' });
    await core.settle();
    const tokens = core
      .server()
      .requests.map(({ params }) => (params?._meta as { progressToken: unknown } | undefined)?.progressToken);
    expect(tokens).toEqual([1, 2]);
    core
      .server()
      .say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken": 2 ,"progress":0.50}}');
    core.server().say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":1}}');
    await core.settle();
    expect(other.link.lines).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken": "p" ,"progress":0.50}}',
    ]);
    expect(one.link.lines).toEqual([
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":"\\u0070"}}',
    ]);
  });

  test('for a call that is over, that asked for none, or that never was is dropped and counted', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1, {}, { progressToken: 1 });
    client.call(2);
    await core.settle();
    core.server().answer(core.server().requests[0]);
    for (const token of ['1', '2', '3', '"1"', 'null'])
      core.server().say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token}}}`);
    await core.settle();
    expect(client.notifications('notifications/progress')).toEqual([]);
    expect(core.counters.strayProgress).toBe(5);
  });

  test('of a client goes nowhere', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.say('{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}');
    await core.settle();
    expect(core.server().received).toEqual([]);
    expect(core.counters.strayProgress).toBe(1);
  });
});

describe('a notification of the server', () => {
  const notice = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
  const update = '{"jsonrpc":"2.0","method":"notifications/x/status","params":{"uri":"x:y"}}';

  test('reaches the sessions that are ready, and no others', async () => {
    const core = new CoreInMemory({ servers: ['memory', 'elsewhere'] });
    const view = (name: string) => ({ _meta: { 'mcp-bridge/view': `server:${name}` } });
    const ready = await core.ready(view('memory'));
    const elsewhere = await core.ready(view('elsewhere'));
    const unready = core.connect();
    unready.initialize('init', view('memory'));
    await core.settle();
    const connecting = core.connect();
    core.server().say(notice);
    core.server().say(update);
    await core.settle();
    expect(ready.link.lines).toEqual([notice, update]);
    expect(elsewhere.link.lines).toEqual([]);
    expect(unready.received.map(({ id }) => id)).toEqual(['init']);
    expect(connecting.link.lines).toEqual([]);
  });

  test('that a later one replaces is dropped for a client that does not keep up, and any other is not', async () => {
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: 4096 } });
    const [slow, quick] = [await core.ready(), await core.ready()];
    slow.call(1);
    await core.settle();
    slow.link.block();
    core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, result: { text: 'x'.repeat(2100) } });
    await core.settle();
    core.server().say(notice);
    core.server().say('{"jsonrpc":"2.0","method":"notifications/message","params":{}}');
    core.server().say(update);
    await core.settle();
    expect(core.counters.notificationsDropped).toBe(2);
    slow.link.unblock();
    core.server().say(notice);
    await core.settle();
    expect(slow.received.map(({ method }) => method)).toEqual([
      undefined,
      'notifications/x/status',
      'notifications/tools/list_changed',
    ]);
    expect(quick.received).toHaveLength(4);
    expect(core.counters.clientsCutOff).toBe(0);
  });

  test('of a kind that may not be dropped cuts off only the client whose queue is too long', async () => {
    const core = new CoreInMemory({ limits: { maxQueuedBytesPerClient: 4096 } });
    const [slow, quick] = [await core.ready(), await core.ready()];
    slow.link.block();
    for (let i = 0; i < 170; i++) {
      core.server().say(update);
      await core.settle();
    }
    await core.pass(GRACE_MS);
    expect(core.counters.clientsCutOff).toBe(1);
    expect(core.manager.clients().filter(({ state }) => state === 'ready')).toHaveLength(1);
    expect(quick.received).toHaveLength(170);
    await core.pass(3000);
    expect(slow.link.isClosed).toBe(true);
    expect(core.manager.clients()).toHaveLength(1);
  });
});

describe('a request of the server', () => {
  test('outside any call is answered by the bridge: a ping with a result, anything else with an error', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    for (const [id, method] of [
      ['7', 'ping'],
      ['"é"', 'roots/list'],
      ['1.0', 'sampling/createMessage'],
      ['8', 'x/y'],
      ['9', 'initialize'],
    ])
      core.server().say(`{"jsonrpc":"2.0","id":${id},"method":"${method}"}`);
    await core.settle();
    const answers = core
      .server()
      .link?.lines.map((line) => [/"id":([^,]+),/.exec(line)?.[1], (JSON.parse(line) as Message).error?.code]);
    expect(answers).toEqual([
      ['7', undefined],
      ['"é"', -32601],
      ['1.0', -32603],
      ['8', -32601],
      ['9', -32600],
    ]);
    expect(client.received).toEqual([]);
  });

  test('that is dropped is logged once in 10 s, however many there are', async () => {
    const logged: unknown[] = [];
    const core = new CoreInMemory({ warn: (_, fields) => void logged.push(fields?.count) });
    await core.ready();
    const drop = (): void =>
      core.server().instance.fromServer.badFrame('not-utf8', { head: Buffer.alloc(1), tail: Buffer.alloc(1) });
    for (let n = 0; n < 100; n++) drop();
    core.clock.advance(9_999);
    drop();
    expect(logged).toEqual([1]);
    core.clock.advance(1);
    drop();
    expect(logged).toEqual([1, 101]);
    expect(core.counters.serverNoise).toBe(102);
  });

  test('that is noise is counted and harms nothing', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    for (const line of ['Listening on stdio', '[]', '{}', '{"jsonrpc":"2.0","id":1,"ID":2,"result":{}}'])
      core.server().say(line);
    core.server().instance.fromServer.badFrame('not-utf8', { head: Buffer.from('\xff'), tail: Buffer.from('\xff') });
    client.call(1);
    await core.settle();
    core.server().say({ id: core.server().requests[0]?.id, result: {} }); // it leaves "jsonrpc" out
    await core.settle();
    expect(core.counters.serverNoise).toBe(5);
    expect(client.answersTo(1)).toHaveLength(1);
  });
});

describe('a crash', () => {
  test('answers each call in flight with one SERVER_CRASHED, and leaves nothing behind', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    for (const id of [1, 2, 3]) one.call(id);
    other.call(1);
    await core.settle();
    core.server().answer(core.server().requests[1]);
    core.server().crash();
    await core.settle();
    expect([1, 2, 3].map((id) => one.answersTo(id).map(codeOf))).toEqual([
      ['SERVER_CRASHED'],
      [undefined],
      ['SERVER_CRASHED'],
    ]);
    expect(other.received.map(codeOf)).toEqual(['SERVER_CRASHED']);
    expect(core.openCalls).toBe(0);
    expect(core.sessionOf(one)).toMatchObject({ sentCount: 0 });
  });

  test('lets unsent calls wait for the next start', async () => {
    const core = new CoreInMemory({ limits: { maxInFlightPerServer: 1 } });
    const client = await core.ready();
    for (const id of [1, 2, 3]) client.call(id, { id });
    await core.settle();
    core.server().opensByItself = false;
    core.server().crash();
    await core.settle();
    expect(client.received.map(({ id }) => id)).toEqual([1]);
    expect([core.server().starts, core.openCalls]).toEqual([2, 4]);
    core.server().open();
    await core.settle();
    core.server().answer(core.server().requests[0]);
    await core.settle();
    core.server().answer(core.server().requests[1]);
    await core.settle();
    expect(client.received.map(({ id, result }) => [id, result?.echo])).toEqual([
      [1, undefined],
      [2, { id: 2 }],
      [3, { id: 3 }],
    ]);
    expect(core.openCalls).toBe(0);
  });

  test('is followed by a start at the next call, and ids of the dead instance are ignored', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call(1);
    await core.settle();
    core.server().crash();
    await core.settle();
    expect(core.server().starts).toBe(1);
    client.call(2);
    await core.settle();
    expect(core.server().starts).toBe(2);
    core.server().say('{"jsonrpc":"2.0","id":1,"result":{}}');
    await core.settle();
    expect(client.answersTo(2)).toEqual([]);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.answersTo(2)).toHaveLength(1);
  });

  test('whose restart fails answers all waiting calls with SERVER_START_FAILED', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    core.server().opensByItself = false;
    core.server().crash();
    for (const id of [1, 2]) client.call(id);
    await core.settle();
    core.server().failToStart();
    await core.settle();
    expect(client.received.map(codeOf)).toEqual(['SERVER_START_FAILED', 'SERVER_START_FAILED']);
    expect(core.openCalls).toBe(0);
    expect(core.sessionOf(client)).toMatchObject({ waitingBytes: 0, sentCount: 0 });
  });

  test('drops notifications of clients until the server runs again', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    core.server().crash();
    client.say('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}');
    await core.settle();
    expect(core.server().starts).toBe(1);
  });
});

describe('a message that nests without end', () => {
  test.each(['[', '{"a":', '[{"a":['])('in an array harms nobody: %s', async (open) => {
    const core = new CoreInMemory();
    const batching = core.connect();
    batching.initialize('init', { protocolVersion: '2025-03-26' });
    await core.settle();
    const levels = 200_000;
    const close = [...open]
      .reverse()
      .flatMap((c) => (c === '[' ? [']'] : c === '{' ? ['}'] : []))
      .join('');
    const deep = `[${open.repeat(levels)}1${close.repeat(levels)}]`;
    core.server().say(deep);
    batching.say(deep);
    batching.call(1);
    await core.settle();
    expect(core.server().requests.length).toBe(1);
  });
});
