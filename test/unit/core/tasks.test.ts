import { describe, expect, test } from 'vitest';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';

const ABOUT = ['tasks/get', 'tasks/result', 'tasks/cancel'];

function ask(client: TestClient, id: number | string, method: string, params: object = {}): void {
  client.say({ jsonrpc: '2.0', id, method, params });
}

/** Begins a task; its progress has the token `p` towards the client. */
async function begin(core: CoreInMemory, client: TestClient, taskId: string): Promise<Message | undefined> {
  ask(client, `begin ${taskId}`, 'tools/call', { name: 'tool', task: {}, _meta: { progressToken: 'p' } });
  await core.settle();
  const call = core.server().requests.at(-1);
  core.server().say({ jsonrpc: '2.0', id: call?.id, result: { task: { taskId, status: 'working' } } });
  await core.settle();
  return call;
}

async function twoWithTask(): Promise<{
  core: CoreInMemory;
  one: TestClient;
  other: TestClient;
  call: Message | undefined;
}> {
  const core = new CoreInMemory();
  const [one, other] = [await core.ready(), await core.ready()];
  return { core, one, other, call: await begin(core, one, 't') };
}

describe('a task', () => {
  test('is its client’s alone to ask for, to wait for and to cancel', async () => {
    const { core, one, other } = await twoWithTask();
    for (const method of ABOUT) for (const client of [one, other]) ask(client, method, method, { taskId: 't' });
    await core.settle();
    expect(
      core
        .server()
        .requests.slice(-3)
        .map(({ method }) => method),
    ).toEqual(ABOUT);
    expect(ABOUT.map((method) => other.answersTo(method).map(({ error }) => error?.code))).toEqual([
      [-32602],
      [-32602],
      [-32602],
    ]);
    for (const request of core.server().requests.slice(-3)) core.server().answer(request);
    await core.settle();
    expect(ABOUT.map((method) => one.answersTo(method).length)).toEqual([1, 1, 1]);
    expect(core.openCalls).toBe(0);
  });

  test.each([undefined, 7, null, {}, 't2', ''])('that does not exist is refused: %j', async (taskId) => {
    const { core, one } = await twoWithTask();
    ask(one, 1, 'tasks/get', { taskId });
    await core.settle();
    expect(one.answersTo(1).map(({ error }) => error?.code)).toEqual([-32602]);
  });

  test('is told of to its client alone: its status, and its progress after the call was answered', async () => {
    const { core, one, other, call } = await twoWithTask();
    core
      .server()
      .say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: 't', status: 'working' } });
    core
      .server()
      .say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: call?.id, progress: 1 } });
    for (const taskId of ['t2', 7, undefined])
      core.server().say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId } });
    await core.settle();
    expect(one.received.slice(-2).map(({ params }) => params?.taskId ?? params?.progressToken)).toEqual(['t', 'p']);
    expect(other.received).toEqual([]);
  });

  test('is told of to its client when its server says how it goes before it has answered the call', async () => {
    const core = new CoreInMemory();
    const [one, other] = [await core.ready(), await core.ready()];
    const status = (taskId: string, text: string): object => ({
      jsonrpc: '2.0',
      method: 'notifications/tasks/status',
      params: { taskId, status: text },
    });
    ask(other, 'plain', 'tools/call', { name: 'tool' });
    await core.settle();
    core.server().say(status('early', 'lost, for no call may become a task'));
    ask(one, 1, 'tools/call', { name: 'tool', task: {} });
    await core.settle();
    for (const text of ['working', 'input_required']) core.server().say(status('early', text));
    core.server().say(status('strange', 'working'));
    core.server().say({ jsonrpc: '2.0', id: core.server().requests.at(-1)?.id, result: { task: { taskId: 'early' } } });
    core.server().say(status('early', 'completed'));
    await core.settle();
    expect(one.received.map(({ id, params }) => id ?? params?.status)).toEqual([
      1,
      'working',
      'input_required',
      'completed',
    ]);
    expect(other.notifications('notifications/tasks/status')).toEqual([]);
  });

  test('is in a list of one page, whatever pages its server has', async () => {
    const core = new CoreInMemory();
    core.server().declare({ tasks: { list: {} } });
    const [one, other, third] = [await core.ready(), await core.ready(), await core.ready()];
    await begin(core, one, 'mine');
    await begin(core, other, 'other');
    core.server().answers = ({ method, params }) => {
      if (method === 'tasks/list') return { result: { tasks: [], nextCursor: 'more' } };
      return method === 'tasks/get' ? { result: { taskId: params?.taskId, status: 'working' } } : undefined;
    };
    ask(one, 'list', 'tasks/list');
    ask(one, 'page', 'tasks/list', { cursor: 'more' });
    ask(third, 'none', 'tasks/list');
    await core.settle();
    expect(third.answersTo('none').map(({ result }) => result)).toEqual([{ tasks: [] }]);
    expect(one.answersTo('list').map(({ result }) => result)).toEqual([
      { tasks: [{ taskId: 'mine', status: 'working' }] },
    ]);
    expect(one.answersTo('page').map(({ error }) => error?.code)).toEqual([-32602]);
  });

  test('is in the list of its client alone, as the server spells it', async () => {
    const { core, one, other } = await twoWithTask();
    await begin(core, other, 'u');
    for (const client of [one, other]) ask(client, 'list', 'tasks/list');
    await core.settle();
    for (const { id } of core.server().requests.slice(-2))
      core
        .server()
        .say(
          `{"jsonrpc":"2.0","id":${id},"result":{"a":1.0,"tasks":[ {"taskId":"t","ttl":1.50}, null,7,{"taskId":"u"},{"taskId":"x"} ],"nextCursor":"c"}}`,
        );
    await core.settle();
    expect(one.link.lines.at(-1)).toBe(
      '{"jsonrpc":"2.0","id":"list","result":{"a":1.0,"tasks":[{"taskId":"t","ttl":1.50}],"nextCursor":"c"}}',
    );
    expect(other.answersTo('list')[0]?.result?.tasks).toEqual([{ taskId: 'u' }]);
  });

  test('in a list that is none, or is refused, goes through as it is', async () => {
    const { core, one } = await twoWithTask();
    for (const [n, answer] of [
      '"result":{"tasks":{}}',
      '"result":null',
      '"result":{}',
      '"error":{"code":1,"message":"x"}',
    ].entries()) {
      ask(one, n, 'tasks/list');
      await core.settle();
      core.server().say(`{"jsonrpc":"2.0","id":${core.server().requests.at(-1)?.id},${answer}}`);
      await core.settle();
      expect(one.link.lines.at(-1)).toBe(`{"jsonrpc":"2.0","id":${n},${answer}}`);
    }
  });

  test('is cancelled when its client goes, and its notices end', async () => {
    const { core, one, other, call } = await twoWithTask();
    await begin(core, other, 'u');
    one.link.destroy();
    await core.settle();
    const cancelled = core.server().requests.filter(({ method }) => method === 'tasks/cancel');
    expect(cancelled.map(({ params }) => params)).toEqual([{ taskId: 't' }]);
    core.server().say({ jsonrpc: '2.0', id: cancelled[0]?.id, result: {} });
    core.server().say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: 't' } });
    core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: call?.id } });
    await core.settle();
    expect(other.notifications('notifications/tasks/status')).toEqual([]);
    expect(core.counters).toMatchObject({ strayProgress: 1, strayResponses: 0 });
  });

  test('with too long an id is an error of its call, and is cancelled', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    for (const length of [256, 257]) {
      ask(client, length, 'tools/call', { name: 'tool', task: {} });
      await core.settle();
      const task = { taskId: 'x'.repeat(length), status: 'working' };
      core.server().say({ jsonrpc: '2.0', id: core.server().requests.at(-1)?.id, result: { task } });
      await core.settle();
    }
    const codes = [256, 257].map((id) => client.answersTo(id).map(({ error }) => error?.data?.code));
    expect(codes).toEqual([[undefined], ['TASK_ID_TOO_LONG']]);
    expect(core.sessionOf(client)?.tasks.size).toBe(1);
    expect(core.server().requests.at(-1)?.method).toBe('tasks/cancel');
  });

  test('ends with its server', async () => {
    const { core, one } = await twoWithTask();
    core.server().crash();
    ask(one, 1, 'tasks/get', { taskId: 't' });
    await core.settle();
    expect(one.answersTo(1).map(({ error }) => error?.code)).toEqual([-32602]);
    expect(core.sessionOf(one)?.tasks.size).toBe(0);
    expect(core.server().starts).toBe(1);
  });

  test.each([undefined, null, 7, {}, { taskId: 7 }])('is none where the answer says %j', async (task) => {
    const core = new CoreInMemory();
    const client = await core.ready();
    ask(client, 1, 'tools/call', { name: 'tool', task: {} });
    await core.settle();
    core.server().say({ jsonrpc: '2.0', id: core.server().requests.at(-1)?.id, result: { task } });
    await core.settle();
    expect([client.answersTo(1).length, core.sessionOf(client)?.tasks.size]).toEqual([1, 0]);
  });

  test('on each of several servers is listed for a client that sees them all', async () => {
    const core = new CoreInMemory({ servers: ['one', 'two'] });
    for (const name of ['one', 'two']) {
      core.server(name).has({ tools: [{ name: 'tool' }] });
      const { answers } = core.server(name);
      core.server(name).answers = (request, instance) => {
        if (request.method === 'tools/call') return { result: { task: { taskId: `of ${name}` } } };
        if (request.method === 'tasks/get') return { result: { taskId: request.params?.taskId, status: 'working' } };
        return answers(request, instance);
      };
    }
    const client = await core.ready({ _meta: { 'mcp-bridge/view': 'all' } });
    for (const name of ['one', 'two']) ask(client, name, 'tools/call', { name: `${name}__tool`, task: {} });
    await core.settle();
    ask(client, 'list', 'tasks/list');
    await core.settle();
    expect(client.answersTo('list')[0]?.result?.tasks).toEqual([
      { taskId: 'of one', status: 'working' },
      { taskId: 'of two', status: 'working' },
    ]);
    core.server('two').crash();
    ask(client, 'again', 'tasks/list');
    await core.settle();
    expect(client.answersTo('again')[0]?.result?.tasks).toEqual([{ taskId: 'of one', status: 'working' }]);
  });
});
