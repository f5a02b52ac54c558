// A server of 2026 asks in its answers; a client of 2025 is asked by requests, and sees one call with one answer.

import { describe, expect, test } from 'vitest';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ABLE = { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } };
const ASK = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object' } },
};
const SAMPLE = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } };
const PAGE = { method: 'elicitation/create', params: { mode: 'url', message: 'Visit', url: 'https://example.com' } };

interface World {
  readonly core: CoreInMemory;
  readonly client: TestClient;
}

async function world(params: object = ABLE, options: CoreOptions = {}): Promise<World> {
  const core = new CoreInMemory(options);
  core.server().era = ERA_2026;
  return { core, client: await core.ready(params) };
}

const last = (core: CoreInMemory): Message => core.server().requests.at(-1) as Message;
const questionsOf = (client: TestClient): Message[] =>
  client.received.filter(({ method, id }) => method !== undefined && id !== undefined);
const takenBack = (client: TestClient): unknown[] =>
  client.notifications('notifications/cancelled').map(({ params }) => params?.requestId);

/** The server's answer to the last request: questions, a state, or both. */
async function ask({ core }: World, inputRequests?: unknown, requestState?: unknown): Promise<void> {
  const result = { resultType: 'input_required', inputRequests, requestState };
  core.server().say({ jsonrpc: '2.0', id: last(core).id, result });
  await core.settle();
}

async function answer({ core, client }: World, question: Message | undefined, result: unknown): Promise<void> {
  client.say({ jsonrpc: '2.0', id: question?.id, result });
  await core.settle();
}

async function complete({ core }: World, result: object = { content: [] }): Promise<void> {
  core.server().say({ jsonrpc: '2.0', id: last(core).id, result: { resultType: 'complete', ...result } });
  await core.settle();
}

async function called(it: World, args: object = { a: 1 }): Promise<void> {
  it.client.call('c', args);
  await it.core.settle();
}

/** Nothing of a call is left anywhere. */
function expectNothingLeft({ core, client }: World): void {
  expect([core.openCalls, core.sessionOf(client)?.questions.size, core.sessionOf(client)?.sentCount]).toEqual([
    0, 0, 0,
  ]);
}

