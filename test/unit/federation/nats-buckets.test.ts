// The words for what is wrong with a bucket of NATS.

import { NoRespondersError, PermissionViolationError } from '@nats-io/nats-core/internal';
import { expect, test } from 'vitest';
import { bucketFault, failTask, LEASES } from '../../../src/federation/nats-buckets.ts';

function failureOf(error: unknown): unknown {
  try {
    return failTask(error);
  } catch (failed) {
    return failed;
  }
}

test('a bucket that nobody answers for is without JetStream before it was opened, and without quorum after that', () => {
  const error = new NoRespondersError('$KV.bridge_alive.acme.desk');
  expect(bucketFault(error)).toContain('have no JetStream, which keeps the list of hosts');
  expect(bucketFault(failureOf(error))).toContain('no quorum for the list of hosts');
});

test('what is not permitted is named with its subject', () => {
  const cause = new PermissionViolationError('denied', 'publish', '$KV.bridge_leases.acme.notes');
  expect(bucketFault(failureOf(new Error('request error', { cause })), LEASES)).toMatch(
    /does not let this daemon publish to \$KV\.bridge_leases\.acme\.notes.*docs\/federation\.md/,
  );
});
