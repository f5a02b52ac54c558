// What a client may count on when it begins, and when it has ended its side, as one body each.

import { expect } from 'vitest';
import type { Bridge } from '../support/bridges.ts';
import type { Message } from '../support/raw-client.ts';
import type { Scenario } from './scenarios.ts';

const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
const INFO = '"clientInfo":{"name":"raw","version":"1"}';

/** `id` as it is spelled; `more` are members of `params`. */
const initialize = (id: string, more = ''): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},${INFO}${more}}}`;

const call = (id: string, name: string, args: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;

/** All that is answered to a client that says this and nothing more. */
async function answersTo(bridge: Bridge, lines: readonly string[]): Promise<Message[]> {
  const client = await bridge.connect();
  for (const line of lines) client.send(line);
  client.end();
  await client.untilClosed();
  return client.lines.map((line) => JSON.parse(line) as Message);
}

const outcomesOf = (answers: readonly Message[]): string[] =>
  answers.map(({ id, error }) => `${id} ${error?.code ?? 'fine'}`);

export const FIRST_AND_LAST_WORDS: readonly Scenario[] = [
  {
    title: 'of two requests under one id both are answered, also when nothing follows them',
    async run(bridge) {
      const twice = [call('9', 'slow', '{"ms":100}'), call('9', 'echo', '{"text":"second"}')];
      const answers = await answersTo(bridge, [initialize('"i"'), INITIALIZED, ...twice]);
      expect(outcomesOf(answers)).toEqual(['i fine', '9 -32600', '9 fine']);
      expect(answers[1]?.error).toMatchObject({
        message: 'A request with id 9 is still under way',
        data: { code: 'REQUEST_REFUSED' },
      });
    },
  },
  {
    title: 'what is no message is refused, also when nothing follows it',
    async run(bridge) {
      const odd = [
        'garbage',
        '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        '7',
        '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
      ];
      const refused = ['null -32700', 'null -32600', 'null -32600', 'null -32600'];
      expect(outcomesOf(await answersTo(bridge, odd))).toEqual(refused);
      expect(outcomesOf(await answersTo(bridge, odd.slice(0, 1)))).toEqual(refused.slice(0, 1));
      const introduced = await answersTo(bridge, [initialize('"i"'), INITIALIZED, ...odd]);
      expect(outcomesOf(introduced).sort()).toEqual(['i fine', ...refused].sort());
    },
  },
  {
    title: 'who says nothing is let go, and who is cancelled is not waited for',
    async run(bridge) {
      expect(await answersTo(bridge, [])).toEqual([]);
      const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}';
      const lines = [initialize('"i"'), INITIALIZED, call('5', 'hold', '{}'), cancel];
      expect(outcomesOf(await answersTo(bridge, lines))).toEqual(['i fine']);
    },
  },
  {
    title: 'the answer to initialize has its id as it is spelled',
    async run(bridge) {
      for (const id of ['1.0', '1e2', '"\\u0061\\/"', '"é"', '-7']) {
        const client = await bridge.connect();
        client.send(initialize(id, ',"_meta":{"other":1.0}'));
        expect(await client.nextLine()).toContain(`"id":${id},`);
        client.end();
        await client.untilClosed();
      }
    },
  },
  {
    title: 'an initialize that may mean two things, or none, is refused, and the next one is not',
    async run(bridge) {
      const client = await bridge.connect();
      const answerTo = (line: string): Promise<Message> => {
        client.send(line);
        return client.next();
      };
      const message = expect.stringContaining('is there twice, or spelled in another way') as string;
      for (const meta of [',"_meta":{},"_meta":{}', ',"_met\\u0061":{}', ',"_meta":{},"_META":{}'])
        expect(await answerTo(initialize('1.0', meta))).toMatchObject({ id: 1, error: { code: -32600, message } });
      expect(client.lines.every((line) => line.includes('"id":1.0,'))).toBe(true);
      expect((await answerTo(initialize('null'))).error?.code).toBe(-32600);
      expect((await answerTo(initialize('2', ',"_meta":{"mcp-bridge/cwd":"here"}'))).error?.code).toBe(-32602);
      expect((await answerTo('{"jsonrpc":"2.0","id":3,"method":"initialize","params":[]}')).error?.code).toBe(-32602);
      expect((await answerTo(initialize('4', ',"_meta":null'))).result).toMatchObject({ extra: { kept: 1 } });
    },
  },
];
