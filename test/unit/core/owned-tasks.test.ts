// Tasks between clients and servers of 2026: whose they are, where they are asked for, and who hears of them.

import { describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { membersOf } from '../../../src/util/json-value.ts';
import {
  CoreInMemory,
  type CoreOptions,
  type Message,
  type TestClient,
  type TestInstance,
} from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const EXTENSION = `${PREFIX}tasks`;
const ID = `${PREFIX}subscriptionId`;
const TAKES_TASKS = { extensions: { [EXTENSION]: {} } };
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const REQUIRED = { code: -32021, data: { requiredCapabilities: TAKES_TASKS } };

interface Asked {
  readonly capabilities?: object;
  readonly view?: string;
  readonly params?: object;
}

/** Servers whose tool `tool` becomes a task of the id that its argument `taskId` says; all else of tasks is the test's to answer. */
class World {
  readonly core: CoreInMemory;
  readonly #names: readonly string[];
  #ids = 0;

  constructor(options: CoreOptions = {}) {
    this.core = new CoreInMemory(options);
    this.#names = options.servers ?? ['memory'];
    for (const name of this.#names) {
      const server = this.core.server(name);
      server.era = ERA_2026;
      server.declare({ tools: {}, extensions: { [EXTENSION]: {} } });
      server.answers = (request) => answerOf(request);
    }
  }

  /** Asks, and gives the answer; undefined while there is none. */
  async ask(client: TestClient, method: string, { capabilities = TAKES_TASKS, view, params }: Asked = {}) {
    const id = `r${++this.#ids}`;
    const _meta = {
      [`${PREFIX}protocolVersion`]: '2026-07-28',
      [`${PREFIX}clientCapabilities`]: capabilities,
      ...(view !== undefined && { 'mcp-bridge/view': view }),
    };
    client.say({ jsonrpc: '2.0', id, method, params: { _meta, ...params } });
    if (view === 'discover') await import('../../../src/meta-tools/schema-compiler.ts');
    for (let n = 0; n < 200 && (n === 0 || (view === 'discover' && client.answersTo(id).length === 0)); n++)
      await this.core.settle(); // the check of arguments is loaded meanwhile
    return client.answersTo(id)[0];
  }
  /** Begins a task, and returns the client's id of it. */
  async begin(client: TestClient, taskId: string, more: object = {}, asked: Asked = {}): Promise<string> {
    const params = { name: 'tool', arguments: { taskId, ...more }, ...asked.params };
    const answer = await this.ask(client, 'tools/call', { ...asked, params });
    expect(answer?.result?.resultType).toBe('task');
    return String(answer?.result?.taskId);
  }
  get(client: TestClient, taskId: string, asked: Asked = {}): Promise<Message | undefined> {
    return this.ask(client, 'tasks/get', { ...asked, params: { taskId } });
  }
  /** Listens to tasks, and returns the id of the request. */
  async listen(client: TestClient, taskIds: readonly string[], asked: Asked = {}): Promise<string> {
    const id = `r${this.#ids + 1}`;
    await this.ask(client, 'subscriptions/listen', { ...asked, params: { notifications: { taskIds } } });
    await this.core.pass(20); // changes are gathered for so long
    return id;
  }
  /** The server has done something about a task, and says so under the listen that it has acknowledged last. */
  async tell(taskId: string, state: object, name = this.#names[0] ?? ''): Promise<void> {
    const listen = this.listens(name).at(-1);
    const params = { _meta: { [ID]: listen?.id }, taskId, ttlMs: null, ...state };
    this.core.server(name).say({ jsonrpc: '2.0', method: 'notifications/tasks', params });
    await this.core.settle();
  }
  listens(name = this.#names[0] ?? ''): Message[] {
    return this.core.server(name).requests.filter(({ method }) => method === 'subscriptions/listen');
  }
  /** The servers' ids of the tasks in requests of this method. */
  askedOf(method: string, name?: string): unknown[] {
    const { requests } = this.core.server(name ?? this.#names[0] ?? '');
    return requests.filter((request) => request.method === method).map(({ params }) => params?.taskId);
  }
}

/** Knows all tasks that have no `lost` in their ids. */
function answerOf({ method = '', params }: Message): object | undefined {
  const { taskId, name, arguments: args } = membersOf(params);
  if (method === 'tools/list')
    return { result: { resultType: 'complete', tools: [{ name: 'tool', inputSchema: {} }] } };
  if (method === 'tools/call' && name === 'tool')
    return { result: { resultType: 'task', status: 'working', ttlMs: 60_000, createdAt: 'x', ...membersOf(args) } };
  if (!method.startsWith('tasks/')) return undefined;
  if (String(taskId).includes('lost')) return { error: { code: -32602, message: 'Task not found' } };
  const state = { taskId, status: String(taskId).includes('done') ? 'completed' : 'working', ttlMs: 60_000 };
  return { result: { resultType: 'complete', ...(method === 'tasks/get' && state) } };
}

async function acknowledge(world: World, honored?: object, name?: string): Promise<void> {
  const listen = world.listens(name).at(-1);
  const params = { notifications: honored ?? listen?.params?.notifications, _meta: { [ID]: listen?.id } };
  world.core.server(name ?? 'memory').say({ jsonrpc: '2.0', method: ACKNOWLEDGED, params });
  await world.core.settle();
}
const heardBy = (client: TestClient): unknown[] =>
  client.notifications('notifications/tasks').map(({ params }) => {
    const { _meta, taskId, status } = membersOf(params);
    return [membersOf(_meta)[ID], taskId, status];
  });
const honouredBy = (client: TestClient): unknown[] =>
  client.notifications(ACKNOWLEDGED).map(({ params }) => params?.notifications);

describe('a task', () => {
  test('is answered and asked for in the bytes of both sides (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    expect(await world.begin(client, 't1', { other: 1.5 })).toBe('t1');
    const inputResponses = { a: { action: 'accept', content: { x: 1 } } };
    const answers = [
      await world.get(client, 't1'),
      await world.ask(client, 'tasks/update', { params: { taskId: 't1', inputResponses } }),
      await world.ask(client, 'tasks/cancel', { params: { taskId: 't1' } }),
    ];
    expect(answers.map((answer) => answer?.result?.resultType)).toEqual(['complete', 'complete', 'complete']);
    const sent = world.core.server().requests.filter(({ method }) => method === 'tasks/update');
    expect(sent).toMatchObject([{ params: { taskId: 't1', inputResponses } }]);
    expect(world.core.openCalls).toBe(0);
  });

  test('belongs to its user on every connection, and to no other user (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    await world.begin(client, 't1');
    const [mine, others] = [world.core.connect(), world.core.connect({ uid: 1001 })];
    expect(await world.get(mine, 't1')).toMatchObject({ result: { taskId: 't1' } });
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await world.ask(others, method, { params: { taskId: 't1' } })).toMatchObject({ error: { code: -32602 } });
    expect([world.askedOf('tasks/update'), world.askedOf('tasks/cancel')]).toEqual([[], []]);
    expect(world.askedOf('tasks/get')).toEqual(['t1']);
  });

  test('outlives the connection that began it, and is not cancelled with it (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    await world.begin(client, 't1');
    client.link.endByPeer();
    await world.core.settle();
    expect(world.askedOf('tasks/cancel')).toEqual([]);
    expect(await world.get(world.core.connect(), 't1')).toMatchObject({ result: { status: 'working' } });
  });

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    'cannot be asked for with %s by a request that does not declare the extension (H1)',
    async (method) => {
      const world = new World();
      const client = world.core.connect();
      await world.begin(client, 't1');
      for (const capabilities of [{}, { extensions: {} }, { tasks: {} }, { extensions: { [EXTENSION]: null } }]) {
        const answer = await world.ask(client, method, { capabilities, params: { taskId: 't1' } });
        expect(answer?.error).toMatchObject(REQUIRED);
      }
      expect(world.askedOf(method)).toEqual([]);
    },
  );

  test('never reaches a client that has not said that it takes tasks; its server is to cancel it (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    const params = { name: 'tool', arguments: { taskId: 't1' } };
    const answer = await world.ask(client, 'tools/call', { capabilities: {}, params });
    expect(answer).toMatchObject({ error: { code: -32603, data: { code: 'SERVER_ANSWER_REFUSED' } } });
    const [cancel] = world.core.server().requests.filter(({ method }) => method === 'tasks/cancel');
    expect(cancel?.params).toMatchObject({
      taskId: 't1',
      _meta: { [`${PREFIX}clientCapabilities`]: TAKES_TASKS },
    });
    expect(world.core.openCalls).toBe(0);
  });

  test('never reaches a client of 2025, which cannot even say that it takes such tasks', async () => {
    const world = new World();
    const client = await world.core.ready({ capabilities: { ...TAKES_TASKS, sampling: {} } });
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tool', arguments: { taskId: 't1' } } });
    await world.core.settle();
    expect(client.answersTo(1)).toMatchObject([{ error: { code: -32603 } }]);
    const [call] = world.core.server().requests.filter(({ method }) => method === 'tools/call');
    expect(membersOf(call?.params?._meta)[`${PREFIX}clientCapabilities`]).toEqual({ sampling: {} });
    expect(world.askedOf('tasks/cancel')).toEqual(['t1']);
  });

  test('whose id the server does not give is refused', async () => {
    const world = new World();
    const client = world.core.connect();
    const params = { name: 'tool', arguments: { taskId: 7 } };
    expect(await world.ask(client, 'tools/call', { params })).toMatchObject({ error: { code: -32603 } });
    expect(world.core.ownedTasks.size).toBe(0);
  });

  test('that is unknown here is asked of the server, which decides (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    expect(await world.get(client, 'from before')).toMatchObject({ result: { taskId: 'from before' } });
    expect(await world.get(client, 'lost')).toMatchObject({ error: { code: -32602, message: 'Task not found' } });
    const other = await world.get(world.core.connect({ uid: 1001 }), 'from before');
    expect(other).toMatchObject({ error: { code: -32602 } }); // whoever has asked first has it
  });

  test('is asked of the next process once its server has crashed (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    for (const taskId of ['kept', 'lost']) await world.begin(client, taskId);
    world.core.server().crash();
    await world.core.settle();
    expect(await world.get(client, 'lost')).toMatchObject({ error: { code: -32602, message: 'Task not found' } });
    const others = world.core.connect({ uid: 1001 });
    expect(await world.get(others, 'kept')).toMatchObject({ error: { code: -32602 } });
    expect(await world.get(client, 'kept')).toMatchObject({ result: { taskId: 'kept' } });
  });

  test('does not exist at a server of 2025, which is not asked', async () => {
    const core = new CoreInMemory();
    core.server().declare({ tools: {}, tasks: {} });
    const world = new World();
    const client = core.connect();
    const _meta = { [`${PREFIX}protocolVersion`]: '2026-07-28', [`${PREFIX}clientCapabilities`]: TAKES_TASKS };
    for (const id of [1, 2]) {
      client.say({ jsonrpc: '2.0', id, method: 'tasks/get', params: { _meta, taskId: 't1' } });
      await core.settle();
      expect(client.answersTo(id)).toMatchObject([{ error: { code: -32602 } }]);
    }
    const [version = ''] = ERA_2025.versions;
    const found = {
      era: ERA_2025,
      version,
      versions: [version],
      probe: 'answered',
      program: '',
      serverInfo: '',
    } as const;
    core.server().instance.known.noteEra(found);
    core.server().crash();
    await core.settle();
    client.say({ jsonrpc: '2.0', id: 3, method: 'tasks/get', params: { _meta, taskId: 't1' } });
    await core.settle();
    expect(client.answersTo(3)).toMatchObject([{ error: { code: -32602 } }]);
    expect(core.server().starts).toBe(1); // it is not started for that
    expect(core.server().requests.filter(({ method }) => method === 'tasks/get')).toEqual([]);
    expect([core.openCalls, world.core.openCalls]).toEqual([0, 0]);
  });

  test('with a long id is kept by a digest, and told apart from another', async () => {
    const world = new World();
    const client = world.core.connect();
    const long = 'x'.repeat(5_000);
    expect(await world.begin(client, long)).toBe(long);
    expect(await world.get(world.core.connect(), long)).toMatchObject({ result: { taskId: long } });
    const others = world.core.connect({ uid: 1001 });
    expect(await world.get(others, long)).toMatchObject({ error: { code: -32602 } });
    expect(await world.get(others, `${long}y`)).toMatchObject({ result: {} });
  });
});

