import { describe, expect, test } from 'vitest';
import { CoreInMemory, type CoreOptions, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ABLE = { capabilities: { elicitation: {} } };
const question = (id: unknown): object => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: '?' },
});

async function two(options?: CoreOptions): Promise<{ core: CoreInMemory; one: TestClient; other: TestClient }> {
  const core = new CoreInMemory(options);
  return { core, one: await core.ready(ABLE), other: await core.ready(ABLE) };
}

/** The tool has ended often enough without a question. */
async function makeQuiet(core: CoreInMemory, client: TestClient): Promise<void> {
  for (let n = 0; n < 3; n++) {
    client.call(`quiet-${n}`);
    await core.settle();
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
  }
}

const questionsOf = (client: TestClient): Message[] => client.notifications('elicitation/create');
const answersTo = (core: CoreInMemory, id: unknown): Message[] =>
  core.server().received.filter((message) => message.method === undefined && message.id === id);

describe('the lane', () => {
  test('lets one client at a time call tools that may ask back, and all clients call the others', async () => {
    const { core, one, other } = await two();
    one.call(1);
    one.call(2);
    other.call(1);
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
    for (const request of core.server().requests) core.server().answer(request);
    await core.settle();
    expect(core.server().requests).toHaveLength(3);
    core.server().answer(core.server().requests[2]);
    await core.settle();
    one.call(3);
    other.call(3);
    await core.settle();
    expect(core.server().requests).toHaveLength(5); // three ends without a question: it is quiet
  });

  test('does not exist where the server was offered nothing to ask for', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    one.call(1);
    other.call(1);
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
  });

  test('is given back when its client goes', async () => {
    const { core, one, other } = await two();
    one.call(1);
    other.call(1);
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
    one.link.destroy();
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
  });
});

