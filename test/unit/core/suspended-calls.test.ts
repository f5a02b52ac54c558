// Servers of 2025 that ask something during calls of clients of 2026: the call is answered with the question, and goes on with
// the request that brings the answer.

import { describe, expect, test } from 'vitest';
import { RequestStates } from '../../../src/core/suspended-calls.ts';
import { OPEN_GATE } from '../../../src/model/tool-gate.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const SERVER_INFO = `${PREFIX}serverInfo`;
const CAN = { elicitation: { form: {}, url: {} }, sampling: {} };
const who = (capabilities: object = CAN): object => ({
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
  [`${PREFIX}clientCapabilities`]: capabilities,
});
const WHO = who();

interface Params {
  readonly method?: string;
  readonly name?: string;
  readonly arguments?: object;
  readonly requestState?: unknown;
  readonly inputResponses?: unknown;
  readonly meta?: object;
}

class World {
  readonly core: CoreInMemory;
  readonly client: TestClient;

  private constructor(core: CoreInMemory) {
    this.core = core;
    this.client = core.connect();
  }
  static async with(options: CoreOptions = {}): Promise<World> {
    const world = new World(new CoreInMemory(options));
    await world.core.settle();
    return world;
  }
  say(id: number | string, { method = 'tools/call', meta = WHO, ...params }: Params = {}, from = this.client): void {
    const all = { name: 'tool', arguments: { a: 1 }, ...params, _meta: meta };
    from.say({ jsonrpc: '2.0', id, method, params: all });
  }
  async call(id: number | string, params: Params = {}, from = this.client): Promise<Message | undefined> {
    this.say(id, params, from);
    await this.turn();
    return from.answersTo(id)[0];
  }
  /** Lets happen what is due, and what is due when questions have been gathered. */
  async turn(): Promise<void> {
    await this.core.settle();
    this.core.clock.advance(5);
    await this.core.settle();
  }
  async serverSays(...lines: (string | object)[]): Promise<void> {
    for (const line of lines) this.core.server().say(line);
    await this.turn();
  }
  async serverAnswers(request = this.core.server().requests.at(-1)): Promise<void> {
    this.core.server().answer(request);
    await this.turn();
  }
  /** A call that is suspended with these questions. */
  async suspended(id: number | string, ...questions: object[]): Promise<Asked> {
    await this.call(id);
    await this.serverSays(...(questions.length === 0 ? [elicit('s1')] : questions));
    return askedIn(this.client.answersTo(id)[0]);
  }
  /** The answers of the server's questions. */
  answersTo(id: unknown): Message[] {
    return this.core.server().received.filter((message) => message.method === undefined && message.id === id);
  }
}

interface Asked {
  readonly requestState: string;
  readonly keys: string[];
}

function askedIn(message: Message | undefined): Asked {
  const { resultType, requestState, inputRequests } = message?.result ?? {};
  expect(message).toMatchObject({ result: { resultType: 'input_required', requestState: expect.any(String) } });
  expect(resultType).toBe('input_required');
  return { requestState: String(requestState), keys: Object.keys(inputRequests ?? {}) };
}

const elicit = (id: unknown, more: object = {}): object => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: `${String(id)}?`, requestedSchema: { type: 'object', properties: {} }, ...more },
});
const ACCEPTED = { action: 'accept', content: { a: 1 } };
const reasonOf = (message: Message | undefined): unknown => [message?.error?.code, message?.error?.data?.reason];