describe('tasks of several servers', () => {
  const two = (): World => new World({ servers: ['one', 'two'] });
  const begin = (world: World, client: TestClient, server: string, view: string): Promise<string> =>
    view === 'all'
      ? world.begin(client, 't', {}, { view, params: { name: `${server}__tool` } })
      : world.begin(
          client,
          't',
          {},
          {
            view,
            params: { name: 'execute_tool', arguments: { server, tool: 'tool', arguments: { taskId: 't' } } },
          },
        );

  test.each(['all', 'discover'])('of the same id are told apart in the view %s (G2, H1)', async (view) => {
    const world = two();
    const client = world.core.connect();
    const ids = [await begin(world, client, 'one', view), await begin(world, client, 'two', view)];
    expect(ids).toEqual(['one__t', 'two__t']);
    for (const [i, name] of ['one', 'two'].entries()) {
      const asked = { view, params: { taskId: ids[i], inputResponses: {} } };
      expect(await world.get(world.core.connect(), ids[i] ?? '', { view })).toMatchObject({
        result: { taskId: ids[i] },
      });
      for (const method of ['tasks/update', 'tasks/cancel'])
        expect(await world.ask(client, method, asked)).toMatchObject({ result: { resultType: 'complete' } });
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
        expect(world.askedOf(method, name)).toEqual(['t']);
    }
  });

  test('have their own ids in the views of one server (G2, H1)', async () => {
    const world = two();
    const client = world.core.connect();
    await begin(world, client, 'one', 'all');
    const views = ['server:one', 'all', 'server:two'].map((view) => ({ view }));
    const answers = [
      await world.get(client, 't', views[0]),
      await world.get(client, 't', views[1]),
      await world.get(client, 'one__t', views[1]),
      await world.get(client, 'one__t', views[2]),
    ];
    expect(answers.map((answer) => answer?.error?.code ?? answer?.result?.taskId)).toEqual([
      't',
      -32602,
      'one__t',
      'one__t',
    ]);
    expect([world.askedOf('tasks/get', 'one'), world.askedOf('tasks/get', 'two')]).toEqual([['t', 't'], ['one__t']]);
  });

  test.each(['one', 'nobody__t', '', '__t'])('a joined id %j that names no server has no task', async (taskId) => {
    const world = two();
    const client = world.core.connect();
    expect(await world.get(client, taskId, { view: 'all' })).toMatchObject({ error: { code: -32602 } });
  });
});

