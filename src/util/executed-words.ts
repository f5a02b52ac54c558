// Finds the words of a command line that say what it runs: the program, what that starts in turn, and where that comes
// from. A mask must never hide one of these words, whatever it looks like.

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
  ...['-i', '--index-url', '--index'],
  ...['-w', '--workspace', '--directory', '--project', '--env-file', '--call', '--entrypoint', '-v'],
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
/** The maximum number of wrappers in a row before the program. */
const DEEPEST = 8;

/** The last part of a Unix or Windows path, without a program's extension. */
export function programName(command: string): string {
  const name = command.slice(Math.max(command.lastIndexOf('/'), command.lastIndexOf('\\')) + 1);
  return name.replace(/\.(?:cmd|exe|bat|ps1)$/i, '');
}

/** The places of these words, including the program's own. */
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

/** True for an option, a variable, or a number of a wrapper. */
function isBeforeProgram(word: string): boolean {
  return /^(?:-|\/[a-z]$|[A-Za-z_]\w*=|\d+[smhd]?$)/i.test(word);
}

function startedBy(name: string, words: readonly string[], from: number, executed: Set<number>): void {
  if (INTERPRETERS.test(name)) return interpreted(words, from, executed);
  const isImage = IMAGES.test(name);
  const subcommands = isImage ? ['run', 'container'] : Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
  if (subcommands === undefined) return;
  for (let at = from; at < words.length; at++) {
    const word = words[at] ?? '';
    if (subcommands.includes(word)) continue;
    executed.add(at);
    if (!word.startsWith('-')) return;
    // A variable for the program's environment does not say what it runs.
    const isVariable = /^(?:-e|--env)(?:$|=)/.test(word);
    if (isVariable) executed.delete(at);
    if (word.includes('=') || (isImage && word === '-i')) continue;
    // npm takes the word after an unknown option as its value, or as the package.
    const isUnknown = /^(?:npx|npm|pnpm|pnpx)$/.test(name) && !SWITCH.test(word);
    if (!WITH_VALUE.has(word) && !isUnknown) continue;
    at++;
    if (!isVariable) executed.add(at);
  }
}

/** Adds the words after an interpreter: options, then a script, a module, or the text of a program. */
function interpreted(words: readonly string[], from: number, executed: Set<number>): void {
  for (let at = from; at < words.length; at++) {
    const word = words[at] ?? '';
    executed.add(at);
    if (!word.startsWith('-')) return;
    if (GIVES_PROGRAM.test(word)) return void executed.add(at + 1);
    if (OF_INTERPRETERS.has(word)) executed.add(++at);
  }
}

const GIVES_PROGRAM = /^-(?:[a-z]*[ce]|m|p|jar|-eval|-print|(?:Encoded)?Command|File)$/i;
const OF_INTERPRETERS = new Set([
  ...['-r', '--require', '--import', '--loader', '--experimental-loader', '--env-file', '-C', '--conditions'],
  ...['-W', '-X', '-I', '-cp', '-classpath'],
]);

/**
 * The places of words that name a program or script by a path in the working directory: words that begin with a dot, a
 * command with a slash, and an interpreter's script.
 */
export function relativePrograms(words: readonly string[]): Set<number> {
  const executed = [...executedWords(words)];
  return new Set(
    executed.filter((at) => {
      const word = words[at] ?? '';
      if (/^\.\.?(?:\/|$)/.test(word)) return true;
      if (word.startsWith('/') || word.startsWith('-') || /[$%]\{|^\w+:/.test(word)) return false;
      if (at === 0) return word.includes('/');
      return isScriptOf(words, at, executed);
    }),
  );
}

/** True for the script of an interpreter. A module, a package and the text of a program have no path. */
function isScriptOf(words: readonly string[], at: number, executed: readonly number[]): boolean {
  const before = words[at - 1] ?? '';
  if (at !== executed.at(-1) || (GIVES_PROGRAM.test(before) && !/^-(?:jar|File)$/i.test(before))) return false;
  const runner = executed.find((other) => !WRAPPERS.test(programName(words[other] ?? '').toLowerCase()));
  return runner !== undefined && INTERPRETERS.test(programName(words[runner] ?? ''));
}
