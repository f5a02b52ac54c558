// The daemon's door to other hosts: for how long clients wait for its first look.

import { expect, test } from 'vitest';
import { OtherHosts } from '../../../src/daemon/other-hosts.ts';
import type { FederationSettings } from '../../../src/model/federation-settings.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { Places } from '../../../src/model/places.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const none = undefined;
const SETTINGS: FederationSettings = {
  nats: { servers: [], credentials: none, user: none, password: none, token: none, nkey: none, tls: none },
  ...{ tenant: 'acme', user: 'ann', host: 'laptop', offer: [], use: ['*'], agents: [], hasBulkConnection: false },
};

function otherHosts(clock: FakeClock, settings: FederationSettings | undefined): OtherHosts {
  const nothing = (): void => undefined;
  return new OtherHosts({
    ...{ dir: none, settings, faults: [], prepare: () => none, own: () => [], clock, limits: DEFAULT_LIMITS },
    ...{ turn: new FlushTurn(nothing), pacer: new ReadPacer({ now: () => 0 }), places: new Places(DEFAULT_LIMITS) },
    ...{ version: '1', uid: 1, logger: { debug: nothing, info: nothing, warn: nothing, error: nothing } },
    ...{ accept: nothing, refusalOf: () => none, trustsHints: () => false },
    ...{ changed: nothing, refused: nothing, failed: (error) => expect.fail(String(error)) },
  });
}

test('without a section federation nobody waits', () => {
  expect(otherHosts(new FakeClock(), none).prepare()).toBeUndefined();
});

test('clients wait for the first look at other hosts, and for 3 s at most', async () => {
  const clock = new FakeClock();
  const hosts = otherHosts(clock, SETTINGS);
  let isOver = false;
  const first = hosts.prepare()?.then(() => {
    isOver = true;
  });
  expect(first).toBeDefined();
  clock.advance(2999);
  await Promise.resolve();
  await Promise.resolve();
  expect(isOver).toBe(false);
  expect(hosts.prepare()).toBeDefined();
  clock.advance(1);
  await first;
  expect(isOver).toBe(true);
  expect(hosts.prepare()).toBeUndefined();
});

test('a daemon that ends lets nobody wait', async () => {
  const hosts = otherHosts(new FakeClock(), SETTINGS);
  const waiting = hosts.prepare();
  await hosts.leave();
  await expect(waiting).resolves.toBeUndefined();
});
