// Options that cannot be are refused as soon as they are said, in their own words.

import { describe, expect, test } from 'vitest';
import { BridgeTransport } from '../../../src/client/bridge-transport.ts';
import { connectToBridge } from '../../../src/client/connect-to-bridge.ts';
import { reconnectSettings } from '../../../src/client/library-options.ts';
import { DEFAULT_RECONNECT } from '../../../src/util/backoff.ts';

const whole = (key: string, least: number, most: number, is: unknown): string =>
  `reconnect.${key} must be a whole number from ${least} to ${most}, and is ${String(is)}`;

test.each<[object, string]>([
  ...[-1, 0, Number.NaN, 1.5, Number.POSITIVE_INFINITY, 10_001, '3', null].map((maxAttempts): [object, string] => [
    { maxAttempts },
    whole('maxAttempts', 1, 10_000, maxAttempts),
  ]),
  [{ initialDelayMs: -1 }, whole('initialDelayMs', 0, 3_600_000, -1)],
  [{ maxDelayMs: Number.NaN }, whole('maxDelayMs', 0, 3_600_000, Number.NaN)],
  [
    { initialDelayMs: 500, maxDelayMs: 100 },
    'reconnect.initialDelayMs (500) must not be more than reconnect.maxDelayMs (100)',
  ],
  [{ enabled: 'no' }, 'reconnect.enabled must be true or false, and is no'],
])('reconnect %j', async (reconnect, message) => {
  const refusal = { code: 'USAGE', message };
  expect(() => new BridgeTransport({ reconnect })).toThrow(expect.objectContaining(refusal));
  await expect(connectToBridge({ reconnect })).rejects.toMatchObject(refusal);
});

test.each([null, false, 5])('reconnect %j is no object', (reconnect) => {
  expect(() => new BridgeTransport({ reconnect } as object)).toThrow('reconnect must be an object');
});

test.each(['has space', 'ä', 'x'.repeat(129), 'line\n', 5])('clientId %j', (clientId) => {
  expect(() => new BridgeTransport({ clientId } as object)).toThrow(
    expect.objectContaining({
      code: 'USAGE',
      message: 'The option clientId must be 1 to 128 printable ASCII characters, without spaces',
    }),
  );
});

test.each<[object | null, string]>([
  [{ socketpath: '/s' }, 'BridgeTransport has no option socketpath'],
  [{ constructor: 1 }, 'BridgeTransport has no option constructor'],
  [{ socketPath: 5 }, 'The option socketPath must be a string, not number'],
  [{ configFile: null }, 'The option configFile must be a string, not null'],
  [{ autostart: 'no' }, 'The option autostart must be true or false, not string'],
  [{ accepts: ['a/*', 5] }, 'The option accepts must be true, false or an array of strings, not object'],
  [{ signal: new AbortController() }, 'The option signal must be an AbortSignal, not object'],
  [{ reconnect: { delay: 5 } }, 'reconnect has no option delay'],
  [null, 'BridgeTransport must be given an object, not null'],
])('options %j', async (options, message) => {
  const refusal = (said: string) => ({ code: 'USAGE', message: said });
  expect(() => new BridgeTransport(options as object)).toThrow(expect.objectContaining(refusal(message)));
  await expect(connectToBridge(options as object)).rejects.toMatchObject(
    refusal(message.replace('BridgeTransport', 'connectToBridge')),
  );
});

test('an option that is none is answered with those that there are', async () => {
  expect(() => new BridgeTransport({ reconnect: { delay: 5 } as object })).toThrow(
    expect.objectContaining({ hint: 'It takes: enabled, maxAttempts, initialDelayMs, maxDelayMs' }),
  );
  await expect(connectToBridge({ client: 5 } as object)).rejects.toMatchObject({
    message: 'The option client must be a client of the SDK, not number',
  });
  await expect(connectToBridge({ nam: 'me' } as object)).rejects.toMatchObject({
    hint: expect.stringMatching(/^It takes: client, name, version, socketPath, clientId, /),
  });
});

test('an option that is undefined is not said', () => {
  const options = { socketPath: undefined, signal: undefined, reconnect: undefined, other: undefined };
  expect(new BridgeTransport(options).socketPath).toBe('');
});

describe('options about reconnecting that are not given come from the config file', () => {
  test('and of the two delays, the one that is said counts before the other', () => {
    const { initialDelayMs, maxDelayMs } = DEFAULT_RECONNECT;
    const settings = (wanted?: object) => reconnectSettings(wanted, DEFAULT_RECONNECT);
    expect(settings()).toEqual(DEFAULT_RECONNECT);
    expect(settings({ enabled: false, maxAttempts: 3 })).toEqual({
      ...DEFAULT_RECONNECT,
      ...{ isEnabled: false, maxAttempts: 3 },
    });
    expect(settings({ initialDelayMs: 7 })).toMatchObject({ initialDelayMs: 7, maxDelayMs });
    expect(settings({ initialDelayMs: 60_000 })).toMatchObject({ initialDelayMs: 60_000, maxDelayMs: 60_000 });
    expect(settings({ maxDelayMs: 7 })).toMatchObject({ initialDelayMs, maxDelayMs: 7 });
  });
});
