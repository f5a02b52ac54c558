import { describe, expect, test } from 'vitest';
import { secretsInArguments, secretsInText } from '../../../src/util/given-secrets.ts';

const valuesIn = (...args: string[]): string[] => [...new Set(secretsInArguments(args).map(([, value]) => value))];

describe('among the arguments of a server', () => {
  test.each<[string, string[], string[]]>([
    ['the value after a flag', ['--api-key', 's3cret'], ['s3cret']],
    ['the value in a flag', ['--token=s3cret', '-p', '80'], ['s3cret']],
    ['the value of a variable', ['-e', 'API_KEY=s3cret'], ['s3cret']],
    ['the value of a header, without its kind', ['--header', 'Authorization: Bearer s3cret'], ['s3cret']],
    ['the value of any variable', ['-e', 'MODE=s3cret'], ['s3cret']],
    ['the value of any header', ['-H', 'X-Mine: s3cret'], ['s3cret']],
    ['the password of a user', ['--user', 'me:s3cret'], ['s3cret']],
    ['the value in a script', ['-c', "PASSWORD='s3cret' run"], ['s3cret']],
    ['a token, by how it looks', ['x', 'sk-abcdefghijkl', 'ghp_abcdefghijkl'], ['sk-abcdefghijkl', 'ghp_abcdefghijkl']],
    ['a password in a URL, as written and as meant', ['db://me:a%20b@host/x'], ['a%20b', 'a b']],
    ['the key in a URL', ['http://host/x?key=s3cret&page=2'], ['s3cret']],
  ])('%s is a secret', (_, args, secrets) => {
    expect(valuesIn(...args)).toEqual(secrets);
  });

  test.each([
    [['-y', '@scope/some-server-of-somebody@1.2.3', '/home/me/notes']],
    [['--port', '8080', '--verbose', 'http://localhost:8080/mcp']],
    [['--auth', 'none', '--token', '--verbose']],
  ])('%j has none', (args) => {
    expect(valuesIn(...args)).toEqual([]);
  });
});

test('a URL that cannot be read hides nothing that is known, and breaks nothing', () => {
  expect(secretsInText('http://[broken:pw@/')).toEqual([]);
  expect(secretsInText('http://me:%zz@host/')).toEqual([['password', '%zz']]);
});
