// The examples under the help of each command, run as they stand there, in a home that has what they speak of: in a shell
// where a shell does something with them, else in this process.

import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { type CommandResult, runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { fixtureServer, PROGRAM, ROOT, tempDir } from '../support/test-daemon.ts';

const CHANGING = join(ROOT, 'test/fixtures/servers/changing-tools.mjs');
const PATHS = { type: 'array', items: { type: 'string' } };
const TOOLS = [
  { name: 'read_file', inputSchema: { type: 'object', properties: { path: { type: 'string' } } } },
  { name: 'read_many', inputSchema: { type: 'object', properties: { paths: PATHS } } },
  { name: 'take_picture', inputSchema: { type: 'object' } },
];

/** Those that go on until somebody ends them or opens a page, show what only a terminal shows, or are tested for themselves. */
const ENDLESS = /^(?:serve|top|ui|status --watch|(?:logs|events) --follow|demo|announce|attach|connect|"\$EDITOR")/;
/** What cannot be done here, as there is nobody to sign in to or to send to, no NATS, nothing is typed, and no server has such a thing. */
const REFUSED =
  /^(?:auth docs$|hosts --make-buckets |send |input (?:set|remove) |resources (?:read|list --server docs)|prompts get )/;
/** What says by its exit code that something is not there: a service, and the server that another example has added. */
const WANTING = /^(?:service status|doctor --start)$/;

/** A shell hands on these words as they are. */
const PLAIN = /^[\w ./:=@-]+$/;

const examples = Object.values(COMMANDS).flatMap(({ examples: lines }) => lines);
const tried = examples.filter((line) => !ENDLESS.test(line));

let home: string;
let options: { env: Record<string, string>; cwd: string };
beforeAll(async () => {
  home = realpathSync(tempDir());
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'mcp-bridge'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(join(bin, 'mcp-bridge'), 0o755);
  for (const dir of ['.local/share/bash-completion/completions', '.zsh/completions', '.config/fish/completions'])
    mkdirSync(join(home, dir), { recursive: true });
  const file = join(home, 'tools.json');
  const said = (name: string) => ({ command: process.execPath, args: [CHANGING, file, name] });
  writeFileSync(file, JSON.stringify({ tools: TOOLS }));
  writeFiles(home, {
    '.config/mcp-bridge/config.json': {
      mcpServers: { files: said('files'), camera: said('camera'), github: said('github') },
    },
    '.cursor/mcp.json': { mcpServers: { own: fixtureServer() } },
    'p/.git/HEAD': '',
    'p/.mcp.json': { mcpServers: { database: said('database') } },
    'p/team.json': { mcpServers: {} },
  });
  const PATH = [bin, process.env.PATH].join(delimiter);
  const xdg = { XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '' };
  options = { env: { ...xdg, HOME: home, PATH, MCP_BRIDGE_SOCKET: join(home, 'b.sock') }, cwd: join(home, 'p') };
  await runCommand(['start'], options);
});
afterAll(async () => {
  await runCommand(['stop'], options);
});

function shell(line: string): Promise<CommandResult> {
  const env = { ...process.env, ...options.env };
  return new Promise((resolve) => {
    const child = execFile('/bin/sh', ['-c', line], { env, cwd: options.cwd }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    child.stdin?.end();
  });
}

test.each(tried)('%s', async (line) => {
  const typed = line === 'approve database' ? `${line} --yes` : line; // a person is asked
  const { code, stderr } = PLAIN.test(typed)
    ? await runCommand(typed.split(' '), options)
    : await shell(typed.includes('mcp-bridge ') ? typed : `mcp-bridge ${typed}`);
  if (REFUSED.test(line)) expect([code, stderr]).toEqual([1, expect.stringMatching(/^mcp-bridge: /)]);
  else expect(code, stderr).toBe(WANTING.test(line) ? 1 : 0);
});

test('most are tried', () => {
  expect(tried.length).toBeGreaterThan(50);
});