describe('a question during a call', () => {
  test('is the answer of the call, in the bytes of the server, and the retry brings its answer (C4, C10)', async () => {
    const world = await World.with();
    await world.call('a', { meta: { ...WHO, progressToken: 'p' } });
    await world.serverSays(
      '{"id":"s\\"1","jsonrpc":"2.0","method":"elicitation/create","params":{"n": 1.50, "message":"Really?","requestedSchema":{"type":"object"}}}',
    );
    const [line = ''] = world.client.link.lines;
    const { requestState } = askedIn(world.client.received[0]);
    expect(line).toBe(
      `{"jsonrpc":"2.0","id":"a","result":{"resultType":"input_required","inputRequests":{"q1":{"method":"elicitation/create","params":{"n": 1.50, "message":"Really?","requestedSchema":{"type":"object"}}}},"requestState":"${requestState}","_meta":{"${SERVER_INFO}":{"name":"memory","version":"1"}}}}`,
    );
    expect(requestState.length).toBeLessThan(200);
    world.client.say(
      `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"inputResponses":{"q1":{"action":"accept","content":{"x": 2.50}}},"requestState":"${requestState}","name":"tool","arguments":{"a":1},"_meta":${JSON.stringify(WHO)}}}`,
    );
    await world.turn();
    expect(world.core.server().link?.lines.at(-1)).toBe(
      '{"jsonrpc":"2.0","id":"s\\"1","result":{"action":"accept","content":{"x": 2.50}}}',
    );
    expect(world.core.server().requests).toHaveLength(1);
    await world.serverAnswers();
    expect(world.client.answersTo(7)).toMatchObject([{ result: { echo: { a: 1 }, resultType: 'complete' } }]);
    expect([world.client.answersTo('a').length, world.core.openCalls, world.core.suspended.size]).toEqual([1, 0, 0]);
  });

  test('is asked together with others that come within some milliseconds, and later ones in another round (C5)', async () => {
    const world = await World.with();
    const first = await world.suspended(1, elicit('s1'), {
      jsonrpc: '2.0',
      id: 's2',
      method: 'sampling/createMessage',
      params: { messages: [], maxTokens: 1 },
    });
    expect(first.keys).toEqual(['q1', 'q2']);
    await world.serverSays(elicit('s3'));
    const second = askedIn(
      await world.call(2, { requestState: first.requestState, inputResponses: { q1: ACCEPTED, q2: { model: 'm' } } }),
    );
    expect(second.keys).toEqual(['q3']);
    expect([world.answersTo('s1').length, world.answersTo('s2').length]).toEqual([1, 1]);
    await world.call(3, { requestState: second.requestState, inputResponses: { q3: ACCEPTED } });
    await world.serverSays(elicit('s4'));
    const third = askedIn(world.client.answersTo(3)[0]);
    expect(third.keys).toEqual(['q4']);
    await world.call(4, { requestState: third.requestState, inputResponses: { q4: ACCEPTED } });
    await world.serverAnswers(world.core.server().requests[0]);
    expect(world.client.answersTo(4)).toMatchObject([{ result: { resultType: 'complete' } }]);
    expect([world.core.openCalls, world.core.suspended.size]).toEqual([0, 0]);
  });

  test('is asked without the members that only clients of 2025 know (C4)', async () => {
    const world = await World.with();
    await world.call(1);
    await world.serverSays(
      `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x.example/","message":"m","task":{"ttl":1},"_meta":{"${PREFIX}related-task":{"taskId":"t"}}}}`,
    );
    // The question names a task that nobody has.
    expect(world.answersTo(1)).toMatchObject([{ error: { code: -32603 } }]);
    await world.serverSays(
      '{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://x.example/","message":"m","task":{"ttl":1},"_meta":{"own": 1}}}',
    );
    expect(world.client.link.lines[0]).toContain(
      '"params":{"mode":"url","url":"https://x.example/","message":"m","_meta":{"own": 1}}}',
    );
  });

  test.each([
    ['no elicitation', {}, elicit(1), -32601],
    ['no pages', { elicitation: {} }, elicit(1, { mode: 'url', url: 'https://x.example/' }), -32602],
    ['no forms', { elicitation: { url: {} } }, elicit(1), -32602],
    [
      'no tools in sampling',
      { sampling: {} },
      { ...elicit(1), method: 'sampling/createMessage', params: { tools: [] } },
      -32602,
    ],
  ])('is refused for a request with %s, and the call goes on (C7)', async (_, capabilities, question, code) => {
    const world = await World.with();
    await world.call(1, { meta: who(capabilities) });
    await world.serverSays(question);
    expect(world.answersTo(1)).toMatchObject([{ error: { code } }]);
    await world.serverAnswers();
    expect(world.client.answersTo(1)).toMatchObject([{ result: { resultType: 'complete' } }]);
  });

  test('is refused during a request that has no answer with questions (C6)', async () => {
    const world = await World.with();
    world.client.say({
      jsonrpc: '2.0',
      id: 1,
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' }, _meta: WHO },
    });
    await world.core.settle();
    await world.serverSays(elicit('s1'));
    expect(world.answersTo('s1')).toMatchObject([{ error: { code: -32603 } }]);
    await world.serverAnswers();
    expect(world.client.answersTo(1)).toMatchObject([{ result: { resultType: 'complete' } }]);
  });

  test.each(['prompts/get', 'resources/read'])('suspends %s too (C6)', async (method) => {
    const world = await World.with();
    const asks = { method, uri: 'note://one' };
    await world.call(1, asks);
    await world.serverSays(elicit('s1'));
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    await world.call(2, { ...asks, requestState, inputResponses: { q1: ACCEPTED } });
    expect(world.answersTo('s1')).toHaveLength(1);
    await world.serverAnswers();
    expect(world.client.answersTo(2)).toMatchObject([{ result: { resultType: 'complete' } }]);
  });

  test('for roots is answered with the directory of the request, or asked without one (C6)', async () => {
    const roots = { jsonrpc: '2.0', id: 'r', method: 'roots/list' };
    const meta = who({ ...CAN, roots: {} });
    const named = await World.with();
    await named.call(1, { meta: { ...meta, 'mcp-bridge/cwd': '/work' } });
    await named.core.pass(2000);
    await named.serverSays(roots);
    expect(named.answersTo('r')).toMatchObject([{ result: { roots: [{ uri: 'file:///work' }] } }]);
    const unnamed = await World.with();
    await unnamed.call(1, { meta });
    await unnamed.core.pass(2000);
    await unnamed.serverSays(roots);
    expect(unnamed.client.answersTo(1)).toMatchObject([
      { result: { inputRequests: { q1: { method: 'roots/list' } } } },
    ]);
    const { requestState } = askedIn(unnamed.client.answersTo(1)[0]);
    await unnamed.call(2, { meta, requestState, inputResponses: { q1: { roots: [{ uri: 'file:///mine' }] } } });
    expect(unnamed.answersTo('r')).toMatchObject([{ result: { roots: [{ uri: 'file:///mine' }] } }]);
  });

  test('for roots that comes after its call was given up is answered without asking anybody (C6)', async () => {
    const world = await World.with();
    world.core.server().answersPings = false; // it may still work on the call
    const meta = who({ ...CAN, roots: {} });
    await world.call(1, { meta });
    await world.core.pass(2000);
    world.client.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: meta } });
    await world.core.settle();
    await world.serverSays({ jsonrpc: '2.0', id: 'r', method: 'roots/list' });
    expect(world.answersTo('r')).toMatchObject([{ result: { roots: [] } }]);
    expect(world.client.answersTo(1)).toEqual([]);
    expect([world.core.counters.internalErrors, world.core.suspended.size]).toEqual([0, 0]);
  });
});

