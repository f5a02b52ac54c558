// What of a definition depends on the directory that a client works in: data does, and what is run does not.

import { expect, test } from 'vitest';
import { inProject } from '../../../src/downstream/project.ts';
import type { StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';

function placed(command: string, args: readonly string[], fields: Partial<StdioServer> = {}): StdioServer {
  const common = { name: 's', description: '', timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined };
  const definition: StdioServer = {
    ...common,
    ...{ transport: 'stdio', command, args, env: {}, cwd: undefined, dir: '/home/u/.config/mcp-bridge' },
    ...{ sharing: undefined, trustHints: false, tools: NO_FILTER, ...fields },
  };
  const found = inProject(definition, '/repo');
  if (found.transport !== 'stdio') throw new Error('a process stays one');
  return found;
}

const OWN = '/home/u/.config/mcp-bridge';

test.each<[string, string[], string, string[]]>([
  ['bin/server', [], `${OWN}/bin/server`, []],
  ['./server', ['.'], `${OWN}/server`, ['/repo']],
  ['npx', ['-y', 'server', '.', '../x', 'a/b'], 'npx', ['-y', 'server', '/repo', '/x', 'a/b']],
  ['npx', ['-y', './pkg', './data'], 'npx', ['-y', `${OWN}/pkg`, '/repo/data']],
  ['npx', ['-y', '@scope/name@1', '.'], 'npx', ['-y', '@scope/name@1', '/repo']],
  ['npm', ['exec', '--', './pkg', '.'], 'npm', ['exec', '--', `${OWN}/pkg`, '/repo']],
  ['pnpm', ['dlx', 'server', '.'], 'pnpm', ['dlx', 'server', '/repo']],
  ['bunx', ['server', '.'], 'bunx', ['server', '/repo']],
  ['uvx', ['--from', './here', 'server', '.'], 'uvx', ['--from', `${OWN}/here`, 'server', '/repo']],
  ['uv', ['--directory', '.', 'run', 'server'], 'uv', ['--directory', OWN, 'run', 'server']],
  ['pipx', ['run', 'server', '.'], 'pipx', ['run', 'server', '/repo']],
  ['node', ['build/index.js', './data'], 'node', [`${OWN}/build/index.js`, '/repo/data']],
  [
    'node',
    ['--require', './hook.js', './server.js', '.'],
    'node',
    ['--require', `${OWN}/hook.js`, `${OWN}/server.js`, '/repo'],
  ],
  ['python', ['-m', 'server', '.'], 'python', ['-m', 'server', '/repo']],
  ['python3', ['server.py', '.'], 'python3', [`${OWN}/server.py`, '/repo']],
  ['deno', ['run', '-A', './main.ts', '.'], 'deno', ['run', '-A', `${OWN}/main.ts`, '/repo']],
  ['go', ['run', '.', './data'], 'go', ['run', OWN, '/repo/data']],
  ['docker', ['run', '-i', 'image', '.'], 'docker', ['run', '-i', 'image', '/repo']],
  ['env', ['A=1', './server', '.'], 'env', ['A=1', `${OWN}/server`, '/repo']],
  ['/bin/sh', ['./server.sh', '.'], '/bin/sh', [`${OWN}/server.sh`, '/repo']],
  ['/opt/server', ['--root', '.'], '/opt/server', ['--root', '/repo']],
])('%s %j', (command, args, itsCommand, itsArgs) => {
  expect(placed(command, args)).toMatchObject({ command: itsCommand, args: itsArgs, cwd: undefined, dir: OWN });
});

test('a definition that names its directory itself stays as it is', () => {
  const cwd = ['$', '{PWD}'].join('');
  expect(placed('./server', ['.'], { cwd })).toMatchObject({ command: './server', args: ['.'], cwd: '/repo' });
});
