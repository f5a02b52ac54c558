// What the log says of a call, for whoever follows one.

import { expect, test } from 'vitest';
import { logCalls } from '../../../src/core/call-log.ts';
import type { LogFields, Logger } from '../../../src/util/logger.ts';
import { CoreInMemory, type CoreOptions } from '../../support/core-in-memory.ts';

/** A core that logs its calls, and the lines since the last look. */
function logged(options: CoreOptions = {}) {
  const core = new CoreInMemory(options);
  const lines: [string, LogFields][] = [];
  const other = (): void => expect.fail('a call is logged at the level debug only');
  const debug = (text: string, fields: LogFields = {}): void => void lines.push([text, fields]);
  const logger: Logger = { debug, info: other, warn: other, error: other };
  logCalls(core.events, logger);
  return { core, lines: () => lines.splice(0) };
}

test('a call is logged from the request to its end, with client, tool, ids, and server', async () => {
  const { core, lines } = logged();
  const client = await core.ready();
  expect(lines()).toEqual([]);
  client.call(7, { secret: 'argument' });
  await core.settle();
  core.server().answer(core.server().requests[0]);
  await core.settle();
  const told = lines();
  const [, { clientId } = {}] = told[0] ?? [];
  const serverRequestId = core.server().requests[0]?.id;
  expect(told).toEqual([
    ['a tool is asked for', { clientId, name: 'test', view: 'server:memory', tool: '"tool"' }],
    ['call begun', { clientId, id: '7', role: 'call' }],
    ['call sent', { clientId, id: '7', server: 'memory', serverRequestId }],
    ['server answered', { clientId, id: '7', server: 'memory', with: 'result' }],
    ['call ended', { clientId, id: '7' }],
  ]);
  expect(JSON.stringify(told)).not.toContain('argument');
});

test('a call that waits, and one whose server dies, are logged with the reason', async () => {
  const { core, lines } = logged({ limits: { maxInFlightPerClient: 1 } });
  const client = await core.ready();
  client.call(1);
  await core.settle();
  lines();
  client.call(2);
  await core.settle();
  expect(lines().at(-1)).toMatchObject(['call waits', { id: '2', for: 'client' }]);
  core.server().crash();
  await core.settle();
  const told = lines();
  expect(told).toContainEqual(['call failed', expect.objectContaining({ id: '1', code: 'SERVER_CRASHED' })]);
  expect(told).toContainEqual(['call ended', expect.objectContaining({ id: '1' })]);
});

test('a text that a client has chosen takes no more than 200 characters of a line', async () => {
  const { core, lines } = logged();
  const client = await core.ready();
  client.say({ jsonrpc: '2.0', id: 'i', method: 'tools/call', params: { name: 't'.repeat(5000) } });
  await core.settle();
  const told = lines();
  expect(told.length).toBeGreaterThan(1);
  for (const [, fields] of told) expect(JSON.stringify(fields).length).toBeLessThan(500);
});
