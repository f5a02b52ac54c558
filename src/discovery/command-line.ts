// The program that a command line really starts, inside a shell or `env`. Only for comparing; servers start as written.

import { programName } from '../util/executed-words.ts';

export { programName };

export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables that `env` adds. */
  readonly env: Readonly<Record<string, string>>;
}

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh']);
const DEEPEST = 3;

export function unwrapped(command: string, args: readonly string[]): CommandLine {
  let line: CommandLine = { command, args, env: {} };
  for (let depth = 0; depth < DEEPEST; depth++) {
    const inner = insideOf(line);
    if (inner === undefined) return line;
    line = { ...inner, env: { ...line.env, ...inner.env } };
  }
  return line;
}

function insideOf({ command, args }: CommandLine): CommandLine | undefined {
  const name = programName(command).toLowerCase();
  if (name === 'cmd') return insideCmd(args);
  if (name === 'env') return insideEnv(args);
  return SHELLS.has(name) ? insideShell(args) : undefined;
}

function insideCmd(args: readonly string[]): CommandLine | undefined {
  const at = args.findIndex((arg) => /^\/[ck]$/i.test(arg));
  if (at < 0 || !args.slice(0, at).every((arg) => arg.startsWith('/'))) return undefined;
  const rest = args.slice(at + 1);
  return lineOf(rest.length === 1 ? shellWords(rest[0] ?? '') : rest);
}

function insideEnv(args: readonly string[]): CommandLine | undefined {
  const at = args.findIndex((arg) => !arg.includes('=') || arg.startsWith('-'));
  if (at < 0 || args[at]?.startsWith('-')) return undefined;
  const line = lineOf(args.slice(at));
  const pairs = args.slice(0, at).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  return line && { ...line, env: Object.fromEntries(pairs) };
}

function insideShell(args: readonly string[]): CommandLine | undefined {
  const at = args.findIndex((arg) => /^-[a-z]*c$/.test(arg));
  if (at < 0 || !args.slice(0, at).every((arg) => arg.startsWith('-'))) return undefined;
  const words = shellWords(args[at + 1] ?? '');
  return lineOf(words?.[0] === 'exec' ? words.slice(1) : words);
}

function lineOf(words: readonly string[] | undefined): CommandLine | undefined {
  const [command, ...args] = words ?? [];
  return command === undefined ? undefined : { command, args, env: {} };
}

const WORD = /\s*((?:[^\s"'\\$`|&;<>()*?{}[\]#]|"[^"$`\\]*"|'[^']*'|\\.)+)/y;

/** The words of a simple command; undefined if a shell would do anything more with the text. */
function shellWords(text: string): string[] | undefined {
  const words: string[] = [];
  WORD.lastIndex = 0;
  const whole = text.trim();
  while (WORD.lastIndex < whole.length) {
    const word = WORD.exec(whole)?.[1];
    if (word === undefined) return undefined;
    words.push(
      word.replace(/"([^"]*)"|'([^']*)'|\\(.)/g, (_, a?: string, b?: string, c?: string) => a ?? b ?? c ?? ''),
    );
  }
  return words;
}
