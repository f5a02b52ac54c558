// Tasks between a client and a server of 2026-07-28, over the socket and through `connect`: the server is a process, or one at a URL.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Message, RawClient, textOf } from '../support/raw-client.ts';
import { cleanUp, PROGRAM, ROOT, TestDaemon } from '../support/test-daemon.ts';

const SERVER = join(ROOT, 'test/fixtures/servers/tasks-of-2026.mjs');
const PREFIX = 'io.modelcontextprotocol/';
const TAKES_TASKS = { extensions: { [`${PREFIX}tasks`]: {} } };
const ID = `${PREFIX}subscriptionId`;

let daemon: TestDaemon;
const children: ReturnType<typeof spawn>[] = [];

async function servedAt(): Promise<string> {
  const child = spawn(process.execPath, [SERVER, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [port] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return `http://127.0.0.1:${port.trim()}/mcp`;
}

beforeAll(async () => {
  const local = { command: process.execPath, args: [SERVER] };
  const mcpServers = {
    local,
    other: { ...local, env: { OTHER: '1' } },
    remote: { type: 'http', url: await servedAt() },
  };
  daemon = await TestDaemon.start({ client: { view: 'server:local' }, mcpServers, results: { maxBytes: 100_000 } });
});
afterAll(async () => {
  await daemon.stop();
  for (const child of children) {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill();
    await ended;
  }
  expect(cleanUp()).toEqual([]);
});

/** A client that says in each request who asks. */
class TaskClient {
  readonly #raw: RawClient;
  readonly #view: string | undefined;
  #ids = 0;

  constructor(raw: RawClient, view?: string) {
    this.#raw = raw;
    this.#view = view;
  }
  static async over(view?: string): Promise<TaskClient> {
    return new TaskClient(await RawClient.connect(daemon.path), view);
  }
  /** One that has `connect` between itself and the socket. */
  static through(view: string): TaskClient {
    const args = [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path, '--view', view];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    children.push(child);
    return new TaskClient(new RawClient(child.stdout, child.stdin));
  }

  /** Sends a request, and returns its id. */
  send(method: string, params: object, capabilities: object = TAKES_TASKS): string {
    const _meta = {
      [`${PREFIX}protocolVersion`]: '2026-07-28',
      [`${PREFIX}clientCapabilities`]: capabilities,
      ...(this.#view !== undefined && { 'mcp-bridge/view': this.#view }),
    };
    const id = `r${++this.#ids}`;
    this.#raw.send({ jsonrpc: '2.0', id, method, params: { _meta, ...params } });
    return id;
  }
  ask(method: string, params: object, capabilities?: object): Promise<Message> {
    return this.#raw.answerTo(this.send(method, params, capabilities));
  }
  /** The client's id of the task that a call of this tool becomes. */
  async begin(name: string, args: object = {}): Promise<string> {
    const { result } = await this.ask('tools/call', { name, arguments: args });
    expect(result).toMatchObject({ resultType: 'task', status: 'working' });
    return String(result?.taskId);
  }
  async statusOf(taskId: string): Promise<unknown> {
    const { result, error } = await this.ask('tasks/get', { taskId });
    if (result !== undefined) expect(result.taskId).toBe(taskId);
    return result?.status ?? error?.code;
  }
  next(): Promise<Message> {
    return this.#raw.next();
  }
  close(): void {
    this.#raw.destroy();
  }
}

describe.each([
  ['over the socket', (view: string) => TaskClient.over(view)],
  ['through connect', (view: string) => Promise.resolve(TaskClient.through(view))],
])('a task %s', (_, clientIn) => {
  test('asks for input, gets it, and ends with the result of its call (H1)', async () => {
    const client = await clientIn('server:local');
    const taskId = await client.begin('confirm_delete', { filename: 'a.txt' });
    const asking = await client.ask('tasks/get', { taskId });
    expect(asking.result).toMatchObject({
      status: 'input_required',
      inputRequests: { confirm: { method: 'elicitation/create', params: { message: 'Delete a.txt?' } } },
    });
    const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } };
    expect((await client.ask('tasks/update', { taskId, inputResponses })).result).toMatchObject({
      resultType: 'complete',
    });
    const done = await client.ask('tasks/get', { taskId });
    expect(done.result?.status).toBe('completed');
    expect(JSON.parse(textOf({ result: done.result?.result as Record<string, unknown> }))).toEqual(inputResponses);
    client.close();
  });

  test.each(['discover', 'all'])(
    'has its long result cut where it is asked for in %s, and whole in a notice',
    async (view) => {
      const client = await clientIn(view);
      const call = { filename: 'a.txt' };
      const taskId =
        view === 'all'
          ? await client.begin('local__confirm_delete', call)
          : await client.begin('execute_tool', { server: 'local', tool: 'confirm_delete', arguments: call });
      const id = client.send('subscriptions/listen', { notifications: { taskIds: [taskId] } });
      expect((await client.next()).method).toBe('notifications/subscriptions/acknowledged');
      const words = `${'some words, '.repeat(10_000)}the end`;
      const inputResponses = { confirm: { action: 'accept', content: { confirm: true, words } } };
      client.send('tasks/update', { taskId, inputResponses });
      const heard: Message[] = [];
      const isWhole = ({ params }: Message): boolean => params?.status === 'completed';
      while (!heard.some(isWhole)) heard.push(await client.next());
      const text = JSON.stringify(inputResponses);
      expect(heard.find(isWhole)?.params).toMatchObject({
        _meta: { [ID]: id },
        taskId,
        result: { content: [{ text }] },
      });
      const done = (await client.ask('tasks/get', { taskId })).result ?? {};
      expect(done).toMatchObject({ taskId, status: 'completed' });
      const { content } = done.result as { content: { text: string }[] };
      expect(text.startsWith(content[0]?.text ?? '-')).toBe(true);
      expect(content[1]?.text).toContain('This result was cut');
      const read = JSON.parse(/\{"id".*?\}/.exec(content[1]?.text ?? '')?.[0] ?? '{}') as object;
      const rest = await client.ask('tools/call', { name: 'read_result', arguments: read });
      expect(textOf(rest)).toContain('the end"}}}\n[mcp-bridge: ');
      client.close();
    },
  );

  test('is reported to its owner, who listens to it (H1)', async () => {
    const client = await clientIn('server:local');
    const other = await clientIn('server:local');
    const [taskId, unheard] = [await client.begin('slow_compute', { seconds: 60 }), await client.begin('multi_input')];
    const id = client.send('subscriptions/listen', { notifications: { taskIds: [taskId, 'nobody’s'] } });
    expect(await client.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: { [ID]: id }, notifications: { taskIds: [taskId] } },
    });
    for (const finished of [unheard, taskId])
      await other.ask('tools/call', { name: 'finish', arguments: { taskId: finished, text: 'Grüße' } });
    expect(await client.next()).toMatchObject({
      method: 'notifications/tasks',
      params: { _meta: { [ID]: id }, taskId, status: 'completed', result: { content: [{ text: 'Grüße' }] } },
    });
    for (const one of [client, other]) one.close();
  });

  test.each(['all', 'discover'])('goes to its own server in the view %s (G2, H1)', async (view) => {
    const client = await clientIn(view);
    const ids: string[] = [];
    for (const server of ['local', 'other', 'remote']) {
      const call = { name: `${server}__rude`, arguments: { taskId: `same ${view}` } };
      const execution = { name: 'execute_tool', arguments: { server, tool: 'rude', arguments: call.arguments } };
      const { result } = await client.ask('tools/call', view === 'all' ? call : execution);
      ids.push(String(result?.taskId));
    }
    expect(new Set(ids).size).toBe(3);
    const [first = '', second = ''] = ids;
    await client.ask('tasks/cancel', { taskId: second });
    expect(await Promise.all([client.statusOf(first)])).toEqual(['working']);
    expect(await client.statusOf(second)).toBe('cancelled');
    expect(await client.statusOf(ids[2] ?? '')).toBe('working');
    client.close();
  });
});

