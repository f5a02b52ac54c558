// The section `federation` of the config: names that are taken, and faults for which it joins nobody.

import { expect, test } from 'vitest';
import { federationOf } from '../../../src/config/federation-settings.ts';
import { Reader } from '../../../src/config/reader.ts';
import { nearest } from '../../../src/util/nearest.ts';

const NATS = { servers: ['nats://hub:4222'] };

function read(section: unknown): ReturnType<typeof federationOf> {
  return federationOf(new Reader(nearest), section, (path) => `/etc/${path}`);
}

test('without the section there is nothing, and no fault', () => {
  expect(read(undefined)).toEqual({ federation: undefined, federationFaults: [] });
});

test.each(['desk', 'desk.example', '7-of_9', 'a'.repeat(63)])('%s is a name of a host', (host) => {
  expect(read({ nats: NATS, host })).toMatchObject({ federation: { host }, federationFaults: [] });
});

test.each(['-desk', '_desk', '.desk', 'a b', 'ä', 'a'.repeat(64)])(
  '%j is no name of a host, and the rule is told',
  (host) => {
    expect(read({ nats: NATS, host })).toEqual({
      federation: undefined,
      federationFaults: [
        'federation.host begins with a letter or a digit, and goes on with letters, digits, ".", "-" and "_", at most 63 in all',
      ],
    });
  },
);

test.each([
  [{ nats: NATS }, 'federation.host is missing'],
  [{ nats: NATS, host: 'a', user: 'a.b' }, 'federation.user has letters, digits, - and _, at most 63 of them'],
  [{ nats: {}, host: 'a' }, 'federation.nats.servers is missing'],
  [{ nats: { servers: [] }, host: 'a' }, 'federation.nats.servers is missing'],
  [{ nats: { servers: ['nats://me:secret@hub'] }, host: 'a' }, 'federation.nats.servers[0] must be an address'],
  [{ nats: { ...NATS, user: 'a', token: 't' }, host: 'a' }, 'names more than one of credentials, nkey, user and token'],
])('%j is not used: %s', (section, words) => {
  const { federation, federationFaults } = read(section);
  expect(federation).toBeUndefined();
  expect(federationFaults).toEqual([expect.stringContaining(words)]);
  expect(federationFaults.join()).not.toContain('secret');
});
