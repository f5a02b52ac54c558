import { expect, test } from 'vitest';
import { RemoteSession } from '../../../src/downstream/http-connection.ts';
import { RemoteFailure, sessionDoubted, sessionEnded, statusFailure } from '../../../src/downstream/remote-failure.ts';
import { deferred } from '../../../src/util/deferred.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

function sessionWith(ping: () => Promise<void> = () => Promise.resolve()) {
  const clock = new FakeClock();
  const quiet = deferred<void>();
  const overs: string[] = [];
  let pings = 0;
  const session = new RemoteSession({
    clock,
    ping: () => {
      pings++;
      return ping();
    },
    retire: () => quiet.promise,
    over: ({ message }) => overs.push(message),
  });
  return { session, clock, quiet, overs, pings: () => pings };
}

test.each([
  ['a session that was ended', sessionEnded(), 'has ended the session'],
  ['nobody there', new RemoteFailure('is away', { isUnreachable: true }), 'is away'],
  ['who is not let in any more', statusFailure(401, true), 'says that the bridge is not authorized (HTTP 401)'],
])('%s ends it, once nothing is awaited', async (_, failure, how) => {
  const { session, clock, quiet, overs } = sessionWith();
  session.noteFailure(failure);
  session.noteFailure(sessionEnded());
  await settled();
  expect(overs).toEqual([]);
  quiet.resolve();
  await settled();
  expect([overs, clock.pending, await session.isForgotten()]).toEqual([[how], 0, true]);
});

test('open requests have a second to be answered', async () => {
  const { session, clock, overs } = sessionWith();
  session.noteFailure(sessionEnded());
  clock.advance(999);
  await settled();
  expect(overs).toEqual([]);
  clock.advance(1);
  await settled();
  expect(overs).toEqual(['has ended the session']);
});

test.each([sessionDoubted(400), statusFailure(500, true), new Error('s3cret')])(
  'a failure of one request does not end it (%s)',
  async (failure) => {
    const { session, quiet, overs, pings } = sessionWith();
    quiet.resolve();
    session.noteFailure(failure);
    await settled();
    expect([overs, pings()]).toEqual([[], 0]);
  },
);

test.each<[string, () => Promise<void>, boolean]>([
  ['is answered', () => Promise.resolve(), false],
  ['is refused in the same way', () => Promise.reject(sessionDoubted(400)), true],
  ['is refused by 404', () => Promise.reject(sessionEnded()), true],
  ['finds nobody', () => Promise.reject(new RemoteFailure('', { isUnreachable: true })), true],
  ['fails', () => Promise.reject(statusFailure(503, true)), false],
  ['is refused as itself', () => Promise.reject(statusFailure(400, true)), false],
])('of two who doubt it the server is asked once: the ping %s', async (_, ping, isForgotten) => {
  const { session, clock, pings } = sessionWith(ping);
  expect(await Promise.all([session.isForgotten(), session.isForgotten()])).toEqual([isForgotten, isForgotten]);
  expect([pings(), clock.pending]).toEqual([1, isForgotten ? 1 : 0]);
});

test('a server that does not answer a ping is not taken to have forgotten it', async () => {
  const { session, clock } = sessionWith(() => deferred<void>().promise);
  const isForgotten = session.isForgotten();
  clock.advance(5000);
  expect(await isForgotten).toBe(false);
});
