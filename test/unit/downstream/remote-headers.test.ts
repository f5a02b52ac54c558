import { describe, expect, test } from 'vitest';
import { configuredHeaders, isHeader, mergedHeaders } from '../../../src/downstream/remote-headers.ts';
import type { RemoteServer } from '../../../src/model/server-definition.ts';

const serverWith = (headers: Record<string, string>): RemoteServer =>
  ({ name: 's', headers }) as unknown as RemoteServer;

describe('headers', () => {
  test('have variables filled in, and say which', () => {
    const used = new Map<string, string>();
    const value = `Bearer ${'$'}{TOKEN}`;
    expect(configuredHeaders(serverWith({ A: value, B: '' }), { TOKEN: 't' }, used)).toEqual({ A: 'Bearer t', B: '' });
    expect([...used]).toEqual([['TOKEN', 't']]);
  });

  test.each([
    ['a', 's3cret\nb: c'],
    ['a', 's3cret\u{1f642}'],
    ['a b', 's3cret'],
    ['', 's3cret'],
  ])('that HTTP cannot carry (%j: %j) are refused without their value', (name, value) => {
    expect(isHeader(name, value)).toBe(false);
    const fill = () => configuredHeaders(serverWith({ [name]: value }), {}, new Map());
    expect(fill).toThrow(`The header ${name} of server s is not a header that HTTP allows`);
  });

  test('count once, whatever the case of their names, and the later ones go before', () => {
    const merged = mergedHeaders({ Authorization: 'a', 'X-One': '1' }, { authorization: 'b' });
    expect(merged).toEqual({ authorization: 'b', 'x-one': '1' });
    expect(isHeader("x-!#$%&'*+.^_`|~9", 'tab\tand ü')).toBe(true);
  });
});
