// The commands of README.md and docs/getting-started.md, typed as they stand there by somebody who has no server, and by
// somebody who has some, one of which does not start.

import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { runExample, typedIn } from '../support/console-page.ts';
import { fixtureServer, PROGRAM, ROOT, tempDir } from '../support/test-daemon.ts';

interface Home {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

let home: Home | undefined;
afterEach(async () => {
  if (home !== undefined) await runCommand(['stop'], home);
  home = undefined;
});

/** A home with a clone of the project in it, where `mcp-bridge` is installed. */
function newHome(files: Readonly<Record<string, object>>): Home {
  const HOME = tempDir();
  const [bin, cwd] = [join(HOME, 'bin'), join(HOME, 'clone')];
  for (const dir of [bin, cwd, join(HOME, '.cursor')]) mkdirSync(dir);
  symlinkSync(join(ROOT, 'dist'), join(cwd, 'dist'));
  writeFileSync(join(bin, 'mcp-bridge'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(join(bin, 'mcp-bridge'), 0o755);
  for (const [name, value] of Object.entries(files)) writeFileSync(join(HOME, name), JSON.stringify(value));
  const env: NodeJS.ProcessEnv = { ...process.env, HOME, PATH: [bin, process.env.PATH].join(delimiter) };
  for (const name of Object.keys(env)) if (name.startsWith('XDG_')) delete env[name];
  return { cwd, env: { ...env, MCP_BRIDGE_SOCKET: join(HOME, 'b.sock') } };
}

const NOBODY = {};
const SOMEBODY = {
  '.claude.json': { mcpServers: { notes: fixtureServer(), broken: { command: '/nowhere/to/be/found' } } },
  '.cursor/mcp.json': { mcpServers: { files: fixtureServer({ WHICH: 'files' }) } },
};

/** What changes the machine that runs the tests, or fetches from others. */
const ELSEWHERE = /\b(?:make|npm|npx|rm|service)\b/;

/** Types one line after the other; the output of each, once it has ended with 0. */
async function typed(page: string, from: Home): Promise<Map<string, string>> {
  const commands = typedIn(readFileSync(join(ROOT, page), 'utf8')).filter((line) => !ELSEWHERE.test(line));
  const steps = commands.map((command) => ({ command: `${command}\necho "=$?"`, output: '' }));
  const outputs = await runExample({ title: page, steps }, from);
  return new Map(
    commands.map((command, i) => {
      expect(outputs[i], `${page}: ${command}`).toMatch(/=0\n$/);
      return [command, outputs[i] ?? ''];
    }),
  );
}

describe.each([
  ['nobody has defined a server', NOBODY, ['example']],
  ['servers are defined, one of which does not start', SOMEBODY, ['notes', 'files', 'broken']],
] as const)('where %s', (_, files, servers) => {
  test('each step of the README works', async () => {
    home = newHome(files);
    await runCommand(['start'], home);
    const outputs = await typed('README.md', home);
    const said = (start: RegExp): string => [...outputs].find(([command]) => start.test(command))?.[1] ?? '';
    for (const name of servers) {
      expect(said(/^printf/)).toContain(`\\"name\\":\\"${name}\\"`);
      expect(said(/^node \S+ servers/)).toMatch(new RegExp(`^${name} `, 'm'));
      expect(said(/^node \S+ status/)).toMatch(new RegExp(`^${name} `, 'm'));
    }
    expect(said(/^node \S+ tools/)).toContain(`${servers[0]} `);
  });

  test('each step of Getting started works', async () => {
    home = newHome(files);
    const outputs = await typed('docs/getting-started.md', home);
    expect(outputs.get('mcp-bridge servers                       # starts the daemon, if none runs')).toContain(
      servers[0],
    );
    expect(outputs.get('mcp-bridge uninstall cursor              # and each other one')).toContain('Cursor');
  });
});
