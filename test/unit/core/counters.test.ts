import { expect, test } from 'vitest';
import { Counters } from '../../../src/core/counters.ts';
import { Events } from '../../../src/core/events.ts';
import { rpcError, rpcErrorOf } from '../../../src/protocol/rpc-error.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { invariant } from '../../../src/util/invariant.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

test('each error that a client is answered with is counted by its code', async () => {
  const core = new CoreInMemory();
  const client = await core.ready();
  for (const [id, method] of [
    [1, 'server/discover'],
    [2, 'initialize'],
    [3, 'server/discover'],
  ] as const)
    client.say({ jsonrpc: '2.0', id, method, params: {} });
  client.say('{');
  client.call(4);
  await core.settle();
  core.server().crash();
  await core.settle();
  const { counters } = core;
  expect(counters.errorsByCode()).toEqual({ '-32601': 2, REQUEST_REFUSED: 1, '-32700': 1, SERVER_CRASHED: 1 });
  expect(counters.errorsAnswered).toBe(5);
});

test('no more kinds are told apart than the bridge may have, whatever servers say', async () => {
  const core = new CoreInMemory();
  const session = core.sessionOf(await core.ready());
  invariant(session !== undefined, 'a client that is ready has a session');
  const events = new Events(() => undefined);
  const counters = new Counters(events);
  const written = (error: string): void => events.errorWritten.tell(session, error);
  for (let n = 0; n < 1000; n++) written(rpcError(n, 'x'));
  written(rpcError(0, 'x'));
  written(rpcErrorOf(new BridgeError('SERVER_BUSY', '"code":"NOT_THIS"')));
  const errors = counters.errorsByCode();
  expect([Object.keys(errors).length, errors['0'], errors.OTHER]).toEqual([101, 2, 901]);
});

test('a request that waits for the answer to `initialize` is counted and told once', async () => {
  const core = new CoreInMemory();
  core.server().opensByItself = false;
  const told: string[] = [];
  core.events.requestTaken.on(({ name }) => told.push(name));
  const client = core.connect();
  client.initialize('init', { _meta: { 'mcp-bridge/view': 'server:memory' } });
  await core.settle();
  const session = core.sessionOf(client);
  expect(session?.isHolding).toBe(true);
  client.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
  client.call(1);
  client.say({ jsonrpc: '2.0', id: 2, method: 'ping' });
  expect([told.length, core.counters.requests]).toEqual([2, 2]); // initialize and ping
  core.server().open();
  await core.settle();
  core.server().answer(core.server().requests.at(-1));
  await core.settle();
  expect(client.answersTo(1)).toHaveLength(1);
  expect([told.length, core.counters.requests]).toEqual([3, 3]);
});