describe('a retry', () => {
  test('without some answers is asked for these, surplus answers are passed over, and the tool runs once (C9)', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1, elicit('s1'), elicit('s2'));
    const second = askedIn(
      await world.call(2, { requestState, inputResponses: { q2: ACCEPTED, q9: ACCEPTED, other: 3 } }),
    );
    expect(second.keys).toEqual(['q1']);
    expect([world.answersTo('s1').length, world.answersTo('s2').length]).toEqual([0, 1]);
    const third = askedIn(await world.call(3, { requestState: second.requestState }));
    expect(third.keys).toEqual(['q1']);
    await world.call(4, { requestState: third.requestState, inputResponses: { q1: ACCEPTED, q2: ACCEPTED } });
    await world.serverAnswers();
    expect(world.client.answersTo(4)).toMatchObject([{ result: { resultType: 'complete' } }]);
    expect([world.answersTo('s2').length, world.core.server().requests.length]).toEqual([1, 1]);
  });

  test.each([
    ['no object', 'yes'],
    ['an array', [ACCEPTED]],
    ['an answer that is no object', { q1: 'yes' }],
    ['an unknown action', { q1: { action: 'perhaps' } }],
    ['no action', { q1: {} }],
  ])('with %s is refused, and may come again (C10)', async (_, inputResponses) => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    expect(reasonOf(await world.call(2, { requestState, inputResponses }))).toEqual([-32602, 'answer-malformed']);
    expect(world.answersTo('s1')).toEqual([]);
    await world.call(3, { requestState, inputResponses: { q1: { action: 'decline' } } });
    expect(world.answersTo('s1')).toMatchObject([{ result: { action: 'decline' } }]);
    await world.serverAnswers();
    expect(world.client.answersTo(3)).toHaveLength(1);
    expect(world.core.openCalls).toBe(0);
  });

  test('sent twice is refused the second time, and the server has one answer (C8, C9)', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    const retry = { requestState, inputResponses: { q1: ACCEPTED } };
    world.say(2, retry);
    expect(reasonOf(await world.call(3, retry))).toEqual([-32602, 'used']);
    await world.serverAnswers();
    expect(reasonOf(await world.call(4, retry))).toEqual([-32602, 'used']);
    expect([world.answersTo('s1').length, world.core.server().requests.length]).toEqual([1, 1]);
    expect(world.client.answersTo(2)).toHaveLength(1);
  });

  test.each([
    ['answers and no state', { inputResponses: { q1: ACCEPTED } }, 'state-missing'],
    ['a state of somebody else', { requestState: 'elsewhere' }, 'forged'],
    ['a state that is no text', { requestState: 7 }, 'forged'],
    ['a forged state', { requestState: `mcp-bridge.${'A'.repeat(38)}` }, 'forged'],
  ])('with %s is refused, and no tool runs (C8, C9)', async (_, params, reason) => {
    const world = await World.with();
    expect(reasonOf(await world.call(1, params))).toEqual([-32602, reason]); // also before the server has run
    await world.call(2);
    expect(reasonOf(await world.call(3, params))).toEqual([-32602, reason]);
    expect(world.core.server().requests).toHaveLength(1);
    expect(world.core.openCalls).toBe(2); // one at the server and at its client
  });

  test.each([
    ['another tool', { name: 'other' }],
    ['other arguments', { arguments: { a: 2 } }],
    ['another method', { method: 'prompts/get' }],
  ])('of %s is refused, and the call stays suspended (C8)', async (_, params) => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    const inputResponses = { q1: ACCEPTED };
    expect(reasonOf(await world.call(2, { ...params, requestState, inputResponses }))).toEqual([-32602, 'other-call']);
    expect(world.answersTo('s1')).toEqual([]);
    await world.call(3, { requestState, inputResponses });
    expect(world.answersTo('s1')).toHaveLength(1);
  });

  test('of other arguments is refused where long ones differ in the middle (C8)', async () => {
    const world = await World.with();
    const long = (letter: string): object => ({ text: 'x'.repeat(5000) + letter + 'x'.repeat(5000) });
    await world.call(1, { arguments: long('a') });
    await world.serverSays(elicit('s1'));
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    const inputResponses = { q1: ACCEPTED };
    const other = { arguments: long('b'), requestState, inputResponses };
    expect(reasonOf(await world.call(2, other))).toEqual([-32602, 'other-call']);
    await world.call(3, { arguments: long('a'), requestState, inputResponses });
    expect(world.answersTo('s1')).toHaveLength(1);
  });

  test('continues a call of a tool that was not expected to ask (C8)', async () => {
    const world = await World.with();
    for (let n = 0; n < 3; n++) {
      await world.call(`quiet-${n}`);
      await world.serverAnswers();
    }
    const long = { arguments: { text: 'x'.repeat(5000) } };
    await world.call(1, long);
    await world.serverSays(elicit('s1'));
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    const others = ['x'.repeat(5001), `${'x'.repeat(2000)}y${'x'.repeat(2999)}`];
    const retry = { requestState, inputResponses: { q1: ACCEPTED } };
    for (const [n, text] of others.entries())
      expect(reasonOf(await world.call(`other-${n}`, { arguments: { text }, ...retry }))).toEqual([
        -32602,
        'other-call',
      ]);
    await world.call(3, { ...long, ...retry });
    expect(world.answersTo('s1')).toHaveLength(1);
  });

  test('of a resource goes on at the server that has asked, though another one is asked first (C8)', async () => {
    const world = await World.with({ servers: ['one', 'two'], ttlMs: 1e9 });
    for (const name of ['one', 'two']) {
      world.core.server(name).declare({ resources: {} });
      world.core.server(name).answers = ({ method }) => {
        if (method === 'resources/list') return { result: { resources: [] } };
        if (method === 'resources/templates/list') return { result: { resourceTemplates: [] } };
        return name === 'one' && method === 'resources/read'
          ? { error: { code: -32002, message: 'I have no such thing' } }
          : undefined;
      };
    }
    const ask = (id: number, params: object): void =>
      world.client.say({
        jsonrpc: '2.0',
        id,
        method: 'resources/read',
        params: { uri: 'x:1', ...params, _meta: { ...WHO, 'mcp-bridge/view': 'all' } },
      });
    const reads = (name: string): Message[] =>
      world.core.server(name).requests.filter(({ method }) => method === 'resources/read');
    ask(1, {});
    await world.core.pass(6000);
    expect([reads('one').length, reads('two').length]).toEqual([1, 1]);
    world.core.server('two').say(elicit('s1'));
    await world.turn();
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    ask(2, { requestState, inputResponses: { q1: ACCEPTED } });
    await world.turn();
    world.core.server('two').say({ jsonrpc: '2.0', id: reads('two')[0]?.id, result: { contents: [] } });
    await world.turn();
    expect(world.client.answersTo(2)).toMatchObject([{ result: { resultType: 'complete', contents: [] } }]);
    expect([reads('one').length, reads('two').length, world.core.openCalls]).toEqual([1, 1, 0]);
  });

  test('of another user is refused (C8)', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    const other = world.core.connect({ uid: 1001 });
    const retry = { requestState, inputResponses: { q1: ACCEPTED } };
    expect(reasonOf(await world.call(1, retry, other))).toEqual([-32602, 'other-client']);
    expect(world.answersTo('s1')).toEqual([]);
  });

  test('is good for the same token alone, and not for a later one of its name (C8)', async () => {
    const world = await World.with();
    const grant = { id: '1', name: 'ci' };
    const asking = world.core.connect({ grant });
    await world.call(1, {}, asking);
    await world.serverSays(elicit('s1'));
    const { requestState } = askedIn(asking.answersTo(1)[0]);
    const retry = { requestState, inputResponses: { q1: ACCEPTED } };
    for (const other of [world.core.connect({ grant: { id: '2', name: 'ci' } }), world.core.connect()])
      expect(reasonOf(await world.call(1, retry, other))).toEqual([-32602, 'other-client']);
    expect(world.answersTo('s1')).toEqual([]);
    await world.call(1, retry, world.core.connect({ grant }));
    expect(world.answersTo('s1')).toHaveLength(1);
  });

  test('may come on another connection of the same user, after the first one has gone (C8)', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    world.client.link.destroy();
    await world.core.pass(5000);
    expect(world.core.server().cancelled).toEqual([]);
    const other = world.core.connect();
    await world.core.settle();
    await world.call(1, { requestState, inputResponses: { q1: ACCEPTED } }, other);
    expect(world.answersTo('s1')).toHaveLength(1);
    await world.serverAnswers(world.core.server().requests[0]);
    expect(other.answersTo(1)).toMatchObject([{ result: { echo: { a: 1 }, resultType: 'complete' } }]);
    expect(world.core.openCalls).toBe(0);
  });

  test('is cancelled by its id, and nothing more is sent for it (C13)', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    await world.call(2, { requestState, inputResponses: { q1: ACCEPTED } });
    world.client.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2, _meta: WHO } });
    await world.turn();
    expect(world.core.server().cancelled).toEqual([1]);
    await world.serverAnswers(world.core.server().requests[0]);
    expect(world.client.answersTo(2)).toEqual([]);
    expect(world.core.openCalls).toBe(0);
  });

  test('gets progress under its token, and none is sent while the call is suspended (C14)', async () => {
    const world = await World.with();
    await world.call(1, { meta: { ...WHO, progressToken: 'one' } });
    const progress = (n: number): object => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 1, progress: n },
    });
    await world.serverSays(progress(1), elicit('s1'));
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    await world.serverSays(progress(2));
    await world.call(2, { requestState, inputResponses: { q1: ACCEPTED }, meta: { ...WHO, progressToken: 'two' } });
    await world.serverSays(progress(3));
    const told = world.client.notifications('notifications/progress').map(({ params }) => params);
    expect(told).toEqual([
      { progressToken: 'one', progress: 1 },
      { progressToken: 'two', progress: 3 },
    ]);
  });

  test('of a tool that is forbidden by now ends the call', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    const refusal = new BridgeError('TOOL_DISABLED', 'Not any more');
    world.core.server().server.gate = { ...OPEN_GATE, isOpen: false, refusalOf: () => refusal };
    const answer = await world.call(2, { requestState, inputResponses: { q1: ACCEPTED } });
    expect(answer?.error?.data?.code).toBe('TOOL_DISABLED');
    expect(world.answersTo('s1')).toMatchObject([{ error: { code: -32603 } }]);
    expect(world.core.server().cancelled).toEqual([1]);
    expect([world.core.openCalls, world.core.suspended.size]).toEqual([0, 0]);
  });
});

