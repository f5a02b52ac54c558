// Which words of a command line say what is run: the program, what it starts in turn, and where that comes from. A mask
// must never hide one of these, whatever it looks like.

import { programName } from './command-line.ts';

const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  ...{ npx: [], pnpx: [], bunx: [], uvx: [], npm: ['exec', 'x', 'run'], pnpm: ['dlx', 'exec', 'run'] },
  ...{
    yarn: ['dlx', 'exec', 'run'],
    bun: ['x', 'run'],
    uv: ['run', 'tool'],
    pipx: ['run'],
    go: ['run'],
    cargo: ['run'],
  },
  ...{ mise: ['exec', 'x'], poetry: ['run'], pdm: ['run'], hatch: ['run'], conda: ['run'], deno: ['run'] },
};
const WRAPPERS =
  /^(?:env|sudo|doas|nice|nohup|time|timeout|exec|command|builtin|xargs|setsid|stdbuf|cmd|call|start|winpty)$/;
const INTERPRETERS =
  /^(?:node|tsx|ts-node|python[\d.]*|perl|ruby|php|lua|java|pwsh|powershell|(?:ba|da|z|k|fi)?sh|source|\.)$/i;
const IMAGES = /^(?:docker|podman|nerdctl)$/;
const WITH_VALUE = new Set([
  ...['-p', '--package', '--from', '--with', '--spec', '--python', '--registry', '--userconfig', '--prefix', '--cache'],
  ...['-r', '--require', '--import', '--loader', '--experimental-loader', '-m', '-i', '--index-url', '--index'],
  ...['-w', '--workspace', '--directory', '--project', '--env-file', '--call', '-jar', '-cp', '--entrypoint', '-v'],
  ...[
    '--volume',
    '--mount',
    '--name',
    '--network',
    '--net',
    '--platform',
    '-C',
    '--cwd',
    '-u',
    '--user',
    '-e',
    '--env',
  ],
]);
const SWITCH = /^(?:--|-y|-q|-s|--yes|--quiet|--silent|--prefer-o(?:ffl|nl)ine|--offline|--no-install|--no)$/;
/** Words before the one that is run, in a row of wrappers. */
const DEEPEST = 8;

/** The places of these words, the program's own included. */
export function executedWords(words: readonly string[]): Set<number> {
  const executed = new Set<number>();
  let at = 0;
  for (let depth = 0; depth < DEEPEST && at < words.length; depth++) {
    executed.add(at);
    const name = programName(words[at] ?? '').toLowerCase();
    if (!WRAPPERS.test(name)) {
      startedBy(name, words, at + 1, executed);
      break;
    }
    at++;
    while (at < words.length && isBeforeProgram(words[at] ?? '')) at++;
  }
  return executed;
}

/** An option, a variable, or a number of a wrapper. */
function isBeforeProgram(word: string): boolean {
  return /^(?:-|\/[a-z]$|[A-Za-z_]\w*=|\d+[smhd]?$)/i.test(word);
}

function startedBy(name: string, words: readonly string[], from: number, executed: Set<number>): void {
  const verbs = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
  const isImage = IMAGES.test(name);
  if (verbs === undefined && !isImage && !INTERPRETERS.test(name)) return;
  let at = from;
  while (verbs?.includes(words[at] ?? '') === true || (isImage && ['run', 'container'].includes(words[at] ?? ''))) at++;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) {
      executed.add(at);
      return;
    }
    // What is set for it in its environment is no part of what is run.
    const isVariable = /^(?:-e|--env)$/.test(word);
    if (!word.includes('=') && WITH_VALUE.has(word) && !(isImage && word === '-i')) {
      at++;
      if (!isVariable) executed.add(at);
    } else if (!/^--env=/.test(word)) {
      executed.add(at);
      // npm takes what follows an option that it does not know for its value, or for the package.
      if (/^(?:npx|npm|pnpm|pnpx)$/.test(name) && !word.includes('=') && !SWITCH.test(word)) executed.add(++at);
    }
  }
}