describe('a question', () => {
  test('goes to the one client that has calls under way, and its answer back under the id that it had', async () => {
    const { core, one, other } = await two();
    one.call(1);
    await core.settle();
    core.server().say(question('s"1'));
    await core.settle();
    expect(questionsOf(other)).toEqual([]);
    const [asked] = questionsOf(one);
    expect(asked).toMatchObject({ id: expect.stringMatching(/^mcp-bridge\//), params: { message: '?' } });
    other.say({ jsonrpc: '2.0', id: asked?.id, result: { forged: true } });
    one.say({ jsonrpc: '2.0', id: asked?.id, result: { action: 'decline' } });
    await core.settle();
    expect(answersTo(core, 's"1').map(({ result }) => result)).toEqual([{ action: 'decline' }]);
    expect(core.counters.strayResponses).toBe(1);
  });

  test('that every possible client would refuse is refused at once, in its words, and blocks nobody', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    one.call(1);
    other.call(1);
    await core.settle();
    core.server().say(question('q'));
    await core.settle();
    expect(answersTo(core, 'q').map(({ error }) => error)).toEqual([
      { code: -32601, message: 'The client does not support elicitation' },
    ]);
    other.call(2);
    await core.settle();
    expect(core.server().requests).toHaveLength(3);
  });

  test('that cannot be attributed is held, nothing more is sent, and after 20 s the server gets an error', async () => {
    const { core, one, other } = await two();
    await makeQuiet(core, one);
    one.call(1);
    other.call(1);
    await core.settle();
    const before = core.server().requests.length;
    core.server().say(question(7));
    one.call(2);
    await core.pass(19_000);
    expect([core.server().requests.length, questionsOf(one), questionsOf(other)]).toEqual([before, [], []]);
    await core.pass(3000);
    expect(answersTo(core, 7).map(({ error }) => error?.code)).toEqual([-32603]);
    expect(core.server().requests.length).toBe(before + 1);
  });

  test('that its client never answers ends after ten minutes; until then its call is not timed out', async () => {
    const { core, one } = await two({ limits: { callTimeoutMs: 30_000 } });
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    await core.pass(590_000);
    expect([answersTo(core, 7), one.answersTo(1)]).toEqual([[], []]);
    await core.pass(12_000);
    expect(answersTo(core, 7).map(({ error }) => error?.code)).toEqual([-32603]);
    await core.pass(40_000);
    expect(one.answersTo(1).map(({ error }) => error?.data?.code)).toEqual(['CALL_TIMED_OUT']);
    expect(core.openCalls).toBe(0);
  });

  test('whose client goes is answered with an error, and one that the server cancels is cancelled', async () => {
    const { core, one, other } = await two({ definition: { sharing: 'shared' } });
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    core.server().say(question(8));
    await core.settle();
    core.server().say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 8 } });
    await core.settle();
    expect(one.notifications('notifications/cancelled').map(({ params }) => params?.requestId)).toEqual([
      questionsOf(one)[1]?.id,
    ]);
    one.link.destroy();
    await core.settle();
    expect([answersTo(core, 7).map(({ error }) => error?.code), answersTo(core, 8)]).toEqual([[-32603], []]);
    other.call(1);
    await core.settle();
    expect(core.server().requests.at(-1)?.method).toBe('ping'); // behind the cancellation
    await core.pass(7000);
    expect(core.server().requests.at(-1)?.method).toBe('tools/call');
  });

  test('that comes after its call was given up is shown to no other client', async () => {
    const { core, one, other } = await two({ definition: { sharing: 'shared' } });
    const server = core.server();
    one.call(1);
    other.call(1);
    await core.settle();
    one.cancel(1);
    await core.settle();
    server.say(question(7));
    await core.settle();
    expect([questionsOf(other), answersTo(core, 7).map(({ error }) => error?.code)]).toEqual([[], [-32603]]);
    // The tool is known to ask: its call is over when the server says so, in whatever way.
    const [call, ping] = server.requests;
    server.answer(ping);
    server.say(question(8));
    server.answer(call);
    await core.settle();
    expect([questionsOf(other), answersTo(core, 8).map(({ error }) => error?.code)]).toEqual([[], [-32603]]);
    expect(server.requests.at(-1)?.method).toBe('tools/call');
    server.say(question(9));
    await core.settle();
    expect(questionsOf(other)).toHaveLength(1);
  });

  test('may belong to a call that was given up only until a ping behind it is answered', async () => {
    const { core, one, other } = await two();
    const server = core.server();
    one.call(1);
    other.call(1);
    await core.settle();
    one.cancel(1);
    await core.settle();
    expect(server.requests.map(({ method }) => method)).toEqual(['tools/call', 'ping']);
    server.answer(server.requests[1]);
    await core.settle();
    expect(server.requests.at(-1)?.method).toBe('tools/call');
    server.say(question(7));
    await core.settle();
    expect(questionsOf(other)).toHaveLength(1);
  });

  test('that is held while a call of its client is given up goes to that client or nobody', async () => {
    for (const last of ['one', 'other'] as const) {
      const { core, one, other } = await two();
      const server = core.server();
      await makeQuiet(core, one);
      one.call(1);
      one.call(2);
      other.call(1);
      await core.settle();
      const [first, second, others] = server.requests.slice(-3);
      server.say(question(7));
      await core.settle();
      one.cancel(2);
      await core.settle();
      expect([second?.id, server.cancelled]).toEqual([server.cancelled[0], [second?.id]]);
      server.answer(last === 'one' ? others : first);
      await core.settle();
      expect(questionsOf(other)).toEqual([]);
      expect(questionsOf(one)).toHaveLength(last === 'one' ? 1 : 0);
      expect(answersTo(core, 7).map(({ error }) => error?.code)).toEqual(last === 'one' ? [] : [-32603]);
    }
  });

  test('becomes certain also when the other call ends with an answer that cannot be passed on', async () => {
    const { core, one, other } = await two();
    await makeQuiet(core, one);
    one.call(1);
    other.call(1);
    await core.settle();
    core.server().say(question(7));
    const id = core.server().requests.at(-1)?.id;
    core.server().say(`{"jsonrpc":"2.0","id":${id},"result":${'['.repeat(500)}${']'.repeat(500)}}`);
    await core.settle();
    expect(other.answersTo(1).map(({ error }) => error?.data?.code)).toEqual(['SERVER_ANSWER_REFUSED']);
    expect(questionsOf(one)).toHaveLength(1);
  });

  test('under an id that the server has used before is one more question, and is forgotten with the others', async () => {
    const { core, one } = await two();
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    core.server().say(question(7));
    await core.settle();
    expect(questionsOf(one)).toHaveLength(2);
    one.say({ jsonrpc: '2.0', id: questionsOf(one)[0]?.id, result: {} });
    await core.settle();
    core.server().crash();
    await core.settle();
    expect(core.sessionOf(one)?.questions.size).toBe(0);
  });

  test('of a server that dies is forgotten', async () => {
    const { core, one } = await two();
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    await core.settle();
    core.server().crash();
    await core.settle();
    one.say({ jsonrpc: '2.0', id: questionsOf(one)[0]?.id, result: {} });
    await core.settle();
    expect(core.counters.strayResponses).toBe(1);
  });
});

