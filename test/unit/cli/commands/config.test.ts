// `mcp-bridge config`: which file counts, and what is said of it.

import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ConfigValues, checkConfigs, showConfigPath } from '../../../../src/cli/commands/config.ts';
import { type FakeHost, fakeHost } from '../../../support/cli-host.ts';
import { writeFiles } from '../../../support/file-tree.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

/** A home with a project `p` in it, where the command is run. */
function host(files: Readonly<Record<string, unknown>>): FakeHost {
  const home = temporaryDir();
  writeFiles(home, { 'p/.keep': '', ...files });
  return fakeHost(home, join(home, 'p'));
}

async function check(on: FakeHost, values: ConfigValues = {}): Promise<readonly [code: number, lines: string[]]> {
  const code = await checkConfigs(values, on);
  return [code, on.said().trimEnd().split('\n')];
}

const USER = '.config/mcp-bridge/config.json';
const PROJECT = 'p/mcp-bridge.config.json';

describe('config check', () => {
  test('says that nothing is needed where there is nothing', async () => {
    expect(await check(host({}))).toEqual([
      0,
      [
        'There is no config file in ~/p',
        'There is no config file in ~/.config/mcp-bridge',
        'No config file is needed.',
      ],
    ]);
  });

  test('describes each existing file, and checks those that count', async () => {
    const on = host({ [USER]: { limits: { x: 1 } }, [PROJECT]: {}, 'p/mcp-bridge.config.mjs': 'process.exit(9)' });
    expect(await check(on)).toEqual([
      1,
      [
        '~/p/mcp-bridge.config.json is used by serve here, and by start after a yes; others take mcpBridge.socketPath and client from it',
        '~/p/mcp-bridge.config.mjs is passed over: mcp-bridge.config.json stands before it',
        '~/.config/mcp-bridge/config.json is used where mcp-bridge.config.json is not: by the daemon that connect starts',
        '~/.config/mcp-bridge/config.json:1:12: error: limits.x is not known',
        '1 error, 0 warnings.',
      ],
    ]);
  });

  test('runs no program of the working directory that was not named, and says so', async () => {
    const program = "import { writeFileSync } from 'node:fs';\nwriteFileSync('RAN', '');\nexport default {};\n";
    const on = host({ 'p/mcp-bridge.config.mjs': program.replace('RAN', join('/nowhere', 'ran')) });
    const [code, lines] = await check(on);
    expect([code, lines[0]]).toEqual([
      0,
      '~/p/mcp-bridge.config.mjs is a program: serve runs it here, start after a yes, nobody else does',
    ]);
    expect(lines[2]).toBe(
      '~/p/mcp-bridge.config.mjs: warning: is a program, and was not run ' +
        '(mcp-bridge config check ~/p/mcp-bridge.config.mjs runs and checks it)',
    );
    const [named, said] = await check(on, { file: 'mcp-bridge.config.mjs' });
    expect([named, said[1]]).toEqual([1, expect.stringContaining('mcp-bridge.config.mjs failed: ENOENT')]);
    expect(existsSync('/nowhere/ran')).toBe(false);
  });

  test('runs the program that is the own config, as all commands do', async () => {
    const on = host({ '.config/mcp-bridge/config.mjs': 'export default { client: { view: "al" } };' });
    expect(await check(on)).toEqual([
      1,
      [
        'There is no config file in ~/p',
        '~/.config/mcp-bridge/config.mjs is used',
        '~/.config/mcp-bridge/config.mjs: error: client.view is discover, all, code, or server:NAME',
        '1 error, 0 warnings.',
      ],
    ]);
  });

  test('checks the file that is named, and no other', async () => {
    const on = host({ [USER]: { x: 1 }, 'other/own.jsonc': '{ "mcpServers": { "a": { "command": 7 } } }' });
    for (const values of [{ file: '../other/own.jsonc' }, { config: '../other/own.jsonc' }])
      expect(await check(on, values)).toEqual([
        1,
        [
          '~/other/own.jsonc was named, so only this one is used',
          '~/other/own.jsonc:1:37: error: mcpServers.a.command must be a string that is not empty',
          '1 error, 0 warnings.',
        ],
      ]);
    await expect(check(on, { file: 'missing.json' })).rejects.toMatchObject({ code: 'CONFIG_NOT_FOUND' });
  });

  test('tells rules of policy that fit nothing, at their place', async () => {
    const policy = {
      allowedMcpServers: [{ serverName: 'a b' }],
      deniedMcpServers: [{ serverName: 'x' }, { who: 'y' }],
    };
    const [code, lines] = await check(host({ [USER]: JSON.stringify({ policy }) }));
    expect(code).toBe(1);
    expect(lines.slice(2, -1)).toEqual([
      expect.stringMatching(/:1:33: error: policy\.allowedMcpServers\[0\] fits nothing: a name/),
      expect.stringMatching(/:1:94: error: policy\.deniedMcpServers\[1\] must have exactly one of /),
    ]);
  });

  test('warns of a secret only in a file that others may read', async () => {
    const servers = { mcpServers: { a: { command: 'x', env: { TOKEN: 'hunter2hunter2' } } } };
    const on = host({ [USER]: servers });
    chmodSync(join(on.homedir, USER), 0o600);
    expect((await check(on))[1].at(-1)).toBe('0 errors, 0 warnings.');
    chmodSync(join(on.homedir, USER), 0o644);
    const [code, lines] = await check(on);
    expect([code, lines.at(-1)]).toEqual([0, '0 errors, 1 warning.']);
    expect(lines.join('\n')).not.toContain('hunter2');
  });

  test('escapes terminal sequences in a file', async () => {
    const on = host({ [USER]: { mcpServers: { 'a\u001b[31m\u202e': {} } } });
    const [, lines] = await check(on);
    expect(lines.join('\n')).toContain('mcpServers.a\\u{1b}[31m\\u{202e}');
    for (const mover of ['\u001b', '\u202e']) expect(lines.join('\n')).not.toContain(mover);
  });

  test('says the same to scripts', async () => {
    const on = host({ [USER]: { client: { id: 7 } } });
    expect(await checkConfigs({ json: true }, on)).toBe(1);
    const report = JSON.parse(on.said()) as { candidates: object[] };
    const file = join(on.homedir, USER);
    expect(report).toMatchObject({
      file,
      errors: 1,
      warnings: 0,
      findings: [{ file, line: 1, column: 17, level: 'error', place: 'client.id', problem: expect.any(String) }],
    });
    expect(report.candidates).toHaveLength(10);
    expect(report.candidates).toContainEqual({ file, origin: 'user', exists: true, counts: true, reason: 'is used' });
  });
});

test('config path names the file that counts, or the one that would be written', async () => {
  const none = host({});
  await showConfigPath({}, none);
  expect(none.said()).toBe(`${join(none.homedir, USER)}\n`);
  const both = host({ [USER]: {}, [PROJECT]: {} });
  await showConfigPath({ json: true }, both);
  expect(JSON.parse(both.said())).toEqual({ file: join(both.homedir, PROJECT), exists: true });
});