test('a task is asked for on another connection, after the one that began it has gone (H1)', async () => {
  const client = await TaskClient.over();
  const taskId = await client.begin('slow_compute', { seconds: 60 });
  client.close();
  const later = await TaskClient.over();
  expect(await later.statusOf(taskId)).toBe('working');
  await later.ask('tasks/cancel', { taskId });
  expect(await later.statusOf(taskId)).toBe('cancelled');
  later.close();
});

test('a client that takes no tasks gets none, and may not ask for any (H1)', async () => {
  const client = await TaskClient.over();
  const required = { code: -32021, data: { requiredCapabilities: TAKES_TASKS } };
  const taskId = await client.begin('slow_compute', { seconds: 60 });
  const asked = ['tasks/get', 'tasks/update', 'tasks/cancel'].map((method) => [method, { taskId, inputResponses: {} }]);
  const calls = [
    ['subscriptions/listen', { notifications: { taskIds: [taskId] } }],
    ['tools/call', { name: 'failing_job' }],
  ];
  for (const [method, params] of [...asked, ...calls] as [string, object][])
    expect((await client.ask(method, params, {})).error).toMatchObject(required);
  const rude = await client.ask('tools/call', { name: 'rude', arguments: { taskId: 'rude' } }, {});
  expect(rude.error).toMatchObject({ code: -32603, data: { code: 'SERVER_ANSWER_REFUSED' } });
  expect(await client.statusOf('rude')).toBe('cancelled');
  client.close();
});

test('a task of a server that has crashed does not exist for the next process of it (H1)', async () => {
  const client = await TaskClient.over('server:other');
  const taskId = await client.begin('slow_compute', { seconds: 60 });
  const id = client.send('subscriptions/listen', { notifications: { taskIds: [taskId] } });
  expect((await client.next()).params).toMatchObject({ notifications: { taskIds: [taskId] } });
  expect((await client.ask('tools/call', { name: 'exit' })).error?.data?.code).toBe('SERVER_CRASHED');
  expect((await client.ask('tasks/get', { taskId })).error).toMatchObject({ code: -32602, message: /Task not found/ });
  expect(id).toBe('r2'); // and nothing was heard under it
  client.close();
});

test('a server at a URL is told in Mcp-Name which task a request is about (H1)', async () => {
  const client = await TaskClient.over('all');
  const taskId = await client.begin('remote__multi_input');
  const own = taskId.slice('remote__'.length);
  await client.ask('tasks/get', { taskId });
  await client.ask('tasks/update', { taskId, inputResponses: {} });
  await client.ask('tasks/cancel', { taskId });
  const seen = JSON.parse(textOf(await client.ask('tools/call', { name: 'remote__seen' }))) as unknown[];
  const ofTask = seen.filter((each) => Array.isArray(each) && each[1] === own);
  expect(ofTask).toEqual(['tasks/get', 'tasks/update', 'tasks/cancel'].map((method) => [method, own]));
  client.close();
});
