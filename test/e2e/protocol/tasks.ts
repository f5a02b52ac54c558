// Calls that are worked on after they were answered.

import { expect } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import type { Message } from '../../support/raw-client.ts';
import { type ProtocolScenario, ready, untilSeen } from './scenario.ts';

const STATUS = 'notifications/tasks/status';
const PROGRESS = 'notifications/progress';
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** Begins one; its id. */
async function begin(client: McpClient, meta?: object): Promise<string> {
  const rest = { task: { ttl: 60_000 }, ...(meta === undefined ? {} : { _meta: meta }) };
  const { result } = await client.call('work', {}, rest);
  return (result?.task as { taskId: string } | undefined)?.taskId ?? '';
}

const advance = (client: McpClient, taskId: string, to: string): Promise<Message> =>
  client.call('advance', { taskId, to });

/** Has the server ask the client, which does not answer yet. */
async function beginAsking(client: McpClient): Promise<{ call: number; id: unknown }> {
  const call = client.beginCall('ask', { method: 'elicitation/create', params: {} });
  const { id } = await client.told('elicitation/create');
  return { call, id };
}

async function listed(client: McpClient): Promise<string[]> {
  const ids: string[] = [];
  let cursor: unknown;
  do {
    const { result } = await client.request('tasks/list', cursor === undefined ? {} : { cursor });
    ids.push(...((result?.tasks ?? []) as { taskId: string }[]).map(({ taskId }) => taskId));
    cursor = result?.nextCursor;
  } while (cursor !== undefined);
  return ids;
}