describe('a round of questions', () => {
  test('is asked all at once, and the call is made once more with the answers under their keys', async () => {
    const it = await world();
    await called(it);
    const first = last(it.core);
    await ask(it, { 'a "key"': ASK, b: SAMPLE, rööts: { method: 'roots/list' } }, 'st"äte');
    const questions = questionsOf(it.client);
    expect(questions).toEqual([
      { jsonrpc: '2.0', id: expect.stringMatching(/^mcp-bridge\//), ...ASK },
      { jsonrpc: '2.0', id: expect.any(String), ...SAMPLE },
      { jsonrpc: '2.0', id: expect.any(String), method: 'roots/list' },
    ]);
    expect(it.client.answersTo('c')).toEqual([]);
    await answer(it, questions[2], { roots: [] });
    await answer(it, questions[0], { action: 'accept', content: { name: 'Å' } });
    expect(it.core.server().requests).toHaveLength(1);
    await answer(it, questions[1], { role: 'assistant', content: { type: 'text', text: '"' }, model: 'm' });
    expect(it.core.server().requests).toHaveLength(2);
    const again = last(it.core);
    expect(again.id).not.toBe(first.id);
    expect(again).toEqual({
      ...first,
      id: again.id,
      params: {
        ...first.params,
        inputResponses: {
          'a "key"': { action: 'accept', content: { name: 'Å' } },
          b: { role: 'assistant', content: { type: 'text', text: '"' }, model: 'm' },
          rööts: { roots: [] },
        },
        requestState: 'st"äte',
      },
    });
    await complete(it, { content: [{ type: 'text', text: 'done' }] });
    expect(it.client.answersTo('c')).toEqual([
      { jsonrpc: '2.0', id: 'c', result: { content: [{ type: 'text', text: 'done' }] } },
    ]);
    expectNothingLeft(it);
  });

  test.each([10, 5000])(
    'is followed by the call in the bytes of the client, also in one of some %i bytes',
    async (length) => {
      const it = await world();
      const params = `{"name":"tool", "arguments":{"n": 1.50,"text":"Ünïcödé ✓ \\u00e9${'ß'.repeat(length)}"} }`;
      it.client.say(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":${params}}`);
      await it.core.settle();
      const first = it.core.server().link?.lines.at(-1) ?? '';
      await ask(it, { a: ASK });
      await answer(it, questionsOf(it.client)[0], { action: 'decline' });
      const { id } = last(it.core);
      const responses = ',"inputResponses":{"a":{"action":"decline"}}';
      expect(it.core.server().link?.lines.at(-1)).toBe(
        first.replace('"id":1,', `"id":${id},`).replace('"} }}', `"} ${responses}}}`),
      );
    },
  );

  test('goes back with the server’s state byte for byte, and with the answers of this round only', async () => {
    const it = await world();
    await called(it);
    await ask(it, { one: ASK }, 'first');
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    const state = '"\\u00fc\\/ \\"x"';
    const result = `{"resultType":"input_required","requestState":${state},"inputRequests":{"two":${JSON.stringify(ASK)}}}`;
    it.core.server().say(`{"jsonrpc":"2.0","id":${last(it.core).id},"result":${result}}`);
    await it.core.settle();
    await answer(it, questionsOf(it.client)[1], { action: 'cancel' });
    const line = it.core.server().link?.lines.at(-1) ?? '';
    expect(line).toContain(`"inputResponses":{"two":{"action":"cancel"}},"requestState":${state}`);
    expect(line.match(/inputResponses|requestState/g)).toHaveLength(2);
    await complete(it);
    expect(it.client.answersTo('c')).toHaveLength(1);
    expectNothingLeft(it);
  });

  test('without a state is answered without one', async () => {
    const it = await world();
    await called(it);
    await ask(it, { one: ASK });
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    expect(last(it.core).params).toMatchObject({ inputResponses: { one: { action: 'decline' } } });
    expect(last(it.core).params).not.toHaveProperty('requestState');
  });

  test('gives a page an id, which clients of 2025 need', async () => {
    const it = await world();
    await called(it);
    await ask(it, { page: PAGE });
    const [question] = questionsOf(it.client);
    expect(question?.params).toEqual({ ...PAGE.params, elicitationId: expect.stringMatching(/./) });
  });

  test('may come in a prompt and in a resource, and nowhere else', async () => {
    const it = await world();
    for (const [method, params] of [
      ['prompts/get', { name: 'p' }],
      ['resources/read', { uri: 'x:' }],
    ] as const) {
      it.client.say({ jsonrpc: '2.0', id: method, method, params });
      await it.core.settle();
      await ask(it, { k: ASK });
      await answer(it, questionsOf(it.client).at(-1), { action: 'decline' });
      expect(last(it.core)).toMatchObject({
        method,
        params: { ...params, inputResponses: { k: { action: 'decline' } } },
      });
      await complete(it, { ok: method });
      expect(it.client.answersTo(method)).toMatchObject([{ result: { ok: method } }]);
    }
    it.client.say({ jsonrpc: '2.0', id: 'x', method: 'completion/complete', params: {} });
    await it.core.settle();
    await ask(it, { k: ASK });
    expect(it.client.answersTo('x')).toMatchObject([{ error: { code: -32603 } }]);
    expectNothingLeft(it);
  });

  test('leaves members of the client out that would pass for its own', async () => {
    const it = await world();
    it.client.say(
      '{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"requestState":"mine","name":"tool","inputResponses":{}}}',
    );
    await it.core.settle();
    await ask(it, { k: ASK }, 's');
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    expect(last(it.core).params).toMatchObject({
      name: 'tool',
      requestState: 's',
      inputResponses: { k: { action: 'decline' } },
    });
    expect(it.core.server().link?.lines.at(-1)).not.toContain('mine');
  });

  test('of one client does not affect the calls of others', async () => {
    const it = await world();
    const other = await it.core.ready();
    await called(it);
    await ask(it, { k: ASK });
    other.call(1);
    await it.core.settle();
    await complete(it);
    expect([other.answersTo(1).length, questionsOf(other).length, questionsOf(it.client).length]).toEqual([1, 0, 1]);
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    await complete(it);
    expectNothingLeft(it);
  });

  test('outlives the server’s process: the call goes on at the next one', async () => {
    const it = await world();
    await called(it);
    await ask(it, { k: ASK }, 's');
    it.core.server().crash();
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    expect(it.core.server().starts).toBe(2);
    expect(last(it.core).params).toMatchObject({ requestState: 's' });
    await complete(it);
    expect(it.client.answersTo('c')).toHaveLength(1);
    expectNothingLeft(it);
  });
});

describe('a state without questions', () => {
  test('is sent back after 250 ms', async () => {
    const it = await world();
    await called(it);
    await ask(it, undefined, 'later');
    it.core.clock.advance(249);
    await it.core.settle();
    expect(it.core.server().requests).toHaveLength(1);
    it.core.clock.advance(1);
    await it.core.settle();
    expect(last(it.core).params).toMatchObject({ requestState: 'later' });
    expect(last(it.core).params).not.toHaveProperty('inputResponses');
    await complete(it);
    expectNothingLeft(it);
  });

  test('comes back at most eight times', async () => {
    const it = await world();
    await called(it);
    for (let round = 1; round <= 8; round++) {
      await ask(it, {}, `state ${round}`);
      it.core.clock.advance(250);
      await it.core.settle();
    }
    expect(it.core.server().requests).toHaveLength(9);
    await ask(it, {}, 'once more');
    expect(it.client.answersTo('c')).toMatchObject([{ result: { isError: true } }]);
    expectNothingLeft(it);
  });
});

describe('a call ends with an error that says why, for a tool as its result', () => {
  const toolError = (text: RegExp): object => ({
    result: { isError: true, content: [{ type: 'text', text: expect.stringMatching(text) }] },
  });

  test.each([
    ['sampling', {}, SAMPLE, /needs sampling .* does not support sampling/],
    ['roots', {}, { method: 'roots/list' }, /does not support roots/],
    ['a page', { elicitation: {} }, PAGE, /by URL/],
    ['a form', { elicitation: { url: {} } }, ASK, /by forms/],
    [
      'tools in sampling',
      { sampling: {} },
      { ...SAMPLE, params: { ...SAMPLE.params, tools: [] } },
      /tools in sampling/,
    ],
  ])('if the client cannot be asked: %s', async (_, capabilities, question, text) => {
    const it = await world({ capabilities });
    await called(it);
    await ask(it, { ok: ASK, k: question }.k === ASK ? { k: question } : { k: question });
    expect([questionsOf(it.client), it.client.answersTo('c')]).toMatchObject([[], [toolError(text)]]);
    expectNothingLeft(it);
  });

  test('if the client refuses one of the questions; the others are taken back', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK, b: SAMPLE });
    const [first, second] = questionsOf(it.client);
    it.client.say({ jsonrpc: '2.0', id: second?.id, error: { code: -1, message: 'User rejected' } });
    await it.core.settle();
    expect([it.client.answersTo('c'), takenBack(it.client)]).toMatchObject([[toolError(/User rejected/)], [first?.id]]);
    expect(it.core.server().requests).toHaveLength(1);
    await answer(it, first, { action: 'decline' });
    expect(it.core.counters.strayResponses).toBe(1);
    expectNothingLeft(it);
  });

  test('if the client takes longer than ten minutes', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK });
    await it.core.pass(599_000);
    expect(it.client.answersTo('c')).toEqual([]);
    await it.core.pass(3_000);
    expect([it.client.answersTo('c'), takenBack(it.client)]).toMatchObject([
      [toolError(/in time/)],
      [questionsOf(it.client)[0]?.id],
    ]);
    expectNothingLeft(it);
  });

  test('if the client has ended its side', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK });
    it.client.link.endByPeer();
    await it.core.settle();
    expect(it.client.answersTo('c')).toMatchObject([toolError(/ended its side/)]);
    expect(it.core.openCalls).toBe(0);
  });

  test('once, if the client has ended its side with several questions and another call', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK, b: SAMPLE });
    it.client.call('other');
    await it.core.settle();
    it.client.link.endByPeer();
    await it.core.settle();
    expect(it.client.answersTo('c')).toMatchObject([toolError(/ended its side/)]);
    await complete(it);
    expect(it.client.answersTo('other')).toHaveLength(1);
    expect(it.core.counters.internalErrors).toBe(0);
  });

  test('once, if the longest time of a call is over while the client is asked; others go on', async () => {
    const it = await world(ABLE, { limits: { maxCallMs: 60_000 } });
    const neighbour = await it.core.ready(ABLE);
    await called(it);
    await ask(it, { a: ASK });
    await it.core.pass(61_000);
    expect(it.client.answersTo('c')).toMatchObject([{ error: { data: { code: 'CALL_TIMED_OUT' } } }]);
    expect(takenBack(it.client)).toHaveLength(1);
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    await it.core.pass(600_000);
    expect(it.client.answersTo('c')).toHaveLength(1);
    expect(it.core.counters.internalErrors).toBe(0);
    neighbour.call('n');
    await it.core.settle();
    await complete(it);
    expect(neighbour.answersTo('n')).toHaveLength(1);
  });

  test.each([
    ['neither questions nor a state', {}],
    ['a question that is none', { inputRequests: { a: { method: 'x/y', params: {} } } }],
    ['a question without parameters', { inputRequests: { a: { method: 'elicitation/create' } } }],
    ['questions that are no object', { inputRequests: [ASK] }],
    ['a state that is no text', { requestState: { a: 1 } }],
  ])('if the server sends questions that cannot be understood: %s', async (_, asked) => {
    const it = await world();
    await called(it);
    await ask(
      it,
      ...([
        (asked as { inputRequests?: unknown }).inputRequests,
        (asked as { requestState?: unknown }).requestState,
      ] as const),
    );
    expect(it.client.answersTo('c')).toMatchObject([toolError(/not understood/)]);
    expectNothingLeft(it);
  });

  test('if the server asks in the answer of a request that asks nothing, such as a list', async () => {
    const it = await world();
    it.client.say({ jsonrpc: '2.0', id: 'c', method: 'prompts/list' });
    await it.core.settle();
    await ask(it, { a: ASK });
    expect(it.client.answersTo('c')).toMatchObject([
      { error: { message: 'Server memory asks where it may not', data: { code: 'QUESTION_UNANSWERED' } } },
    ]);
    expectNothingLeft(it);
  });

  test('if the server asks more than a client may be asked', async () => {
    const it = await world(ABLE, { limits: { maxQuestions: 2 } });
    await called(it);
    await ask(it, { a: ASK, b: ASK, c: ASK });
    expect([questionsOf(it.client), it.client.answersTo('c')]).toMatchObject([[], [toolError(/too much/)]]);
    expect(it.core.counters.questionsRefused).toBe(1);
    expectNothingLeft(it);
  });

  test('if the call is too long to be kept beside others', async () => {
    const it = await world(ABLE, { limits: { maxMessageBytes: 2048 } });
    for (const id of ['big', 'c']) it.client.call(id, { text: 'x'.repeat(1200) });
    await it.core.settle();
    await ask(it, { a: ASK });
    expect(it.client.answersTo('c')).toMatchObject([toolError(/too long/)]);
    await it.core.settle();
    it.core.server().answer(it.core.server().requests[0]);
    await it.core.settle();
    await called(it, { text: 'x'.repeat(1200) }); // there is room again
    await ask(it, { a: ASK });
    expect(questionsOf(it.client)).toHaveLength(1);
  });

  test('if the server says that the client lacks something', async () => {
    const it = await world();
    await called(it);
    it.core.server().say({
      jsonrpc: '2.0',
      id: last(it.core).id,
      error: { code: -32021, message: 'Needs sampling.tools', data: { requiredCapabilities: {} } },
    });
    await it.core.settle();
    expect(it.client.answersTo('c')).toMatchObject([toolError(/Needs sampling.tools/)]);
    it.client.say({ jsonrpc: '2.0', id: 'p', method: 'prompts/get', params: { name: 'x' } });
    await it.core.settle();
    it.core.server().say({ jsonrpc: '2.0', id: last(it.core).id, error: { code: -32021, message: 'Needs it' } });
    await it.core.settle();
    expect(it.client.answersTo('p')).toMatchObject([
      { error: { code: -32603, data: { code: 'QUESTION_UNANSWERED' } } },
    ]);
    expectNothingLeft(it);
  });
});

