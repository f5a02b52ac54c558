// Eight servers as people run them: four published ones, each twice, with settings of its own.
import { mkdirSync } from 'node:fs';
import { program } from './workspace.mjs';

const packageProgram = (name) => program(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);

/** Name -> { command, args, env }, as in a configuration. */
export function realServers(workspace) {
  return Object.fromEntries(['one', 'two'].flatMap((which) => pairOf(workspace, which)));
}

function pairOf(workspace, which) {
  const folder = workspace.newPath('folder');
  mkdirSync(folder);
  return [
    [`everything-${which}`, server('everything', { args: ['stdio'] })],
    [`files-${which}`, server('filesystem', { args: [folder] })],
    [`memory-${which}`, server('memory', { env: { MEMORY_FILE_PATH: workspace.newPath('jsonl') } })],
    [`thinking-${which}`, server('sequential-thinking', { env: { DISABLE_THOUGHT_LOGGING: 'true' } })],
  ];
}

function server(name, { args = [], env = {} }) {
  return { command: process.execPath, args: [packageProgram(name), ...args], env };
}

/** The same as one command. `env` becomes the server, so there is no process more. */
export function commandOf({ command, args, env }) {
  return ['env', ...Object.entries(env).map(([name, value]) => `${name}=${value}`), command, ...args];
}
