// Config files of every kind, read by the real command and followed by a real daemon.

import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { textOf } from '../support/raw-client.ts';
import { fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const CONTENT = { client: { view: 'all' }, mcpServers: { first: fixtureServer() }, discovery: { enabled: false } };

/** As the file says it, in the language of its ending. */
function textFor(ending: string, content: object): string {
  const json = JSON.stringify(content);
  if (ending === 'jsonc') return `// A comment\n${json.slice(0, -1)},}`;
  if (ending === 'js') return `module.exports = ${json};`;
  if (ending === 'mjs') return `import { join } from 'node:path';\nexport default join && ${json};`;
  return ending === 'ts' ? `interface All { client: object }\nexport default ${json} satisfies All;` : json;
}

/** Replaced at once, as editors do it. */
function write(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

function withTypeScript(dir: string): void {
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(join(ROOT, 'node_modules/typescript'), join(dir, 'node_modules/typescript'));
}

describe.each(['json', 'jsonc', 'js', 'mjs', 'ts'])('a config file that ends in .%s', (ending) => {
  test('is checked, counts for a daemon, and is followed', async () => {
    const dir = realpathSync(tempDir());
    withTypeScript(dir);
    const file = join(dir, `own.${ending}`);
    write(file, textFor(ending, CONTENT));
    const checked = await runCommand(['config', 'check', file, '--json']);
    expect([checked.code, JSON.parse(checked.stdout)]).toMatchObject([0, { file, findings: [] }]);
    const daemon = await TestDaemon.start(undefined, { dir, args: ['--config', file] });
    ends.push(() => daemon.stop());
    const client = await daemon.client();
    await client.request(0, 'tools/list');
    expect(textOf(await client.callTool(1, 'first__echo', { text: 'hi' }))).toBe('hi');
    write(file, textFor(ending, { ...CONTENT, mcpServers: { second: fixtureServer() } }));
    for (let method: unknown; method !== 'notifications/tools/list_changed'; ) ({ method } = await client.next());
    expect(textOf(await client.callTool(2, 'second__echo', { text: 'hi' }))).toBe('hi');
    expect((await client.callTool(3, 'first__echo')).error?.code).toBe(-32602);
    expect((await daemon.status()).configFaults).toEqual([]);
    client.destroy();
  });
});

describe('a config file in a form that this Node does not take', () => {
  const isOlder = Number.parseInt(process.versions.node, 10) < 22;
  const check = async (name: string, text: string) => {
    const file = join(tempDir(), name);
    writeFileSync(file, text);
    return runCommand(['config', 'check', file]);
  };

  test('that is TypeScript is read, or the command says what to do', async () => {
    const { code, stdout } = await check('a.ts', 'export default { client: {} } satisfies object;');
    if (isOlder)
      expect(stdout).toMatch(/failed: .* \(Types are understood by Node 22\.18 and newer, .*leave the types out\.\)/);
    expect(code).toBe(isOlder ? 1 : 0);
  });
});

describe('config check', () => {
  test('names the fault, exits with 1, and shows no secret', async () => {
    const file = join(tempDir(), 'own.json');
    writeFileSync(file, '{\n  "mcpServers": { "a": { "comand": "x", "env": { "TOKEN": "hunter2hunter2" } } }\n}');
    const { code, stdout, stderr } = await runCommand(['config', 'check', file]);
    expect([code, stderr]).toEqual([1, '']);
    expect(stdout).toContain(`own.json:2:26: error: mcpServers.a.comand is not known (did you mean command?)`);
    expect(stdout).toContain('warning: mcpServers.a.env.TOKEN looks like a secret');
    expect(stdout).not.toContain('hunter2');
  });

  test('is used as it says', async () => {
    expect(await runCommand(['config'])).toMatchObject({ code: 2, stderr: expect.stringContaining('config check') });
    expect(await runCommand(['config', 'chekc'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean config check'),
    });
    expect(await runCommand(['config', 'check', '--wrong'])).toMatchObject({
      code: 2,
      stderr: 'mcp-bridge: Unknown option --wrong. See: mcp-bridge config check --help\n',
    });
    expect(await runCommand(['config', 'check', 'missing.json'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no config file'),
    });
    expect((await runCommand(['config', 'path'])).stdout).toMatch(/\/config\.json\n$/);
  });
});

test('synonyms of the config are understood in searches, and followed without a restart', async () => {
  const dir = tempDir();
  const config = (synonyms: string[][]) => ({
    ...CONTENT,
    client: { view: 'discover' },
    discovery: { enabled: false, search: { synonyms } },
  });
  const daemon = await TestDaemon.start(config([]), { dir });
  ends.push(() => daemon.stop());
  const client = await daemon.client();
  const firstFor = async (query: string): Promise<string | undefined> => {
    const found = JSON.parse(textOf(await client.callTool(query, 'search_tools', { query }))) as {
      results: { tool: string }[];
    };
    return found.results[0]?.tool;
  };
  expect(await firstFor('parrot')).toBeUndefined();
  write(join(dir, 'config.json'), JSON.stringify(config([['parrot', 'echo']])));
  while ((await firstFor('parrot')) !== 'echo') await new Promise((resolve) => setTimeout(resolve, 10));
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 0 }]);
  client.destroy();
});
