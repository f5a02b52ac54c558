// The words for what is wrong with a bucket of NATS.

import { NoRespondersError, PermissionViolationError, TimeoutError } from '@nats-io/nats-core/internal';
import { describe, expect, test } from 'vitest';
import { bucketFault, ENTRIES, failTask, LEASES } from '../../../src/federation/nats-buckets.ts';

function failureOf(error: unknown): unknown {
  try {
    return failTask(error);
  } catch (failed) {
    return failed;
  }
}

test('a bucket that nobody answers for is without JetStream before it was opened, and without quorum after that', () => {
  const error = new NoRespondersError('$KV.bridge_alive.acme.desk');
  expect(bucketFault(error)).toContain('have no JetStream, in which hosts find each other');
  expect(bucketFault(error, LEASES)).toBe(bucketFault(error)); // it is said once
  expect(bucketFault(failureOf(error))).toContain('no quorum for the list of hosts');
});

describe('a server that does not answer in time', () => {
  const late = new TimeoutError();
  const alone = { address: 'hub:4222', cluster: undefined };

  test('is named alone where it belongs to no cluster', () => {
    expect(bucketFault(late, ENTRIES, alone)).toMatch(
      /^the NATS server at hub:4222 is connected, and JetStream there has not answered for 5 s, which keeps the list of hosts: look at/,
    );
    expect(bucketFault(new Error('insufficient resources'), ENTRIES, alone)).toBe(
      'the list of hosts cannot be kept: insufficient resources',
    );
  });

  test('has lost its quorum where it belongs to one, which is named', () => {
    const server = { ...alone, cluster: 'east\u001b' };
    expect(bucketFault(late, LEASES, server)).toMatch(
      /^the NATS cluster "east\\u001b" has no quorum for the list of which host serves a server that remembers: more than half/,
    );
    expect(bucketFault(new Error('no suitable peers for placement'), ENTRIES, server)).toContain('has no quorum');
  });

  test('that was started again without JetStream has none', () => {
    const failed = failureOf(new NoRespondersError('$KV.bridge_alive.acme.desk'));
    expect(bucketFault(failed, ENTRIES, alone)).toContain('have no JetStream');
  });
});

test('what is not permitted is named with its subject', () => {
  const cause = new PermissionViolationError('denied', 'publish', '$KV.bridge_leases.acme.notes');
  expect(bucketFault(failureOf(new Error('request error', { cause })), LEASES)).toMatch(
    /does not let this daemon publish to \$KV\.bridge_leases\.acme\.notes.*docs\/federation\.md/,
  );
});
