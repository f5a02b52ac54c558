// `http` of the config, and `--http`: where clients over HTTP are let in, and what is refused.

import { describe, expect, test } from 'vitest';
import { withHttpAddress } from '../../../src/config/http-settings.ts';
import { validate } from '../../../src/config/schema.ts';
import { NO_HTTP } from '../../../src/model/http-settings.ts';

const read = (http: unknown) => {
  const { config, faults } = validate({ http }, (path) => `/dir/${path}`);
  return { http: config.http, faults };
};

const loopback = (host: string, port: number) => ({ kind: 'tcp', host, port, isLoopback: true });
const TLS = { cert: 'c.pem', key: 'k.pem' };

test('nothing listens without it, and tokens are needed', () => {
  expect(validate({}, String).config.http).toEqual(NO_HTTP);
  expect(read({})).toEqual({ http: NO_HTTP, faults: [] });
  expect(NO_HTTP).toMatchObject({ listen: undefined, needsToken: true, allowsRemote: false });
});

test.each([
  ['127.0.0.1:4810', loopback('127.0.0.1', 4810)],
  ['127.9.9.9:1', loopback('127.9.9.9', 1)],
  ['localhost:80', loopback('127.0.0.1', 80)],
  ['[::1]:0', loopback('::1', 0)],
  ['[0:0:0:0:0:0:0:1]:65535', loopback('0:0:0:0:0:0:0:1', 65_535)],
  ['unix:http.sock', { kind: 'unix', path: '/dir/http.sock' }],
])('%s is an address', (listen, address) => {
  expect(read({ listen })).toEqual({ http: { ...NO_HTTP, listen: address }, faults: [] });
});

test.each([
  ...['4810', ':4810', '127.0.0.1', '127.0.0.1:', '127.0.0.1:65536', '127.1:80', '127.0.0.1:-1', 'example.org:80'],
  ...[
    '::1:80',
    '[::1]',
    '[::1]x:80',
    '[127.0.0.1]:80',
    '[fe80::1%lo]:80',
    'unix:',
    'http://127.0.0.1:80',
    '[localhost]:1',
  ],
])('%s is none, and nothing listens', (listen) => {
  const { http, faults } = read({ listen });
  expect(http.listen).toBeUndefined();
  expect(faults).toEqual(['http.listen must be an address such as 127.0.0.1:4810, [::1]:4810 or unix:/path']);
});

describe('an address that other machines reach', () => {
  const whole = { listen: '0.0.0.0:4810', allowRemote: true, tls: TLS };

  test('is listened on with tokens and TLS, or behind a proxy', () => {
    expect(read(whole)).toMatchObject({ http: { listen: { isLoopback: false } }, faults: [] });
    const { tls: _, ...proxied } = { ...whole, behindProxy: true };
    expect(read(proxied)).toMatchObject({ http: { listen: { host: '0.0.0.0' } }, faults: [] });
  });

  test.each(['0.0.0.0:1', '[::]:1', '192.168.1.7:1', '[::ffff:127.0.0.1]:1', '128.0.0.1:1'])(
    '%s needs allowRemote',
    (listen) => {
      expect(read({ listen, tls: TLS })).toMatchObject({
        http: { listen: undefined },
        faults: [
          'http.listen is an address that other machines reach (listen on 127.0.0.1, or set http.allowRemote to true)',
        ],
      });
    },
  );

  test.each([
    [{ tokens: false }, /^http\.tokens may be false only where other machines cannot reach the bridge/],
    [{ tls: undefined }, /^http\.tls is missing: over plain HTTP anyone on the way reads the tokens/],
    [{ tls: { cert: 'c' } }, /^http\.tls needs a cert and a key/],
    [{ tls: 'c' }, /^http\.tls must be an object/],
    [{ allowRemote: 'yes' }, /^http\.allowRemote must be true or false/],
  ])('is not listened on with %j', (change, fault) => {
    const { http, faults } = read({ ...whole, ...change });
    expect(http.listen).toBeUndefined();
    expect(faults[0]).toMatch(fault);
  });
});

test('no tokens are needed on a loopback address if the config says so, but behind a proxy they are', () => {
  const open = { listen: '127.0.0.1:0', tokens: false };
  expect(read(open)).toMatchObject({ http: { needsToken: false, listen: { port: 0 } }, faults: [] });
  expect(read({ ...open, behindProxy: true })).toMatchObject({
    http: { listen: undefined },
    faults: [expect.stringMatching(/^http\.tokens may be false only/)],
  });
});

test('a value that is not understood is the stricter one, and the others hold', () => {
  const { http, faults } = read({
    ...{ listen: '127.0.0.1:1', tokens: 'false', behindProxy: 1, tokns: false },
    allowedHosts: ['Docker.Internal', '*', 'a:80', '[::1]', 7],
    allowedOrigins: ['https://App.example:8443', '*', 'https://a/b', 'vscode-webview://x1'],
  });
  expect(http).toMatchObject({
    ...{ listen: { port: 1 }, needsToken: true, isBehindProxy: false },
    allowedHosts: ['docker.internal', '[::1]'],
    allowedOrigins: ['https://app.example:8443', 'vscode-webview://x1'],
  });
  expect(faults.map((fault) => fault.split(' ')[0]).sort()).toEqual([
    ...['http.allowedHosts[1]', 'http.allowedHosts[2]', 'http.allowedHosts[4]'],
    ...['http.allowedOrigins[1]', 'http.allowedOrigins[2]', 'http.behindProxy', 'http.tokens', 'http.tokns'],
  ]);
});

test('a section under a misspelled name opens nothing', () => {
  const { config, faults } = validate({ htp: { listen: '127.0.0.1:1', tokens: false } }, String);
  expect([config.http, faults]).toEqual([NO_HTTP, ['htp is not known (did you mean http?)']]);
});

describe('--http', () => {
  const given = (text: string, http: object = {}) =>
    withHttpAddress({ ...NO_HTTP, ...http }, text, (path) => `/cwd/${path}`);

  test('overrides the address in the config, and keeps its other settings', () => {
    const listen = { kind: 'unix', path: '/from/config' } as const;
    expect(given('127.0.0.1:1', { listen, allowedHosts: ['a'] })).toMatchObject({
      listen: loopback('127.0.0.1', 1),
      allowedHosts: ['a'],
    });
    expect(given('unix:s')).toMatchObject({ listen: { path: '/cwd/s' } });
  });

  test.each([
    ['127.0.0.1', {}, /^--http "127.0.0.1" is not an address such as/],
    ['0.0.0.0:1', {}, /^--http 0.0.0.0:1 is an address that other machines reach$/],
    ['0.0.0.0:1', { allowsRemote: true }, /^With --http 0.0.0.0:1, http.tls of the config is missing/],
    ['0.0.0.0:1', { allowsRemote: true, needsToken: false }, /http.tokens of the config may be false only/],
  ])('is refused where it is not safe: %s with %j', (text, http, problem) => {
    expect(() => given(text, http)).toThrow(problem);
  });
});