export const TASK_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'a call becomes a task, which its owner may ask for, wait for, and hear of',
    shows: ['task-create', 'tasks/get', 'tasks/result', 'task-status'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const { result } = await client.call('work', {}, { task: { ttl: 60_000 } });
      expect(result).toMatchObject({ task: { taskId: expect.any(String), status: 'working', ttl: 60_000 } });
      const task = result?.task as { taskId: string };
      const { taskId } = task;
      expect((await client.request('tasks/get', { taskId })).result).toEqual(task);
      const waiting = client.begin('tasks/result', { taskId });
      await advance(client, taskId, 'completed');
      expect((await client.told(STATUS)).params).toEqual({ ...task, status: 'completed' });
      const content = [{ type: 'text', text: 'worked' }];
      const expected = { content, _meta: { [RELATED_TASK]: { taskId } } };
      expect((await client.answerTo(waiting)).result).toEqual(expected);
      expect((await client.request('tasks/result', { taskId })).result).toEqual(expected);
    },
  },
  {
    title: 'a call of the same tool that asks for no task gets its result',
    shows: ['tools/call'],
    isIndependent: true,
    async run(peer) {
      expect(await (await ready(peer)).text('work')).toBe('worked');
    },
  },
  {
    title: 'the error of a task that has failed is what its result is asked for',
    shows: ['tasks/result', 'error'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const taskId = await begin(client);
      await advance(client, taskId, 'failed');
      expect((await client.request('tasks/result', { taskId })).error).toEqual({
        code: -32000,
        message: 'The task has failed',
        data: { _meta: { [RELATED_TASK]: { taskId } } },
      });
    },
  },
  {
    title: 'a task is cancelled by its owner, once',
    shows: ['tasks/cancel'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const taskId = await begin(client);
      expect((await client.request('tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' });
      expect((await client.request('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' });
      expect((await client.request('tasks/cancel', { taskId })).error?.code).toBe(-32602);
    },
  },
  {
    title: 'progress of a task comes under the token of the call that began it, long after that was answered',
    shows: ['task-progress', 'progress'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const taskId = await begin(client, { progressToken: 'mine' });
      const other = await begin(client, { progressToken: 7 });
      for (const id of [taskId, other, taskId]) await advance(client, id, 'progress');
      const _meta = { [RELATED_TASK]: { taskId } };
      expect(client.untaken(PROGRESS).map(({ params }) => params)).toEqual([
        { progressToken: 'mine', progress: 1, _meta },
        { progressToken: 7, progress: 1, _meta: { [RELATED_TASK]: { taskId: other } } },
        { progressToken: 'mine', progress: 2, _meta },
      ]);
    },
  },
  {
    title: 'all tasks of a client are listed, page by page; a task or cursor that is none gets the error -32602',
    shows: ['tasks/list', 'tasks/get', 'cursor-empty'],
    async run(peer) {
      const client = await ready(peer);
      const ids = [];
      for (let n = 0; n < 5; n++) ids.push(await begin(client));
      expect((await listed(client)).sort()).toEqual(ids);
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
        expect((await client.request(method, { taskId: 'none' })).error?.code).toBe(-32602);
      expect((await client.request('tasks/list', { cursor: 'nowhere' })).error?.code).toBe(-32602);
    },
  },
  {
    title: 'what a task asks its client says which task it is for, and the answer is part of the result',
    shows: ['related-task', 'elicitation/create'],
    async run(peer) {
      const client = await ready(peer, { elicitation: {} });
      const taskId = await begin(client);
      await advance(client, taskId, 'input');
      const question = await client.told('elicitation/create');
      expect(question.params).toEqual({ message: `About ${taskId}`, _meta: { [RELATED_TASK]: { taskId } } });
      expect((await client.request('tasks/get', { taskId })).result).toMatchObject({ status: 'input_required' });
      client.send({ id: question.id, result: { action: 'accept', content: { n: 1 } } });
      await advance(client, taskId, 'completed');
      const { result } = await client.request('tasks/result', { taskId });
      expect(result?.content).toEqual([{ type: 'text', text: '{"action":"accept","content":{"n":1}}' }]);
    },
  },
  {
    title: 'the status of a task that comes before the answer to its call reaches its owner',
    shows: ['task-status-early'],
    async run(peer) {
      const client = await ready(peer);
      const { result } = await client.call('work', { isEarly: true }, { task: { ttl: 60_000 } });
      expect((await client.told(STATUS)).params).toEqual(result?.task);
    },
  },
  {
    title: 'a list of tasks has no empty page with a cursor, however many tasks others have',
    shows: ['page-empty', 'tasks/list'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other, none] = [await ready(peer), await ready(peer), await ready(peer)];
      for (let n = 0; n < 5; n++) await begin(other);
      const taskId = await begin(one);
      for (const [client, expected] of [
        [one, [taskId]],
        [none, []],
      ] as const) {
        const { result } = await client.request('tasks/list', {});
        expect(result?.tasks).toEqual(expected.map((id) => expect.objectContaining({ taskId: id })));
        expect(result?.nextCursor).toBeUndefined();
      }
    },
  },
  {
    title: "to others a client's task does not exist",
    shows: ['task-own', 'tasks/list', 'task-status', 'task-progress'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other] = [await ready(peer), await ready(peer)];
      const mine = [await begin(one, { progressToken: 1 }), await begin(one), await begin(one)];
      const theirs = [await begin(other, { progressToken: 1 })];
      const [taskId] = mine;
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
        expect((await other.request(method, { taskId })).error?.code).toBe(-32602);
      expect((await listed(one)).sort()).toEqual(mine);
      expect(await listed(other)).toEqual(theirs);
      for (const to of ['progress', 'working', 'completed']) await other.call('advance', { taskId, to });
      await one.told(PROGRESS);
      for (const status of ['working', 'completed'])
        expect((await one.told(STATUS)).params).toMatchObject({ taskId, status });
      for (const method of [PROGRESS, STATUS]) expect(other.untaken(method)).toEqual([]);
      expect((await one.request('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'completed' });
    },
  },
  {
    title: 'what a task asks goes to its owner, also while another client has a call under way',
    shows: ['related-task', 'elicitation-own'],
    needs: ['sharing'],
    setup: { sharing: 'shared' },
    async run(peer) {
      const [one, other] = [await ready(peer, { elicitation: {} }), await ready(peer, { elicitation: {} })];
      const taskId = await begin(one);
      await advance(other, taskId, 'input');
      const { id, params } = await one.told('elicitation/create');
      expect(params).toMatchObject({ _meta: { [RELATED_TASK]: { taskId } } });
      one.send({ id, result: { action: 'decline' } });
      await advance(one, taskId, 'completed');
      const { result } = await one.request('tasks/result', { taskId });
      expect(result?.content).toEqual([{ type: 'text', text: '{"action":"decline"}' }]);
      expect(other.untaken('elicitation/create')).toEqual([]);
    },
  },
  {
    title: "a task is asked for, listed and cancelled while another client's conversation goes on",
    shows: ['tasks/get', 'tasks/list', 'tasks/cancel'],
    needs: ['sharing'],
    setup: { sharing: 'shared' },
    async run(peer) {
      const [one, other] = [await ready(peer, { elicitation: {} }), await ready(peer, { elicitation: {} })];
      const taskId = await begin(one);
      const { call, id } = await beginAsking(other);
      expect((await one.request('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'working' });
      expect(await listed(one)).toEqual([taskId]);
      expect((await one.request('tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' });
      other.send({ id, result: { action: 'decline' } });
      await other.answerTo(call);
    },
  },
  {
    title:
      'the result of a task is waited for at the process that works on it, also when its client has got another one',
    shows: ['tasks/result'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other] = [await ready(peer, { elicitation: {} }), await ready(peer, { elicitation: {} })];
      const taskId = await begin(one);
      await advance(one, taskId, 'completed');
      const asked = await beginAsking(other);
      other.send({ id: asked.id, result: { action: 'decline' } });
      await other.answerTo(asked.call);
      const open = await beginAsking(other);
      const waiting = one.begin('tasks/result', { taskId });
      const { call, id } = await beginAsking(one); // at another process: the first is engaged
      one.send({ id, result: { action: 'decline' } });
      await one.answerTo(call);
      other.send({ id: open.id, result: { action: 'decline' } });
      await other.answerTo(open.call);
      expect((await one.answerTo(waiting)).result).toMatchObject({ content: [{ text: 'worked' }] });
    },
  },
  {
    title: 'the tasks of a client that goes are cancelled',
    shows: ['task-gone'],
    needs: ['sharing'],
    async run(peer) {
      const [one, other] = [await ready(peer), await ready(peer)];
      const taskId = await begin(one);
      const kept = await begin(other);
      one.raw.destroy();
      const { tasks } = await untilSeen(other, ({ tasks }) => tasks.length > 0);
      expect(tasks).toEqual([{ method: 'tasks/cancel', taskId }]);
      expect((await other.request('tasks/get', { taskId: kept })).result).toMatchObject({ status: 'working' });
    },
  },
];