describe('two processes of one server', () => {
  /** Each of these clients has an instance of its own. */
  async function divided(): Promise<{ world: World; clients: TestClient[] }> {
    const world = new World({ definition: { sharing: 'dedicated' } });
    return { world, clients: [world.core.connect(), world.core.connect()] };
  }
  const gets = ({ requests }: TestInstance): number => requests.filter(({ method }) => method === 'tasks/get').length;

  test('may give the same id to two clients of one user: each has its own task', async () => {
    const { world, clients } = await divided();
    for (const client of clients) await world.begin(client, 't');
    for (const client of clients) expect(await world.get(client, 't')).toMatchObject({ result: { taskId: 't' } });
    expect(world.core.server().instances.map(gets)).toEqual([1, 1]);
  });

  test('are not mixed up when one of them has gone: the task is asked of the client’s own', async () => {
    const { world, clients } = await divided();
    const [first = world.core.connect(), second = world.core.connect()] = clients;
    await world.begin(first, 'kept');
    await world.begin(second, 't');
    const [one, two] = world.core.server().instances;
    one?.crash();
    await world.core.settle();
    expect(await world.get(second, 'kept')).toMatchObject({ result: { taskId: 'kept' } });
    expect([one, two].map((each) => each && gets(each))).toEqual([0, 1]);
  });

  test('leave a third client without an answer that could be the wrong one', async () => {
    const { world, clients } = await divided();
    for (const client of clients) await world.begin(client, 't');
    expect(await world.get(world.core.connect(), 't')).toMatchObject({ error: { code: -32602 } });
  });
});

