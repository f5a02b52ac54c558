import { describe, expect, test } from 'vitest';
import { redactEach } from '../../../src/downstream/server-output.ts';
import { childEnvironment } from '../../../src/downstream/server-process.ts';

describe("a server's environment", () => {
  test('has the variables that programs need and that its definition declares, and no secret of ours', () => {
    const own = {
      PATH: '/bin',
      HOME: '/h',
      LANG: '',
      GITHUB_TOKEN: 's3cret',
      MCP_BRIDGE_SOCKET: '/x',
      NODE_OPTIONS: '-r x',
      LD_PRELOAD: 'x',
      path: 'x',
    };
    expect(childEnvironment(own, { KEY: 'v' })).toEqual({
      ...{ PATH: '/bin', HOME: '/h', LANG: '', KEY: 'v' },
      MCP_BRIDGE_DEPTH: '1',
    });
  });

  test('has the declared value where both have one', () => {
    expect(childEnvironment({ PATH: '/bin', TZ: undefined }, { PATH: '/mine', HOME: '' })).toEqual({
      PATH: '/mine',
      HOME: '',
      MCP_BRIDGE_DEPTH: '1',
    });
  });

  test('says that a bridge has started it, whatever its definition declares', () => {
    expect(childEnvironment({}, { MCP_BRIDGE_DEPTH: '0' })).toEqual({ MCP_BRIDGE_DEPTH: '1' });
  });
});

const redact = (text: string, declared: Record<string, string>): string => redactEach(text, Object.entries(declared));

describe('the texts of a server', () => {
  test('has the values of its declared variables taken out, wherever they are', () => {
    expect(redact('key=s3cret, again: s3cret!', { KEY: 's3cret', OTHER: 'none of it' })).toBe(
      'key=[KEY], again: [KEY]!',
    );
  });

  test('keeps values too short to be secrets', () => {
    expect(redact('yes 123 1234', { A: 'yes', B: '123', C: '1234', D: '' })).toBe('yes 123 [C]');
  });

  test('has values taken out that look like patterns', () => {
    expect(redact('a.*b and axxb', { A: 'a.*b' })).toBe('[A] and axxb');
  });

  test('has a value taken out whole that begins with another one', () => {
    expect(redact('token abcd-0123456789', { USER_PART: 'abcd', TOKEN: 'abcd-0123456789' })).not.toContain(
      '0123456789',
    );
  });

  test('have a value removed whose variable has a strange name', () => {
    expect(redact('it is s3cret', { '$&': 's3cret' })).not.toContain('s3cret');
  });
});
