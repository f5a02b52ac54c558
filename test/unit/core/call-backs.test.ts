import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ABLE = { capabilities: { elicitation: {} } };
const question = (id: unknown): object => ({
  jsonrpc: '2.0',
  id,
  method: 'elicitation/create',
  params: { message: '?' },
});

async function two(): Promise<{ core: CoreInMemory; one: TestClient; other: TestClient }> {
  const core = new CoreInMemory();
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
  test('lets one client at a time call what may ask back, and all of them what does not', async () => {
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

  test('is given back by who goes', async () => {
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
    const { core, one } = await two();
    one.call(1);
    await core.settle();
    core.server().say(question(7));
    await core.pass(590_000);
    expect([answersTo(core, 7), one.answersTo(1)]).toEqual([[], []]);
    await core.pass(12_000);
    expect(answersTo(core, 7).map(({ error }) => error?.code)).toEqual([-32603]);
    await core.pass(40_000);
    expect(one.answersTo(1).map(({ error }) => error?.data?.code)).toEqual(['CALL_TIMED_OUT']);
    expect(core.openSlots).toBe(0);
  });

  test('whose client goes is answered with an error, and one that the server takes back is taken back', async () => {
    const { core, one, other } = await two();
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
    expect(core.server().requests.at(-1)?.method).toBe('tools/call');
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
