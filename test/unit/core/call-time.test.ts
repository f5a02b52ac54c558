// How long calls may take: by default as long as the client wants, within an hour; and how long one keeps the lane from others.

import { describe, expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { CoreInMemory, type CoreOptions, type TestClient } from '../../support/core-in-memory.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const ABLE = { capabilities: { elicitation: {} } };

const errorsOf = (client: TestClient, id: string): unknown[] =>
  client
    .answersTo(id)
    .map(({ error }) => error && { code: error.data?.code, message: error.message, data: error.data });

describe('a call', () => {
  test('that takes 40 s without progress gets its answer', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call('slow');
    await core.pass(40 * SECOND);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(client.answersTo('slow')).toMatchObject([{ result: {} }]);
  });

  test('that takes longer than an hour ends with an error that says so, despite progress', async () => {
    const core = new CoreInMemory();
    const client = await core.ready();
    client.call('endless', {}, { progressToken: 1 });
    await core.settle();
    const [request] = core.server().requests;
    const params = { progressToken: request?.id, progress: 1 };
    for (let passed = 0; passed < HOUR; passed += 600 * SECOND) {
      expect(client.answersTo('endless')).toEqual([]);
      core.server().say({ jsonrpc: '2.0', method: 'notifications/progress', params });
      await core.pass(600 * SECOND);
    }
    await core.pass(SECOND);
    expect(errorsOf(client, 'endless')).toMatchObject(
      [{ code: 'CALL_TIMED_OUT', message: expect.stringContaining(`${HOUR} ms`), data: { hint: /maxCallMs/ } }].map(
        (error) => ({ ...error, data: { hint: expect.stringMatching(/limits\.maxCallMs/) } }),
      ),
    );
    expect(core.server().cancelled).toEqual([request?.id]);
  });

  test.each([
    ['timeoutMs of the server', { definition: { timeoutMs: 5 * SECOND } }],
    ['limits.callTimeoutMs', { limits: { callTimeoutMs: 5 * SECOND } }],
  ] satisfies [string, CoreOptions][])('ends after %s where that is set', async (name, options) => {
    const core = new CoreInMemory(options);
    const client = await core.ready();
    client.call('slow');
    await core.settle();
    await core.pass(5 * SECOND);
    expect(client.answersTo('slow')).toEqual([]);
    await core.pass(SECOND);
    expect(errorsOf(client, 'slow')).toMatchObject([
      {
        code: 'CALL_TIMED_OUT',
        message: expect.stringContaining('5000 ms'),
        data: { hint: expect.stringContaining(name) },
      },
    ]);
  });

  test('by execute_tool ends after discovery.timeoutMs, and one of the same tool in another view does not', async () => {
    const core = new CoreInMemory({ executionTimeoutMs: 5 * SECOND });
    core.server().has({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
    const finder = await core.ready({ _meta: { 'mcp-bridge/view': 'discover' } });
    const direct = await core.ready({ _meta: { 'mcp-bridge/view': 'server:memory' } });
    const params = { name: 'execute_tool', arguments: { server: 'memory', tool: 'tool', arguments: {} } };
    finder.say({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params });
    direct.call('slow');
    const calls = (): number => core.server().requests.filter(({ method }) => method === 'tools/call').length;
    while (calls() < 2) await core.settle(); // the check of arguments is loaded with the first
    await core.pass(8 * SECOND);
    expect(JSON.stringify(finder.answersTo('slow'))).toContain('discovery.timeoutMs');
    expect(direct.answersTo('slow')).toEqual([]);
  });

  test('of the bridge itself ends after 30 s, even where calls of clients do not', async () => {
    const core = new CoreInMemory();
    await core.ready();
    const answers: unknown[] = [];
    core.server().instance.ask('tools/list', {}, (answer) => void answers.push(answer));
    await core.pass(31 * SECOND);
    expect(answers).toEqual([undefined]);
  });
});

describe('the lane', () => {
  const { maxLaneMs } = DEFAULT_LIMITS;

  async function waiting(options: CoreOptions): Promise<{ core: CoreInMemory; holder: TestClient; other: TestClient }> {
    const core = new CoreInMemory(options);
    const [holder, other] = [await core.ready(ABLE), await core.ready(ABLE)];
    holder.call('long');
    await core.settle();
    other.call('waits');
    await core.settle();
    expect(core.server().requests).toHaveLength(1);
    return { core, holder, other };
  }

  test('is kept from others for 30 s by a call that does not ask; then they get an instance of their own', async () => {
    const { core, holder, other } = await waiting({});
    await core.pass(maxLaneMs);
    expect(core.server().instances).toHaveLength(1);
    await core.pass(SECOND);
    const [first, second] = core.server().instances;
    second?.answer(second.requests[0]);
    first?.answer(first.requests[0]);
    await core.settle();
    expect([holder.answersTo('long'), other.answersTo('waits')]).toMatchObject([[{ result: {} }], [{ result: {} }]]);
  });

  test('that was held too long makes no later client wait', async () => {
    const { core } = await waiting({});
    await core.pass(maxLaneMs + SECOND);
    const late = await core.ready(ABLE);
    late.call('late');
    await core.settle();
    const calls = core.server().instances.flatMap(({ requests }) => requests);
    expect(calls).toHaveLength(3);
  });

  test.each([
    ['the server is shared', { definition: { sharing: 'shared' } }, /sharing/],
    ['there may be no more instances', { limits: { maxInstancesPerServer: 1 } }, /maxInstancesPerServer/],
  ] satisfies [string, CoreOptions, RegExp][])('gives waiting clients an error where %s', async (_, options, why) => {
    const { core, holder, other } = await waiting(options);
    await core.pass(maxLaneMs - SECOND);
    expect(other.answersTo('waits')).toEqual([]);
    await core.pass(2 * SECOND);
    expect(errorsOf(other, 'waits')).toMatchObject([
      {
        code: 'SERVER_BUSY',
        message: expect.stringContaining(`${maxLaneMs} ms`),
        data: { hint: expect.stringMatching(why) },
      },
    ]);
    expect(core.counters.serverBusy).toBe(1);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(holder.answersTo('long')).toMatchObject([{ result: {} }]);
    other.call('next');
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
  });

  test('gives all calls that have waited too long their errors together, and the calls behind them go on', async () => {
    const { core, other } = await waiting({ definition: { sharing: 'shared' } });
    for (const id of ['waits too', 'and this']) other.call(id);
    other.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.pass(maxLaneMs - SECOND);
    expect(core.server().requests).toHaveLength(1);
    await core.pass(2 * SECOND);
    for (const id of ['waits', 'waits too', 'and this'])
      expect(errorsOf(other, id)).toMatchObject([{ code: 'SERVER_BUSY' }]);
    expect(core.server().requests.map(({ method }) => method)).toEqual(['tools/call', 'tools/list']);
  });

  test('is not kept from others by one client after the other, each for a while', async () => {
    const { core, other } = await waiting({ definition: { sharing: 'shared' } });
    const third = await core.ready(ABLE);
    third.call('third');
    await core.pass(20 * SECOND);
    core.server().answer(core.server().requests[0]);
    await core.settle();
    expect(core.server().requests).toHaveLength(2);
    await core.pass(20 * SECOND);
    expect([other.answersTo('waits'), third.answersTo('third')]).toEqual([[], []]);
  });
});
