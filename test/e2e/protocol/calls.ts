// Calls of tools and prompts: their ids, progress, and cancels.

import { expect } from 'vitest';
import { type Message, textOf } from '../../support/raw-client.ts';
import { type ProtocolScenario, ready, seenBy, untilSeen } from './scenario.ts';

const HUNDREDS = Array.from({ length: 100 }, (_, n) => n);
const PROGRESS = 'notifications/progress';

const progressOf = ({ params }: Message): unknown[] => [params?.progressToken, params?.progress, params?.message];

export const CALL_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'a tool is called, and a tool that fails says so in its result',
    shows: ['tools/call', 'tool-error'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      expect((await client.call('echo', { text: 'hi' })).result).toEqual({ content: [{ type: 'text', text: 'hi' }] });
      const after = ',"result":{"content":[{"type":"text","text":"no such day"}],"isError":true}}';
      const { result } = await client.call('reply', { before: '{"jsonrpc":"2.0","id":', after });
      expect(result).toEqual({ content: [{ type: 'text', text: 'no such day' }], isError: true });
    },
  },
  {
    title: 'an answer has the id of its request',
    shows: ['id'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      for (const id of [0, -7, 9007199254740991, '', 'a', '1', 'é漢 "\\']) {
        client.send({ id, method: 'tools/call', params: client.paramsOf('echo', { text: 'x' }) });
        expect(textOf(await client.answerTo(id))).toBe('x');
      }
    },
  },
  {
    title: 'clients with the same ids get their own answers',
    shows: ['id-own'],
    isIndependent: true,
    async run(peer) {
      const clients = await Promise.all(['one', 'other', 'third'].map(() => ready(peer)));
      const asked = clients.map((client, n) => HUNDREDS.map((i) => client.beginCall('echo', { text: `${n}:${i}` })));
      for (const [n, client] of clients.entries())
        for (const [i, id] of (asked[n] ?? []).entries()) expect(textOf(await client.answerTo(id))).toBe(`${n}:${i}`);
    },
  },
  {
    title: 'a prompt is got by its name, with its arguments',
    shows: ['prompts/get'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const { result } = await client.request('prompts/get', {
        name: client.prompt('greet'),
        arguments: { name: 'Ann' },
      });
      const content = { type: 'text', text: 'Hello Ann' };
      expect(result).toEqual({ description: 'A greeting', messages: [{ role: 'user', content }] });
    },
  },
  {
    title: 'errors of a server pass with their code, message and data; a method that it has not gets -32601',
    shows: ['error', 'unknown-method'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const error = { code: -31999, message: 'Überlast', data: { retry: [1, { of: null }] } };
      const after = `,"error":${JSON.stringify(error)}}`;
      expect((await client.call('reply', { before: '{"jsonrpc":"2.0","id":', after })).error).toEqual(error);
      expect((await client.request('no/such', { some: 1 })).error?.code).toBe(-32601);
    },
  },
  {
    title: 'a name that the server does not know gets its own error',
    shows: ['error'],
    isIndependent: true,
    needs: ['transparency'],
    async run(peer) {
      const client = await ready(peer);
      expect((await client.call('nope')).error).toEqual({ code: -32602, message: 'Unknown tool: nope' });
      const { error } = await client.request('prompts/get', { name: 'nope' });
      expect(error).toEqual({ code: -32602, message: 'Invalid prompt name: nope' });
    },
  },
  {
    title: 'a tool or prompt that nobody has gets the error -32602',
    shows: ['tool-unknown', 'prompt-unknown'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      for (const method of ['tools/call', 'prompts/get'])
        for (const name of [client.tool('nope'), 'nobody__nope', 'nope'])
          expect((await client.request(method, { name, arguments: {} })).error?.code).toBe(-32602);
    },
  },
  ...['abc', '', 7, 0].map(
    (token): ProtocolScenario => ({
      title: `progress comes under the token ${JSON.stringify(token)} that it was asked with`,
      shows: ['progress'],
      isIndependent: true,
      async run(peer) {
        const client = await ready(peer);
        const { result } = await client.call('step', { steps: 2 }, { _meta: { progressToken: token } });
        expect(result).toBeDefined();
        const told = client.untaken(PROGRESS).map(({ params }) => params);
        expect(told).toEqual([
          { progressToken: token, progress: 0.25, total: 0.5, message: 'step 1' },
          { progressToken: token, progress: 0.5, total: 0.5, message: 'step 2' },
        ]);
      },
    }),
  ),
  {
    title: 'clients with the same token hear of their own calls, and who has asked for nothing hears nothing',
    shows: ['progress-own'],
    isIndependent: true,
    async run(peer) {
      const [one, other, quiet] = await Promise.all([ready(peer), ready(peer), ready(peer)]);
      const asked = [
        { client: one, id: one.beginCall('step', { steps: 1 }, { _meta: { progressToken: 1 } }), steps: 1 },
        { client: other, id: other.beginCall('step', { steps: 3 }, { _meta: { progressToken: 1 } }), steps: 3 },
        { client: quiet, id: quiet.beginCall('step', { steps: 2 }), steps: 0 },
      ];
      for (const { client, id, steps } of asked) {
        await client.answerTo(id);
        const expected = Array.from({ length: steps }, (_, i) => [1, (i + 1) / 4, `step ${i + 1}`]);
        expect(client.untaken(PROGRESS).map(progressOf)).toEqual(expected);
      }
    },
  },
  {
    title: 'two calls of one client at once have each their own token',
    shows: ['progress', 'progress-own'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const ids = ['a', 'b'].map((progressToken) =>
        client.beginCall('step', { steps: 1 }, { _meta: { progressToken } }),
      );
      for (const id of ids) await client.answerTo(id);
      expect(client.untaken(PROGRESS).map(({ params }) => params?.progressToken)).toEqual(['a', 'b']);
    },
  },
  {
    title: 'progress that comes after the answer reaches nobody',
    shows: ['progress-ends'],
    needs: ['sharing'],
    async run(peer) {
      const [client, other] = [await ready(peer), await ready(peer)];
      await client.call('step', { steps: 1 }, { _meta: { progressToken: 'once' } });
      expect(await client.text('overdue')).toBe('told');
      expect(client.untaken(PROGRESS)).toHaveLength(1);
      expect(await other.text('echo', { text: 'x' })).toBe('x');
      expect(other.untaken(PROGRESS)).toEqual([]);
    },
  },
  {
    title: 'a cancel reaches the server under the id that the call has there',
    shows: ['cancel'],
    async run(peer) {
      const client = await ready(peer);
      const id = client.beginCall('raw');
      const line = JSON.parse(textOf(await client.answerTo(id))) as { id: unknown };
      const held = client.beginCall('hold');
      await seenBy(client); // so that the server has it
      client.send({ method: 'notifications/cancelled', params: { requestId: held, reason: 'no more' } });
      const { cancelled } = await seenBy(client);
      expect(cancelled).toHaveLength(1);
      expect(typeof cancelled[0]).toBe(typeof line.id);
      expect(cancelled[0]).not.toEqual(line.id);
    },
  },
  {
    title: 'nobody cancels the calls of another client, nor what is no call at all',
    shows: ['cancel-own', 'cancel-late'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other] = [await ready(peer), await ready(peer)];
      const mine = one.beginCall('hold');
      await untilSeen(one, () => true); // so that the server has it
      for (const requestId of [mine, 1, 2, 3, 4, 5, 'x'])
        other.send({ method: 'notifications/cancelled', params: { requestId } });
      expect((await seenBy(other)).cancelled).toEqual([]);
      const late = other.beginCall('hold');
      other.send({ method: 'notifications/cancelled', params: { requestId: late } });
      expect(await one.text('release')).toBe('ok');
      expect(textOf(await one.answerTo(mine))).toBe('released');
      expect(await other.text('echo', { text: 'x' })).toBe('x');
      const answers = other.raw.lines.map((line) => (JSON.parse(line) as Message).id);
      expect(answers).not.toContain(late);
    },
  },
  {
    title: 'what a client had under way when it went is cancelled',
    shows: ['cancel-gone'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other] = [await ready(peer), await ready(peer)];
      one.beginCall('hold');
      await seenBy(one);
      one.raw.destroy();
      expect((await untilSeen(other, ({ cancelled }) => cancelled.length > 0)).cancelled).toHaveLength(1);
    },
  },
];
