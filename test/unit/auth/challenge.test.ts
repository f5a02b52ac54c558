import { expect, test } from 'vitest';
import { challengeOf } from '../../../src/auth/challenge.ts';

const read = (header?: string) =>
  challengeOf(new Response(null, { headers: header === undefined ? {} : { 'www-authenticate': header } }));

const NONE = { error: undefined, scope: undefined, resourceMetadataUrl: undefined };

test('all that a challenge says is read', () => {
  expect(read('Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/y"')).toEqual({
    error: 'insufficient_scope',
    scope: 'a b',
    resourceMetadataUrl: new URL('https://x/y'),
  });
});

test.each<[string, string, object]>([
  ['without quotes', 'Bearer error=invalid_token,scope=a', { error: 'invalid_token', scope: 'a' }],
  ['in other letters, with spaces', 'bEARER  Scope = "a"', { scope: 'a' }],
  ['with quotes in quotes', 'Bearer realm="a \\"scope=\\"b\\"", scope="c"', { scope: 'c' }],
  ['behind another challenge', 'Basic realm="x, y", Bearer scope="a"', { scope: 'a' }],
  ['behind one with a bare token', 'Negotiate abc==, Bearer scope="a"', { scope: 'a' }],
  ['before another challenge', 'Bearer scope="a", DPoP error="e", scope="b"', { scope: 'a' }],
  ['with parameters that only end alike', 'Bearer x_scope="a", scope="b"', { scope: 'b' }],
  ['twice, of which the first counts', 'Bearer scope="a", scope="b"', { scope: 'a' }],
])('a challenge %s', (_, header, wanted) => {
  expect(read(header)).toEqual({ ...NONE, ...wanted });
});

test.each([undefined, '', 'Bearer', 'Basic scope="a"', '"Bearer scope=a', 'Bearer resource_metadata="no address"'])(
  '%j says nothing',
  (header) => {
    expect(read(header)).toEqual(NONE);
  },
);

test('a text that is cut off counts as far as it is well-formed', () => {
  expect(read('Bearer scope="a", error="b')).toEqual({ ...NONE, scope: 'a', error: '' });
});

test('a long one takes no longer than its length allows', () => {
  const header = `Bearer ${'a'.repeat(50_000)} ${'\\'.repeat(50_000)} "${'\\"'.repeat(50_000)}`;
  expect(read(header)).toEqual(NONE);
});
