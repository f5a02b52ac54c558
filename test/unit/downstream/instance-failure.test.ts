import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { brokenServer, crash, refusedStart, startFailure } from '../../../src/downstream/instance-failure.ts';
import { lastLine, lastWords } from '../../../src/downstream/server-output.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import type { DialInServer, RemoteServer, StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const COMMON = {
  ...{ name: 's', description: '', timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined },
  ...{ tools: NO_FILTER, trustHints: false },
  sharing: 'auto',
} as const;
const program = (command: string, cwd?: string): StdioServer => ({
  ...{ ...COMMON, transport: 'stdio', command, args: [], env: {}, cwd, dir: undefined },
});
const REMOTE: RemoteServer = {
  ...{ ...COMMON, transport: 'http', url: 'https://a.example/mcp?token=secret', headers: {}, isFilledIn: false },
  headersHelper: undefined,
  oauth: { clientId: undefined, clientSecret: undefined, scope: undefined, callbackPort: undefined },
};
const DIAL_IN: DialInServer = { ...COMMON, transport: 'dial-in' };

const having = (said: string) => ({
  failure: undefined,
  lastWords: () => lastWords(said, 5),
  lastLine: () => lastLine(said),
});
const ended = (how: string, cwd = '/') => ({ how, cwd });
const messageAndHint = ({ message, hint }: BridgeError): unknown => [message, hint];

describe('a server that could not be started', () => {
  const ENOENT = 'could not be started: ENOENT';

  test.each([
    ['the directory', program('/bin/true', '/no/such/dir'), 'its directory does not exist: /no/such/dir'],
    ['the program', program('/no/such/program'), 'there is no program /no/such/program'],
    ['the program below a directory', program('./no-such', '/usr'), 'there is no program ./no-such in /usr'],
    [
      'the program on the PATH',
      program('no-such'),
      'there is no program no-such on the PATH of the bridge; mcp-bridge restart gives it that of your shell',
    ],
  ])('names %s that is not there', (_, definition, missing) => {
    const error = startFailure(definition, having(''), ended(ENOENT));
    expect(messageAndHint(error)).toEqual([`Server s could not be started: ${missing}`, undefined]);
  });

  test('names a program that is there, without its interpreter, also from the directory of the bridge', () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, 'server'), '#!/no/such/interpreter\n');
    chmodSync(join(dir, 'server'), 0o700);
    for (const definition of [program(join(dir, 'server')), program('./server', dir), program('./server')]) {
      const error = startFailure(definition, having(''), ended(ENOENT, dir));
      expect(error.message).toBe(
        `Server s could not be started: the interpreter that ${definition.command} names is not there`,
      );
    }
  });

  test('says its one line that tells most, and has all of its last words in the hint', () => {
    const said = 'starting\nError: TOKEN is not set\n';
    expect(messageAndHint(startFailure(program('node'), having(said), ended('ended with code 1')))).toEqual([
      'Server s ended with code 1: Error: TOKEN is not set',
      'Its last words were: starting\nError: TOKEN is not set',
    ]);
    const once = startFailure(program('node'), having('TOKEN is not set\n'), ended('ended with code 1'));
    expect(messageAndHint(once)).toEqual(['Server s ended with code 1: TOKEN is not set', undefined]);
    const long = startFailure(program('node'), having('x'.repeat(1000)), ended('ended with code 1'));
    expect(long.message).toBe(`Server s ended with code 1: ${'x'.repeat(200)}`);
  });

  test.each([
    ['its command', program('node'), 'Check its command: node'],
    ['its url, without what may be secret', REMOTE, 'Check its url, at https://a.example'],
    ['its program, if it comes by itself', DIAL_IN, 'Check the output of its program.'],
  ])('without a word has people look at %s', (_, definition, remedy) => {
    expect(messageAndHint(startFailure(definition, having(''), ended('ended')))).toEqual([
      `Server s ended: ${remedy}`,
      undefined,
    ]);
    const refused = refusedStart(definition, Object.assign(new Error('spawn E2BIG'), { code: 'E2BIG' }));
    expect(messageAndHint(refused)).toEqual(['Server s could not be started: E2BIG', remedy]);
  });

  test('passes on a more exact error', () => {
    const failure = new BridgeError('SERVER_AUTH_REQUIRED', 'Sign in');
    expect(startFailure(REMOTE, { ...having('said'), failure }, ended('ended'))).toBe(failure);
    expect(refusedStart(REMOTE, failure)).toBe(failure);
  });
});

describe('a server that has gone', () => {
  test.each([
    [program('node'), 'The next call starts the server again.'],
    [DIAL_IN, 'It is there again once it has connected again.'],
  ])('says what brings it back', (definition, hint) => {
    const error = crash(definition, 'ended with code 1');
    expect(messageAndHint(error)).toEqual(['Server s ended with code 1 during the call; its outcome is unknown', hint]);
  });

  test('again and again says why, and when it is tried once more', () => {
    const limits = { ...DEFAULT_LIMITS, maxDeathsPerMinute: 5, brokenMs: 60_000 };
    expect(messageAndHint(brokenServer('s', 'Server s ended with code 1', limits))).toEqual([
      'Server s has died 5 times within a minute: Server s ended with code 1',
      'A call starts it again 60 s after it last died.',
    ]);
  });
});