describe('a server with a new definition', () => {
  const define = (world: World): void => {
    const before = world.core.server();
    world.core.redefine(['memory'], ['memory']);
    const { era, hello, answers } = before;
    Object.assign(world.core.server(), { era, hello, answers });
  };

  test('works on its tasks to their end: they are asked of the process that has them', async () => {
    const world = new World();
    const client = world.core.connect();
    await world.begin(client, 't');
    const [before] = world.core.server().instances;
    define(world);
    await world.core.settle();
    expect(await world.get(client, 't')).toMatchObject({ result: { taskId: 't' } });
    expect(before?.requests.filter(({ method }) => method === 'tasks/get')).toHaveLength(1);
    expect(before?.isRetired).toBe(false);
  });

  test('gets requests about unknown tasks under its new definition', async () => {
    const world = new World();
    world.core.server().opensByItself = false;
    const client = world.core.connect();
    const asked = world.get(client, 'from before');
    await asked;
    define(world);
    await world.core.settle();
    expect(client.received).toMatchObject([{ result: { taskId: 'from before' } }]);
  });
});

describe('a server with a task', () => {
  const isBusy = (world: World): boolean => world.core.server().instance.isBusy;

  test('has work to do until the task is read to its end, cancelled, lost, or its time is up (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    await world.begin(client, 't');
    await world.get(client, 't');
    expect(isBusy(world)).toBe(true);
    await world.ask(client, 'tasks/cancel', { params: { taskId: 't' } });
    expect(isBusy(world)).toBe(false);
    await world.begin(client, 'done');
    expect(isBusy(world)).toBe(true);
    await world.get(client, 'done');
    expect(isBusy(world)).toBe(false);
    await world.begin(client, 'lost');
    await world.get(client, 'lost');
    expect(isBusy(world)).toBe(false);
    await world.begin(client, 'late');
    world.core.clock.advance(59_000);
    expect(isBusy(world)).toBe(true);
    world.core.clock.advance(2_000);
    expect(isBusy(world)).toBe(false);
    world.core.clock.advance(60_000);
    expect(world.core.ownedTasks.size).toBe(0);
  });

  test('works on a task without a time for as long as somebody asks, and an hour more', async () => {
    const world = new World();
    const client = world.core.connect();
    world.core.server().answers = (request) =>
      request.method === 'tasks/get'
        ? { result: { resultType: 'complete', taskId: 't', status: 'working', ttlMs: null } }
        : answerOf(request);
    await world.begin(client, 't', { ttlMs: null });
    for (let hours = 0; hours < 3; hours++) {
      world.core.clock.advance(3_500_000);
      expect(isBusy(world)).toBe(true);
      await world.get(client, 't');
    }
    world.core.clock.advance(3_700_000);
    expect(isBusy(world)).toBe(false);
  });

  test('has at most so many that are known; the oldest is forgotten (H1)', async () => {
    const world = new World({ limits: { maxTasksPerServer: 3 } });
    const client = world.core.connect();
    for (const taskId of ['a', 'b', 'c', 'd']) await world.begin(client, taskId);
    expect([world.core.ownedTasks.size, world.core.counters.tasksForgotten]).toEqual([3, 1]);
    for (let deaths = 0; deaths < 3; deaths++) {
      world.core.server().crash();
      await world.core.settle();
      for (const taskId of ['a', 'b', 'c']) await world.begin(client, `${deaths} ${taskId}`);
      expect(world.core.ownedTasks.size).toBeLessThanOrEqual(6);
    }
  });
});