describe('a question without a certain client', () => {
  test('because no call is under way is refused at once', async () => {
    const { core, one } = await two();
    core.server().say(question(7));
    await core.settle();
    expect([answersTo(core, 7).map(({ error }) => error?.code), questionsOf(one)]).toEqual([[-32603], []]);
  });

  test('because the client that it may be for has cancelled its call is not shown to another one', async () => {
    for (const how of ['cancel', 'leave'] as const) {
      const { core, one, other } = await two();
      await makeQuiet(core, one);
      one.call(1);
      other.call(1);
      await core.settle();
      core.server().say(question(7));
      await core.settle();
      if (how === 'cancel') one.cancel(1);
      else one.link.destroy();
      await core.settle();
      expect([how, questionsOf(other), answersTo(core, 7).map(({ error }) => error?.code)]).toEqual([
        how,
        [],
        [-32603],
      ]);
      other.call(2);
      await core.settle();
      for (const request of core.server().requests.slice(-2)) core.server().answer(request);
      await core.settle();
      expect([1, 2].map((id) => other.answersTo(id).length)).toEqual([1, 1]);
    }
  });

  test('goes to the client that has another call under way, when one of its calls is cancelled', async () => {
    const { core, one, other } = await two();
    await makeQuiet(core, one);
    one.call(1);
    one.call(2);
    other.call(1);
    await core.settle();
    core.server().say(question(7));
    one.cancel(1);
    await core.settle();
    expect(answersTo(core, 7)).toEqual([]);
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
    expect(questionsOf(one)).toHaveLength(1);
  });

  test('because its client has ended its side is answered with an error, before it was asked and after', async () => {
    const { core, one } = await two();
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    await core.settle();
    one.link.endByPeer();
    await core.settle();
    core.server().say(question(8));
    await core.settle();
    expect([7, 8].map((id) => answersTo(core, id).map(({ error }) => error?.code))).toEqual([[-32603], [-32603]]);
    expect(questionsOf(one)).toHaveLength(1);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect([one.answersTo(1).length, one.link.isClosed]).toEqual([1, true]);
  });
});

describe('a question about a task', () => {
  const related = (taskId: unknown, id: unknown): object => ({
    jsonrpc: '2.0',
    id,
    method: 'elicitation/create',
    params: { message: '?', _meta: { 'io.modelcontextprotocol/related-task': { taskId } } },
  });

  async function withTask(): Promise<{ core: CoreInMemory; one: TestClient; other: TestClient }> {
    const clients = await two();
    clients.one.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tool', task: {} } });
    await clients.core.settle();
    const [call] = clients.core.server().requests;
    clients.core.server().say({ jsonrpc: '2.0', id: call?.id, result: { task: { taskId: 't' } } });
    await clients.core.settle();
    return clients;
  }

  test('goes to the client that owns the task, whoever has calls under way', async () => {
    const { core, one, other } = await withTask();
    other.call(1);
    await core.settle();
    core.server().say(related('t', 7));
    await core.settle();
    expect([questionsOf(one).length, questionsOf(other).length]).toEqual([1, 0]);
    one.say({ jsonrpc: '2.0', id: questionsOf(one)[0]?.id, result: { action: 'accept' } });
    await core.settle();
    expect(answersTo(core, 7).map(({ result }) => result)).toEqual([{ action: 'accept' }]);
  });

  test('that does not exist is refused, even when its client has gone', async () => {
    const { core, one, other } = await withTask();
    other.call(1);
    await core.settle();
    core.server().say(related('another', 7));
    one.link.destroy();
    await core.settle();
    core.server().say(related('t', 8));
    await core.settle();
    expect([7, 8].map((id) => answersTo(core, id).map(({ error }) => error?.code))).toEqual([[-32603], [-32603]]);
    expect(questionsOf(other)).toEqual([]);
  });
});