describe('in the view all, a resource that several servers may have', () => {
  test('is read on by the server that has asked (C6)', async () => {
    const world = await World.with({ servers: ['a', 'b'] });
    for (const name of ['a', 'b']) world.core.server(name).has({ resources: [] });
    const read = { method: 'resources/read', uri: 'x://1' };
    const reads = (name: string): Message[] =>
      world.core.server(name).requests.filter(({ method }) => method === 'resources/read');
    await world.call(1, read);
    const [refusing, asking] = reads('a').length > 0 ? ['a', 'b'] : ['b', 'a'];
    const refused = { jsonrpc: '2.0', id: reads(refusing)[0]?.id, error: { code: -32002, message: 'Not here' } };
    world.core.server(refusing).say(refused);
    await world.turn();
    world.core.server(asking).say(elicit('s1'));
    await world.turn();
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    await world.call(2, { ...read, requestState, inputResponses: { q1: ACCEPTED } });
    world.core.server(asking).answer(reads(asking)[0]);
    await world.turn();
    expect(world.client.answersTo(2)).toMatchObject([{ result: { resultType: 'complete' } }]);
    expect([reads('a').length, reads('b').length, world.core.openCalls]).toEqual([1, 1, 0]);
  });
});

describe('a suspended call', () => {
  test('frees its id, and does not hold its connection', async () => {
    const world = await World.with();
    await world.suspended(1);
    world.say(1);
    await world.turn();
    expect(world.core.server().instances[1]?.requests).toHaveLength(1);
    world.core.server().instances[1]?.answer(world.core.server().instances[1]?.requests[0]);
    await world.turn();
    expect(world.client.answersTo(1)).toMatchObject([{}, { result: { resultType: 'complete' } }]);
    world.client.link.endByPeer();
    await world.core.settle();
    expect([world.client.link.isClosed, world.core.suspended.size]).toEqual([true, 1]);
  });

  test('expires: the server gets an error and a cancellation, and the retry too (C8, C11)', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    await world.core.pass(599_000);
    expect(world.core.server().cancelled).toEqual([]);
    await world.core.pass(2000);
    expect(world.answersTo('s1')).toMatchObject([{ error: { code: -32603 } }]);
    expect(world.core.server().cancelled).toEqual([1]);
    const retry = { requestState, inputResponses: { q1: ACCEPTED } };
    expect(reasonOf(await world.call(2, retry))).toEqual([-32602, 'expired']);
    expect([world.core.openCalls, world.core.suspended.size]).toEqual([0, 0]);
    expect(world.core.counters.questionTimeouts).toBe(1);
  });

  test('whose server dies is not repeated, and the retry gets the error (C11)', async () => {
    const world = await World.with({ definition: { trustHints: true } });
    world.core.server().has({ tools: [{ name: 'tool', annotations: { readOnlyHint: true } }] });
    world.client.say({ jsonrpc: '2.0', id: 'l', method: 'tools/list', params: { _meta: WHO } });
    await world.turn();
    const { requestState } = await world.suspended(1);
    const calls = (): Message[] => world.core.server().requests.filter(({ method }) => method === 'tools/call');
    world.core.server().crash();
    await world.turn();
    const answer = await world.call(2, { requestState, inputResponses: { q1: ACCEPTED } });
    expect(answer).toMatchObject({ error: { code: -32603, data: { code: 'SERVER_CRASHED' } } });
    expect(reasonOf(await world.call(3, { requestState }))).toEqual([-32602, 'used']);
    world.say(4, { name: 'other' });
    await world.turn();
    expect(calls().map(({ params }) => params?.name)).toEqual(['other']);
    expect(world.core.suspended.size).toBe(0);
  });

  test('that is answered meanwhile gives its answer to the retry', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    await world.serverSays('{"jsonrpc":"2.0","id":1,"result":{"content": [1.50]}}');
    expect(world.answersTo('s1')).toMatchObject([{ error: { code: -32603 } }]);
    expect(world.core.openCalls).toBe(0);
    await world.call(2, { requestState, inputResponses: { q1: ACCEPTED } });
    expect(world.client.link.lines.at(-1)).toBe(
      `{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"${SERVER_INFO}":{"name":"memory","version":"1"}},"content": [1.50]}}`,
    );
    expect(world.core.suspended.size).toBe(0);
  });

  test('goes on with its retry after the server has taken its question back', async () => {
    const world = await World.with();
    const { requestState } = await world.suspended(1);
    await world.serverSays({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 's1' } });
    await world.call(2, { requestState, inputResponses: { q1: ACCEPTED } });
    expect(world.answersTo('s1')).toEqual([]);
    await world.serverAnswers();
    expect(world.client.answersTo(2)).toMatchObject([{ result: { resultType: 'complete' } }]);
  });

  test('is none if the server takes its question back at once', async () => {
    const world = await World.with();
    await world.call(1);
    await world.serverSays(elicit('s1'), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 's1' },
    });
    await world.serverAnswers();
    expect(world.client.answersTo(1)).toMatchObject([{ result: { resultType: 'complete' } }]);
    expect(world.core.suspended.size).toBe(0);
  });

  test('keeps the lane: waiting clients get another instance, or an error (C11)', async () => {
    const world = await World.with();
    await world.suspended(1);
    world.say(2, { name: 'other' });
    await world.turn();
    expect(world.core.server().instances).toHaveLength(2);
    const shared = await World.with({ definition: { sharing: 'shared' } });
    await shared.suspended(1);
    shared.say(2, { name: 'other' });
    await shared.core.pass(31_000);
    expect(shared.client.answersTo(2)).toMatchObject([{ error: { data: { code: 'SERVER_BUSY' } } }]);
  });

  test('does not keep requests of its client that need no lane behind those that wait for it (C11)', async () => {
    const world = await World.with({ definition: { sharing: 'shared' } });
    await world.suspended(1);
    for (const id of [2, 3]) world.say(id, { name: 'other' });
    world.say(4, { method: 'tools/list' });
    world.say(5, { name: 'third' });
    world.say(6, { method: 'tools/list' });
    await world.turn();
    expect(world.core.server().requests.map(({ method }) => method)).toEqual([
      'tools/call',
      'tools/list',
      'tools/list',
    ]);
    await world.serverAnswers(world.core.server().requests[0]);
    expect(world.core.server().requests[3]?.params?.name).toBe('other');
    world.client.cancel(3);
    await world.core.pass(31_000);
    expect([2, 3, 5].map((id) => world.client.answersTo(id).map(({ error }) => error?.data?.code))).toEqual([
      [],
      [],
      ['SERVER_BUSY'],
    ]);
    world.client.link.destroy();
    await world.core.settle();
    expect(world.core.openCalls).toBe(0);
  });

  test('keeps its own instance of a dedicated server, also after its client has gone', async () => {
    const world = await World.with({ definition: { sharing: 'dedicated' } });
    const { requestState } = await world.suspended(1);
    world.client.link.destroy();
    await world.core.settle();
    expect(world.core.server().first.isRetired).toBe(false);
    const other = world.core.connect();
    await world.core.settle();
    await world.call(5, { requestState, inputResponses: { q1: ACCEPTED } }, other);
    await world.serverAnswers(world.core.server().requests[0]);
    expect(other.answersTo(5)).toMatchObject([{ result: { echo: { a: 1 } } }]);
  });

  test('is one of a limited number, and one user may have half of them (C11)', async () => {
    const world = await World.with({ limits: { maxSuspendedCalls: 2 } });
    await world.suspended(1);
    world.say(2, { name: 'other' });
    await world.turn();
    const second = world.core.server().instances[1];
    second?.say(elicit('t1'));
    await world.turn();
    expect(second?.received.at(-1)).toMatchObject({ id: 't1', error: { code: -32603 } });
    expect(world.core.counters.suspensionsRefused).toBe(1);
  });

  test('takes so many bytes at most, with the answer that comes meanwhile (C11)', async () => {
    const world = await World.with({ limits: { maxSuspendedBytes: 8192 } });
    const { requestState } = await world.suspended(1);
    await world.serverSays({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(4096) } });
    const answer = await world.call(2, { requestState });
    expect(answer).toMatchObject({ error: { data: { code: 'SERVER_ANSWER_REFUSED' } } });
    const long = await World.with({ limits: { maxSuspendedBytes: 8192 } });
    await long.call(1);
    await long.serverSays(elicit('s1', { more: 'x'.repeat(4096) }));
    expect(long.answersTo('s1')).toMatchObject([{ error: { code: -32603 } }]);
  });
});