describe('a client that listens to tasks', () => {
  test('gets notices about its own tasks, under its ids, as far as the server acknowledges (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    for (const taskId of ['a', 'b', 'c']) await world.begin(client, taskId);
    const id = await world.listen(client, ['a', 'b']);
    expect(world.listens().at(-1)?.params).toMatchObject({
      notifications: { taskIds: ['a', 'b'] },
      _meta: { [`${PREFIX}clientCapabilities`]: TAKES_TASKS },
    });
    expect(client.notifications(ACKNOWLEDGED)).toEqual([]);
    await acknowledge(world, { taskIds: ['a'] });
    expect(honouredBy(client)).toEqual([{ taskIds: ['a'] }]);
    const result = { content: [{ type: 'text', text: 'Grüße' }], number: 1.5 };
    await world.tell('a', { status: 'completed', result });
    for (const taskId of ['b', 'c', 'd']) await world.tell(taskId, { status: 'working' });
    expect(client.notifications('notifications/tasks')).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/tasks',
        params: { taskId: 'a', ttlMs: null, status: 'completed', result, _meta: { [ID]: id } },
      },
    ]);
  });

  test('hears of nothing that others listen to (H1)', async () => {
    const world = new World();
    const [client, other, foreign] = [world.core.connect(), world.core.connect(), world.core.connect({ uid: 1001 })];
    for (const taskId of ['a', 'b']) await world.begin(client, taskId);
    const first = await world.listen(client, ['a']);
    await acknowledge(world);
    const second = await world.listen(client, ['a', 'b']);
    await acknowledge(world);
    await world.begin(foreign, 'f');
    await world.listen(other, ['b', 'f']);
    await world.listen(foreign, ['a', 'b']);
    await acknowledge(world);
    expect([honouredBy(other), honouredBy(foreign)]).toEqual([[{ taskIds: ['b'] }], [{}]]);
    await world.tell('a', { status: 'working' });
    expect([heardBy(client), heardBy(other), heardBy(foreign)]).toEqual([
      [
        [first, 'a', 'working'],
        [second, 'a', 'working'],
      ],
      [],
      [],
    ]);
    client.cancel(first);
    await world.core.settle();
    client.cancel(second);
    await world.core.settle();
    await world.core.pass(20);
    expect(world.listens().at(-1)?.params?.notifications).toEqual({ taskIds: ['b'] });
  });

  test('without having declared the extension is refused (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    const id = await world.listen(client, ['a'], { capabilities: {} });
    expect(client.answersTo(id)).toMatchObject([{ error: REQUIRED }]);
    expect(world.core.openCalls).toBe(0);
  });

  test.each(['a', [1], {}])('with the list %j is refused', async (taskIds) => {
    const world = new World();
    const client = world.core.connect();
    const id = await world.listen(client, taskIds as string[]);
    expect(client.answersTo(id)).toMatchObject([{ error: { code: -32602 } }]);
  });

  test('hears of them by their joined ids, of the right server (G2, H1)', async () => {
    const world = new World({ servers: ['one', 'two'] });
    const client = world.core.connect();
    for (const name of ['one', 'two'])
      await world.begin(client, 't', {}, { view: 'all', params: { name: `${name}__tool` } });
    const id = await world.listen(client, ['two__t', 'one__t', 'none__t'], { view: 'all' });
    for (const name of ['one', 'two']) {
      expect(world.listens(name).at(-1)?.params?.notifications).toEqual({ taskIds: ['t'] });
      await acknowledge(world, undefined, name);
    }
    expect(honouredBy(client)).toEqual([{ taskIds: ['two__t', 'one__t'] }]);
    await world.tell('t', { status: 'input_required', inputRequests: {} }, 'two');
    await world.tell('t', { status: 'working' }, 'one');
    expect(heardBy(client)).toEqual([
      [id, 'two__t', 'input_required'],
      [id, 'one__t', 'working'],
    ]);
  });

  test('gets earlier changes after the acknowledgement, with their present state (H1)', async () => {
    const world = new World({ servers: ['one', 'two'] });
    const client = world.core.connect();
    for (const name of ['one', 'two'])
      await world.begin(client, 't', {}, { view: 'all', params: { name: `${name}__tool` } });
    const id = await world.listen(client, ['one__t', 'two__t'], { view: 'all' });
    await acknowledge(world, undefined, 'one');
    await world.tell('t', { status: 'input_required' }, 'one');
    expect(client.notifications('notifications/tasks')).toEqual([]);
    await acknowledge(world, {}, 'two');
    expect(honouredBy(client)).toEqual([{ taskIds: ['one__t'] }]);
    expect(client.notifications('notifications/tasks').map(({ params }) => params)).toEqual([
      { status: 'working', ttlMs: 60_000, taskId: 'one__t', _meta: { [ID]: id } },
    ]);
  });

  test('gets one notice for all changes while it did not read', async () => {
    const world = new World({ limits: { maxQueuedBytesPerClient: 1_000_000 } });
    const client = world.core.connect();
    await world.begin(client, 'a');
    await world.listen(client, ['a']);
    await acknowledge(world);
    client.link.block();
    const statusMessage = 'x'.repeat(600_000);
    for (let i = 0; i < 20; i++) await world.tell('a', { status: 'working', statusMessage });
    client.link.unblock();
    await world.core.settle();
    const heard = client.notifications('notifications/tasks').map(({ params }) => params?.statusMessage);
    expect(heard.length).toBeLessThan(6);
    expect(heard.at(-1)).toBeUndefined();
  });

  test('gets possible changes after the server ended its listen', async () => {
    const world = new World();
    const client = world.core.connect();
    await world.begin(client, 'a');
    const id = await world.listen(client, ['a']);
    await acknowledge(world);
    const result = { resultType: 'complete', _meta: {} };
    world.core.server().say({ jsonrpc: '2.0', id: world.listens().at(-1)?.id, result });
    await world.core.settle();
    world.core.clock.advance(1_000);
    await world.core.settle();
    await acknowledge(world);
    expect(heardBy(client)).toEqual([[id, 'a', 'working']]);
  });

  test('does not prevent others from listening if the server refuses its task', async () => {
    const world = new World();
    const [client, other] = [world.core.connect(), world.core.connect()];
    for (const taskId of ['a', 'b']) await world.begin(client, taskId);
    await world.listen(client, ['a']);
    await acknowledge(world);
    await world.listen(other, ['b']);
    const refused = { jsonrpc: '2.0', id: world.listens().at(-1)?.id, error: { code: -32602, message: 'No' } };
    world.core.server().say(refused);
    await world.core.settle();
    expect(honouredBy(other)).toEqual([{}]);
    const listen = world.listens().find(({ params }) => JSON.stringify(params?.notifications) === '{"taskIds":["a"]}');
    world.core.server().say({
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: { _meta: { [ID]: listen?.id }, taskId: 'a', status: 'working' },
    });
    await world.core.settle();
    expect(heardBy(client)).toHaveLength(1);
  });

  test('does not prevent list notices if the server refuses its task when it is listened to again', async () => {
    const world = new World();
    world.core.server().declare({ tools: { listChanged: true }, extensions: { [EXTENSION]: {} } });
    const client = world.core.connect();
    await world.begin(client, 'a');
    await acknowledge(world);
    await world.listen(client, ['a']);
    await acknowledge(world);
    const answer = (members: object): void =>
      world.core.server().say({ jsonrpc: '2.0', id: world.listens().at(-1)?.id, ...members });
    answer({ result: { resultType: 'complete' } });
    await world.core.settle();
    await world.core.pass(1_000);
    expect(world.listens().at(-1)?.params?.notifications).toMatchObject({ taskIds: ['a'] });
    answer({ error: { code: -32602, message: 'No such task' } });
    await world.core.settle();
    await world.core.pass(4_000);
    expect(world.listens().at(-1)?.params?.notifications).toEqual({ toolsListChanged: true });
  });

  test('hears nothing of tasks that died with their server (H1)', async () => {
    const world = new World();
    const client = world.core.connect();
    await world.begin(client, 'a');
    await world.listen(client, ['a']);
    await acknowledge(world);
    world.core.server().crash();
    await world.core.settle();
    await world.begin(client, 'other');
    await acknowledge(world, {});
    world.core
      .server()
      .say({ jsonrpc: '2.0', method: 'notifications/tasks', params: { taskId: 'a', status: 'working' } });
    await world.core.settle();
    expect(heardBy(client)).toEqual([]);
  });
});