describe('a call that waits for its client’s answers', () => {
  test('is cancelled by taking the questions back; the server has nothing to cancel', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK });
    it.client.cancel('c');
    await it.core.settle();
    expect([takenBack(it.client), it.core.server().cancelled]).toEqual([[questionsOf(it.client)[0]?.id], []]);
    expect(it.client.answersTo('c')).toEqual([]);
    await answer(it, questionsOf(it.client)[0], { action: 'accept' });
    expect([it.core.server().requests.length, it.client.answersTo('c').length]).toEqual([1, 0]);
    expectNothingLeft(it);
  });

  test('is cancelled at the server while it is made once more', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK });
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    it.client.cancel('c');
    await it.core.settle();
    expect(it.core.server().cancelled).toEqual([last(it.core).id]);
    expectNothingLeft(it);
  });

  test('is cancelled in its pause', async () => {
    const it = await world();
    await called(it);
    await ask(it, {}, 's');
    it.client.cancel('c');
    it.core.clock.advance(1000);
    await it.core.settle();
    expect(it.core.server().requests).toHaveLength(1);
    expectNothingLeft(it);
  });

  test('goes with its client', async () => {
    const it = await world();
    await called(it);
    await ask(it, { a: ASK });
    it.client.link.destroy();
    await it.core.settle();
    expect([it.core.openCalls, it.core.server().instance.rounds.size]).toEqual([0, 0]);
    expect(it.core.server().requests).toHaveLength(1);
  });

  test('is not timed out, and keeps its instance', async () => {
    const it = await world(ABLE, { limits: { callTimeoutMs: 5_000 } });
    await called(it);
    await ask(it, { a: ASK });
    await it.core.pass(60_000);
    expect([it.client.answersTo('c'), it.core.server().instance.isBusy]).toEqual([[], true]);
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    await it.core.pass(4_000);
    expect(it.client.answersTo('c')).toEqual([]);
    await it.core.pass(3_000);
    expect(it.client.answersTo('c')).toMatchObject([{ error: { data: { code: 'CALL_TIMED_OUT' } } }]);
    expectNothingLeft(it);
  });

  test('counts as sent, so that it is not made twice', async () => {
    const it = await world();
    await called(it);
    const call = it.core.sessionOf(it.client)?.calls.get('c');
    await ask(it, { a: ASK });
    expect(call !== undefined && it.core.server().instance.wasSent(call)).toBe(true);
  });
});