describe('pages that a server wants to be visited first', () => {
  const refusal = {
    code: -32042,
    message: 'Visit first',
    data: { elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://x.example/', message: 'Sign in' }] },
  };

  test('are questions, and the retry makes the call again (C12)', async () => {
    const world = await World.with();
    await world.call(1);
    await world.serverSays({ jsonrpc: '2.0', id: 1, error: refusal });
    expect(world.client.answersTo(1)).toMatchObject([
      {
        result: {
          inputRequests: {
            q1: {
              method: 'elicitation/create',
              params: { mode: 'url', url: 'https://x.example/', message: 'Sign in' },
            },
          },
        },
      },
    ]);
    expect(world.client.link.lines[0]).not.toContain('elicitationId');
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    const retry = { requestState, inputResponses: { q1: { action: 'accept' } } };
    await world.call(2, retry);
    expect(world.core.server().requests).toHaveLength(2);
    expect(world.core.server().link?.lines.at(-1)).toBe(
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool","arguments":{"a":1}}}',
    );
    expect(reasonOf(await world.call(3, retry))).toEqual([-32602, 'used']);
    await world.serverAnswers();
    expect(world.client.answersTo(2)).toMatchObject([{ result: { resultType: 'complete' } }]);
  });

  test('that the user does not visit end the call with the error (C12)', async () => {
    const world = await World.with();
    await world.call(1);
    await world.serverSays({ jsonrpc: '2.0', id: 1, error: refusal });
    const { requestState } = askedIn(world.client.answersTo(1)[0]);
    const answer = await world.call(2, { requestState, inputResponses: { q1: { action: 'decline' } } });
    expect(answer).toMatchObject({ error: { code: -32603, data: { code: -32042 } } });
    expect(world.core.server().requests).toHaveLength(1);
    expect(world.core.suspended.size).toBe(0);
  });

  test('are questions also if the client was away when the server wanted them (C12)', async () => {
    const world = await World.with();
    const first = await world.suspended(1);
    await world.serverSays({ jsonrpc: '2.0', id: 1, error: refusal });
    const second = askedIn(await world.call(2, { requestState: first.requestState }));
    expect(world.core.server().requests).toHaveLength(1);
    const { requestState } = second;
    await world.call(3, { requestState, inputResponses: { q1: { action: 'accept' } } });
    expect(world.core.server().requests).toHaveLength(2);
    await world.serverAnswers();
    expect(world.client.answersTo(3)).toMatchObject([{ result: { resultType: 'complete' } }]);
    expect([world.core.openCalls, world.core.suspended.size]).toEqual([0, 0]);
  });

  test('are an error for a client that cannot show them (C12)', async () => {
    const world = await World.with();
    await world.call(1, { meta: who({ elicitation: {} }) });
    await world.serverSays({ jsonrpc: '2.0', id: 1, error: refusal });
    expect(world.client.answersTo(1)).toMatchObject([
      { error: { code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } } },
    ]);
  });
});

describe('a state', () => {
  test('is read as it was written, and in no other spelling', () => {
    const states = new RequestStates();
    const text = states.textOf({ id: 7, untilMs: 123.4 });
    expect(states.read(JSON.stringify(text))).toEqual({ id: 7, untilMs: 124 });
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'A' ? 'B' : 'A';
      expect(states.read(JSON.stringify(text.slice(0, at) + other + text.slice(at + 1)))).toBeUndefined();
    }
    for (const other of [`${text}A`, text.slice(0, -1), '', `${text}=`])
      expect(states.read(JSON.stringify(other))).toBeUndefined();
    expect(new RequestStates().read(JSON.stringify(text))).toBeUndefined();
  });
});