describe('a client is not asked without the capability:', () => {
  test.each<[string, object, string, object, number | undefined]>([
    ['sampling', { elicitation: {} }, 'sampling/createMessage', {}, -32601],
    ['elicitation', { sampling: {} }, 'elicitation/create', {}, -32601],
    ['a visit to a page', { elicitation: { form: {} } }, 'elicitation/create', { mode: 'url' }, -32602],
    ['a visit to a page', { elicitation: { url: {} } }, 'elicitation/create', { mode: 'url' }, undefined],
    ['tools in sampling', { sampling: {} }, 'sampling/createMessage', { tools: [] }, -32602],
    ['tools in sampling', { sampling: { tools: {} } }, 'sampling/createMessage', { tools: [] }, undefined],
    ['roots', { sampling: {} }, 'roots/list', {}, -32601],
  ])('%s, having %j', async (_, capabilities, method, params, code) => {
    const core = new CoreInMemory();
    const client = await core.ready({ capabilities });
    client.call(1);
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: 7, method, params });
    await core.settle();
    expect([client.notifications(method).length, answersTo(core, 7).map(({ error }) => error?.code)]).toEqual(
      code === undefined ? [1, []] : [0, [code]],
    );
  });
});

describe('the end of a visit to a page', () => {
  const complete = (elicitationId: string): object => ({
    jsonrpc: '2.0',
    method: 'notifications/elicitation/complete',
    params: { elicitationId },
  });
  const toldOf = (client: TestClient): unknown[] =>
    client.notifications('notifications/elicitation/complete').map(({ params }) => params?.elicitationId);

  test('is told to the one client that was shown the page', async () => {
    const core = new CoreInMemory();
    const able = { capabilities: { elicitation: { url: {} } } };
    const [one, other] = [await core.ready(able), await core.ready(able)];
    one.call(1);
    await core.settle();
    const params = { mode: 'url', url: 'https://a.example', elicitationId: 'e', message: '?' };
    core.server().say({ jsonrpc: '2.0', id: 7, method: 'elicitation/create', params });
    await core.settle();
    for (const id of ['e', 'unknown']) core.server().say(complete(id));
    await core.settle();
    expect([toldOf(one), toldOf(other)]).toEqual([['e'], []]);
    expect(core.counters.notificationsDropped).toBe(1);
    one.link.destroy();
    await core.settle();
    core.server().say(complete('e'));
    await core.settle();
    expect(toldOf(other)).toEqual([]);
  });

  test('is reported to the client whose call was refused until the page is visited', async () => {
    const { core, one, other } = await two();
    one.call(1);
    await core.settle();
    const data = { elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://a.example' }, null, 7] };
    const error = { code: -32042, message: 'Visit it', data };
    core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, error });
    await core.settle();
    expect(one.answersTo(1).map((answer) => answer.error)).toEqual([error]);
    core.server().say(complete('e'));
    await core.settle();
    expect([toldOf(one), toldOf(other)]).toEqual([['e'], []]);
  });

  test.each([undefined, null, 7, {}, { elicitations: 'e' }])(
    'is reported to nobody where the refusal says %j',
    async (data) => {
      const { core, one } = await two();
      one.call(1);
      await core.settle();
      const error = { code: -32042, message: 'Visit it', data };
      core.server().say({ jsonrpc: '2.0', id: core.server().requests[0]?.id, error });
      core.server().say(complete('e'));
      await core.settle();
      expect([one.answersTo(1).length, toldOf(one)]).toEqual([1, []]);
    },
  );
});

test('a page with too long a name is shown, and its end is reported to nobody', async () => {
  const core = new CoreInMemory();
  const client = await core.ready({ capabilities: { elicitation: { url: {} } } });
  for (const length of [256, 257]) {
    const elicitationId = 'x'.repeat(length);
    client.call(length);
    await core.settle();
    const data = { elicitations: [{ mode: 'url', elicitationId, url: 'https://x.example/', message: '?' }] };
    const { id } = core.server().requests.at(-1) ?? {};
    core.server().say({ jsonrpc: '2.0', id, error: { code: -32042, message: 'visit', data } });
    core.server().say({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId } });
    await core.settle();
    expect(client.answersTo(length)).toHaveLength(1);
  }
  expect(client.notifications('notifications/elicitation/complete')).toHaveLength(1);
});
