import { expect, onTestFinished, test } from 'vitest';
import { CallbackServer } from '../../../src/auth/callback-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';

async function opened(): Promise<CallbackServer> {
  const server = await CallbackServer.open();
  onTestFinished(() => server.close());
  return server;
}

test('a code is taken with its state, and the clock is left alone', async () => {
  const clock = new FakeClock();
  const server = await opened();
  const code = server.code('right', clock);
  expect((await fetch(`${server.url}?code=a&state=wrong`)).status).toBe(400);
  expect((await fetch(`${server.url}?code=b&state=right`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${server.url}?code=c&state=right`)).status).toBe(200);
  expect(await code).toBe('c');
  expect(clock.pending).toBe(0);
});

test('who does not sign in within five minutes is told so', async () => {
  const clock = new FakeClock();
  const code = (await opened()).code('right', clock);
  clock.advance(5 * 60_000 - 1);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  await expect(code).rejects.toMatchObject({ code: 'AUTH_FAILED', message: 'Nobody has signed in within 5 minutes' });
});

test.each([
  ['error=access_denied', 'The sign-in was refused: access_denied'],
  ['error=%1b[31m', 'The sign-in was refused: no code came back'],
  ['', 'The sign-in was refused: no code came back'],
])('a refusal such as %j is told', async (query, message) => {
  const server = await opened();
  const code = server.code('right', new FakeClock());
  await Promise.all([expect(code).rejects.toMatchObject({ message }), fetch(`${server.url}?state=right&${query}`)]);
});

test('a port that someone else has is told', async () => {
  const port = Number(new URL((await opened()).url).port);
  await expect(CallbackServer.open(port)).rejects.toMatchObject({
    code: 'AUTH_FAILED',
    message: `Cannot wait for the browser on port ${port}: EADDRINUSE`,
  });
});
