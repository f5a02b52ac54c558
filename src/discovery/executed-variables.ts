// Which variables of the environment a script runs, and which it only hands to a program. A doubt counts as run: the value
// of a variable that may be executed is shown to whoever approves it, whatever its name looks like.

import { executedWords, programName } from '../util/executed-words.ts';
import { looksSecret } from '../util/secret-signs.ts';
import { isSteering } from './steering-variables.ts';

/**
 * `runs`: the value is a command, or part of one. `may-run`: the script uses it in some other way. `unused`: the script does
 * not name it, or hands it to a program as a secret (`--token "$NAME"`).
 */
export type VariableUse = 'runs' | 'may-run' | 'unused';

/** Words by which a shell comes to a variable without its name. */
const INDIRECT = /\beval\b|\$\{!/;
/** Words that say all variables, to whoever reads on in the same command. */
const ALL_VARIABLES = /(?<![.\w])(?:env|set|export|declare|typeset|printenv|compgen)\b/;
/** A part of a script that may pass on a value in a way that is not followed here. */
const NOT_FOLLOWED = /[|`<>(){}]/;
const HARMLESS = /\|\||\d?>&\d|\d?>\s*\/dev\/null/g;
const VARIABLE = /[$%!][{(]?(?:env:)?[#!]?([A-Za-z_]\w*)/g;
const ASSIGNMENT = /^([A-Za-z_]\w*)\+?=/;
/** Commands of a shell that run their arguments, or keep them to be run. */
const RUNS_ARGUMENTS = /^(?:eval|source|\.|trap|set|alias|for|select|case)$/;
const ASSIGNS_ARGUMENTS = /^(?:export|declare|typeset|local|readonly)$/;
const KEYWORD = /^(?:then|do|else|elif|if|while|until|not|!)$/;
/** Words of a program in another language that run what it has as a text. */
const RUNS_TEXT = /eval|exec|spawn|system|popen|Function|require|import|compile|subprocess/;
/** Neither one that a shell assigns nor one that it expands. */
const NAME = /(?<![\w$]|\$\{)[A-Za-z_]\w*(?![\w=])/g;

export class ScriptVariables {
  readonly #runs = new Set<string>();
  readonly #mayRun = new Set<string>();
  /** The variables that each assigned one takes its value from. */
  readonly #givers = new Map<string, Set<string>>();
  readonly #mayRunAll: boolean;

  constructor(script: string) {
    this.#mayRunAll = INDIRECT.test(script) || readsAllVariables(script);
    const text = script.replace(/\$\{([A-Za-z_]\w*)\}/g, '$$$1');
    const isFollowed = !NOT_FOLLOWED.test(text.replace(HARMLESS, ';'));
    for (const command of simpleCommands(text)) this.#read(command, isFollowed);
    if (RUNS_TEXT.test(script)) for (const [name] of script.matchAll(NAME)) this.#mayRun.add(name);
    this.#spread(this.#runs);
    this.#spread(this.#mayRun);
  }

  useOf(name: string): VariableUse {
    if (this.#runs.has(name)) return 'runs';
    return this.#mayRunAll || this.#mayRun.has(name) ? 'may-run' : 'unused';
  }

  #read(words: readonly string[], isFollowed: boolean): void {
    const first = words.findIndex((word) => !ASSIGNMENT.test(word) && !KEYWORD.test(word));
    const program = programName(words[first] ?? '');
    const runsAll = RUNS_ARGUMENTS.test(program);
    const executed = executedWords(first < 0 ? [] : words.slice(first));
    for (const [at, word] of words.entries()) {
      const names = [...word.matchAll(VARIABLE)].map(([, name = '']) => name);
      if (names.length === 0) continue;
      const [, assigned] = ASSIGNMENT.exec(word) ?? [];
      const isAssigned = assigned !== undefined && (first < 0 || at < first || ASSIGNS_ARGUMENTS.test(program));
      if (isAssigned) {
        this.#assign(assigned, names, isFollowed);
        continue;
      }
      const isRun = at >= first && (runsAll || executed.has(at - first));
      if (!isRun && isFollowed && isSecretOption(words, at)) continue;
      for (const name of names) (isRun ? this.#runs : this.#mayRun).add(name);
    }
  }

  #assign(assigned: string, names: readonly string[], isFollowed: boolean): void {
    if (isSteering(assigned)) for (const name of names) this.#runs.add(name);
    if (!isFollowed) for (const name of names) this.#mayRun.add(name);
    const givers = this.#givers.get(assigned) ?? new Set();
    for (const name of names) givers.add(name);
    this.#givers.set(assigned, givers);
  }

  /** A set grows while it is walked: each name is looked at once. */
  #spread(used: Set<string>): void {
    for (const name of used) for (const giver of this.#givers.get(name) ?? []) used.add(giver);
  }
}

/** Command by command: one expression for all of it takes a time that grows with the square of the length. */
function readsAllVariables(script: string): boolean {
  return script.split(/[;&\n]/).some((command) => {
    const at = command.search(ALL_VARIABLES);
    return at >= 0 && /[|`)]/.test(command.slice(at));
  });
}

/** The value of an option whose name says that it is a secret. */
function isSecretOption(words: readonly string[], at: number): boolean {
  const own = /^(--?[A-Za-z][\w-]*)=/.exec(words[at] ?? '')?.[1];
  const name = own ?? words[at - 1] ?? '';
  return /^(?:-H|--header)$/.test(name) || (/^--?[A-Za-z][\w-]*$/.test(name) && looksSecret(name));
}

const PART = /"(?:[^"\\]|\\.)*"|'[^']*'|\\.|([;&|\n(){}`]+)|(\s+)|[^\s"';&|(){}`\\]+|["'\\]/gs;

/** The words of each simple command, without their quotes. What stands in quotes that are not closed is a word too. */
function simpleCommands(script: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  let word = '';
  const endWord = (): void => {
    if (word !== '') words.push(word);
    word = '';
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (const [part, separator, space] of script.matchAll(PART)) {
    if (separator !== undefined) endCommand();
    else if (space !== undefined) part.includes('\n') ? endCommand() : endWord();
    else word += /^(["']).+\1$/s.test(part) ? part.slice(1, -1) : part;
  }
  endCommand();
  return commands;
}
