import { expect, onTestFinished, test } from 'vitest';
import { CallbackServer } from '../../../src/auth/callback-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';

async function opened(): Promise<CallbackServer> {
  const server = await CallbackServer.open();
  onTestFinished(() => server.close());
  return server;
}

test('an answer is taken with its state, and the clock is left alone', async () => {
  const clock = new FakeClock();
  const server = await opened();
  const answer = server.answer('right', clock);
  expect((await fetch(`${server.url}?code=a&state=wrong`)).status).toBe(400);
  expect((await fetch(`${server.url}?code=b&state=right`, { method: 'POST' })).status).toBe(404);
  expect((await fetch(`${server.url}?code=c&state=right&iss=https://as`)).status).toBe(200);
  expect(await answer).toEqual({ code: 'c', error: undefined, issuer: 'https://as' });
  expect(clock.pending).toBe(0);
});

test('who does not sign in within five minutes is told so', async () => {
  const clock = new FakeClock();
  const answer = (await opened()).answer('right', clock);
  clock.advance(5 * 60_000 - 1);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  await expect(answer).rejects.toMatchObject({ code: 'AUTH_FAILED', message: 'Nobody has signed in within 5 minutes' });
});

test('an answer without a code has its error', async () => {
  const server = await opened();
  const answer = server.answer('right', new FakeClock());
  const page = await fetch(`${server.url}?state=right&error=access_denied`);
  expect(await page.text()).toContain('The sign-in has failed');
  expect(await answer).toEqual({ code: undefined, error: 'access_denied', issuer: undefined });
});

test('a port that someone else has is told', async () => {
  const port = Number(new URL((await opened()).url).port);
  await expect(CallbackServer.open(port)).rejects.toMatchObject({
    code: 'AUTH_FAILED',
    message: `Cannot wait for the browser on port ${port}: EADDRINUSE`,
  });
});
