// The memory that suspended calls take: 10,000 of one client at most 40 MiB, and nothing once they are over.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { CoreInMemory, type TestClient } from '../../support/core-in-memory.ts';

const PREFIX = 'io.modelcontextprotocol/';
const WHO = {
  [`${PREFIX}protocolVersion`]: '2026-07-28',
  [`${PREFIX}clientCapabilities`]: { elicitation: {} },
};
const MOST_BYTES = (40 * 1024 * 1024) / 10_000;
const FORM = {
  message: 'Which name shall the branch have?',
  requestedSchema: { type: 'object', required: ['name'], properties: { name: { type: 'string', title: 'Name' } } },
};

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The bytes in use, without what the test itself has read. */
function bytesInUse(core: CoreInMemory, client: TestClient): number {
  client.link.lines.length = 0;
  for (const { link } of core.server().instances) if (link !== undefined) link.lines.length = 0;
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function call(client: TestClient, id: number, more: object = {}): void {
  const params = { name: 'tool', arguments: { id }, ...more, _meta: WHO };
  client.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
}

async function turn(core: CoreInMemory): Promise<void> {
  await core.settle();
  core.clock.advance(5);
  await core.settle();
}

test('10,000 calls that wait for their client, and that their server has answered meanwhile, take 40 MiB at most', async () => {
  const count = 10_000;
  const core = new CoreInMemory();
  const client = core.connect();
  const suspend = async (id: number): Promise<void> => {
    call(client, id);
    await core.settle();
    const request = core.server().requests.at(-1);
    core.server().say({ jsonrpc: '2.0', id, method: 'elicitation/create', params: FORM });
    await turn(core);
    core.server().say({ jsonrpc: '2.0', id: request?.id, result: { content: [{ type: 'text', text: 'too late' }] } });
    await core.settle();
    bytesRead(core, client);
  };
  const expire = async (): Promise<void> => {
    core.clock.advance(601_000);
    await core.settle();
    expect([core.suspended.size, core.openCalls]).toEqual([0, 0]);
  };
  for (let id = 0; id < count / 10; id++) await suspend(id); // what is made once is there by then
  await expire();
  const before = bytesInUse(core, client);
  for (let id = 0; id < count; id++) await suspend(id);
  expect(core.suspended.size).toBe(count);
  const each = (bytesInUse(core, client) - before) / count;
  await expire();
  const left = (bytesInUse(core, client) - before) / count;
  console.info(`a suspended call that was answered: ${Math.round(each)} bytes; ${Math.round(left)} once it is over`);
  expect(each).toBeLessThan(MOST_BYTES);
  expect(left).toBeLessThan(100);
}, 60_000);

/** What was read is not kept: else each look at it takes longer than the one before. */
function bytesRead(core: CoreInMemory, client: TestClient): void {
  client.link.lines.length = 0;
  for (const { link } of core.server().instances) if (link !== undefined) link.lines.length = 0;
}

test('a call that waits for its client takes no more, while its server works on it', async () => {
  const count = 1000;
  const core = new CoreInMemory({ limits: { maxInstancesPerServer: count, maxInFlightPerClient: count } });
  const client = core.connect();
  const states: string[] = [];
  for (let id = 0; id < count; id++) {
    call(client, id);
    await core.settle();
    const instance = core.server().instances[id];
    instance?.say({ jsonrpc: '2.0', id, method: 'elicitation/create', params: FORM });
    await turn(core);
    states.push(String(client.answersTo(id)[0]?.result?.requestState));
    bytesRead(core, client);
  }
  expect(core.suspended.size).toBe(count);
  const suspended = bytesInUse(core, client);
  for (const [id, requestState] of states.entries())
    call(client, id, { requestState, inputResponses: { q1: { action: 'decline' } } });
  await turn(core);
  const open = bytesInUse(core, client);
  for (const { inCore } of core.server().instances)
    for (const { serverRequestId } of inCore.calls.sent()) {
      const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${serverRequestId},"result":{}}\n`);
      inCore.fromServer.frame(bytes, 0, bytes.length - 1);
    }
  await turn(core);
  expect([core.suspended.size, core.openCalls]).toEqual([0, 0]);
  const over = bytesInUse(core, client);
  const each = (suspended - over) / count;
  console.info(
    `a suspended call: ${Math.round(each)} bytes; ${Math.round((suspended - open) / count)} more than an open one`,
  );
  expect(each).toBeLessThan(MOST_BYTES);
}, 60_000);