test('progress keeps its token in all rounds, and values that do not rise are dropped', async () => {
  const it = await world();
  it.client.call('c', {}, { progressToken: 'p' });
  await it.core.settle();
  const say = (progress: unknown): void =>
    it.core.server().say({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: last(it.core).id, progress },
    });
  for (const progress of [1, 3, 3, 2, 'x']) say(progress);
  await ask(it, { a: ASK });
  await answer(it, questionsOf(it.client)[0], { action: 'decline' });
  for (const progress of [1, 4]) say(progress);
  await it.core.settle();
  expect(it.client.notifications('notifications/progress').map(({ params }) => params)).toEqual(
    [1, 3, 4].map((progress) => ({ progressToken: 'p', progress })),
  );
});

describe('the frame that is sent once more', () => {
  const TOOLS = { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] };
  const names = {
    all: { name: 'memory__tool', arguments: { a: 1 } },
    discover: { name: 'execute_tool', arguments: { server: 'memory', tool: 'tool', arguments: { a: 1 } } },
  };

  test.each(['all', 'discover'] as const)('has the server’s own names and arguments in the view %s', async (view) => {
    const it = await world({ ...ABLE, _meta: { 'mcp-bridge/view': view } });
    it.core.server().has(TOOLS);
    await import('../../../src/meta-tools/schema-compiler.ts');
    it.client.say({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: names[view] });
    for (let n = 0; n < 200 && it.core.server().requests.at(-1)?.method !== 'tools/call'; n++) await it.core.settle();
    await ask(it, { k: ASK });
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    expect(last(it.core).params).toMatchObject({
      name: 'tool',
      arguments: { a: 1 },
      inputResponses: { k: { action: 'decline' } },
    });
  });

  test('has them also after the server has given it back unread', async () => {
    const it = await world({ ...ABLE, _meta: { 'mcp-bridge/view': 'all' } });
    it.core.server().has(TOOLS);
    it.client.say({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: names.all });
    for (let n = 0; n < 200 && it.core.server().requests.at(-1)?.method !== 'tools/call'; n++) await it.core.settle();
    const line = it.core.server().link?.lines.at(-1) ?? '';
    it.core.server().instance.returned({ b: Buffer.from(`${line}\n`), start: 0, end: Buffer.byteLength(line) });
    it.core.server().crash();
    await it.core.settle();
    const calls = (): Message[] => it.core.server().requests.filter(({ method }) => method === 'tools/call');
    expect([it.core.server().starts, calls().length]).toEqual([2, 1]);
    const result = { resultType: 'input_required', inputRequests: { k: ASK }, requestState: 's' };
    it.core.server().say({ jsonrpc: '2.0', id: calls()[0]?.id, result });
    await it.core.settle();
    await answer(it, questionsOf(it.client)[0], { action: 'decline' });
    expect(calls()[1]?.params).toMatchObject({ name: 'tool', requestState: 's' });
    expect(
      it.core
        .server()
        .link?.lines.at(-1)
        ?.match(/protocolVersion/g),
    ).toHaveLength(1);
  });

  test('is that of the next server, where the first one has refused after a question', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    for (const name of ['one', 'two']) {
      core.server(name).declare({ resources: {} });
      core.server(name).answers = ({ method = '' }) => {
        const member = method === 'resources/list' ? 'resources' : 'resourceTemplates';
        return method.endsWith('/list') ? { result: { [member]: [] } } : undefined;
      };
    }
    core.server('one').era = ERA_2026;
    const client = await core.ready({ ...ABLE, _meta: { 'mcp-bridge/view': 'all' } });
    client.say({ jsonrpc: '2.0', id: 'r', method: 'resources/read', params: { uri: 'x:1' } });
    const read = (name: string): Message | undefined =>
      core.server(name).instances[0]?.requests.findLast(({ method }) => method === 'resources/read');
    for (let n = 0; n < 200 && read('one') === undefined; n++) await core.pass(1000);
    const say = async (message: object): Promise<void> => {
      core.server('one').say({ jsonrpc: '2.0', id: read('one')?.id, ...message });
      await core.settle();
    };
    await say({ result: { resultType: 'input_required', inputRequests: { k: ASK }, requestState: 's' } });
    client.say({ jsonrpc: '2.0', id: questionsOf(client)[0]?.id, result: { action: 'decline' } });
    await core.settle();
    await say({ error: { code: -32602, message: 'Resource not found' } });
    for (let n = 0; n < 20 && read('two') === undefined; n++) await core.settle();
    expect(read('two')?.params).toEqual({ uri: 'x:1' });
  });
});
