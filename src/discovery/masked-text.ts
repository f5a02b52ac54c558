// Shows command lines and URLs with secrets replaced by three stars. Variables stay as written, and so does everything
// that a shell runs or may run (ADR 44): a mask must not hide a command. If it is uncertain whether a script runs a
// variable, the variable's value is shown to whoever approves it, whatever its name looks like.

import { executedWords, programName } from '../util/executed-words.ts';
import { KNOWN_TOKEN, looksRandom, looksSecret, PLAIN_WORD } from '../util/secret-signs.ts';

const MASK = '***';
const VARIABLE = /\$\{[^{}]*\}|\$[A-Za-z_]\w*|\{(?:env|file):[^{}]*\}|%[A-Za-z_]\w*%/g;

/** Masks a secret value; only variables in it and the kind of authorization remain. */
export function maskedValue(value: string): string {
  if (PLAIN_WORD.test(value)) return value;
  const [scheme = ''] = /^(?:Bearer|Basic|Token|Digest)\s+/i.exec(value) ?? [];
  const rest = value.slice(scheme.length);
  let shown = '';
  let at = 0;
  for (const { 0: whole, index } of rest.matchAll(VARIABLE)) {
    shown += starsFor(rest.slice(at, index)) + withoutDefault(whole);
    at = index + whole.length;
  }
  return scheme + shown + starsFor(rest.slice(at));
}

function starsFor(text: string): string {
  return /[\p{L}\p{N}]/u.test(text) ? MASK : text;
}

function withoutDefault(variable: string): string {
  return variable.replace(/^(\$\{[^:}]*:-)(.+)\}$/s, (_, start: string) => `${start}${MASK}}`);
}

/**
 * Masks a shell's command line. Words that say what is run are shown, whatever they look like, and so are the values of
 * variables that the script uses; `hide` removes more secrets from the rest.
 */
export function maskedScript(script: string, hide: (text: string) => string = (text) => text): string {
  const executed: string[] = [];
  const stashed = script.replaceAll(STASH, '\ufffd').replace(SIMPLE_COMMAND, (_, before: string, command: string) => {
    const words = command.split(/(\s+)/);
    const shown = executedWords(words.filter((_, i) => i % 2 === 0));
    return (
      before +
      words
        .map((word, i) => (i % 2 === 0 && shown.has(i / 2) && !IS_ASSIGNED.test(word) ? stash(word, executed) : word))
        .join('')
    );
  });
  const variables = new ScriptVariables(script);
  const assigned = stashed.replace(ASSIGNMENT, (whole: string, before: string, name: string) =>
    variables.useOf(name) === 'runs' ? before + stash(whole.slice(before.length), executed) : whole,
  );
  const masked = hide(maskedText(assigned, (name) => variables.useOf(name)));
  return unstashed(masked, executed);
}

/** Restores a stashed assignment. Words inside it were stashed before, so they are restored too. */
function unstashed(text: string, executed: readonly string[]): string {
  return text.replace(/\ue000(\d+)\ue000/g, (_, i: string) =>
    unstashed(withoutUsers(executed[Number(i)] ?? ''), executed),
  );
}

const STASH = '\ue000';
const ASSIGNED = `(?:[A-Za-z_]\\w*=(?:"[^"]*"|'[^']*'|[^\\s'";&|<>()]*)\\s+)*`;
const KEYWORDS = '(?:(?:then|do|else|if|while|until|not|!)\\s+)*';
const SIMPLE_COMMAND = new RegExp(
  `((?:^|[;&|\\n({\`])\\s*${KEYWORDS}${ASSIGNED})([^\\s;&|<>(){}\`'"=][^;&|\\n<>(){}\`'"]*)`,
  'g',
);

const IS_ASSIGNED = /^[A-Za-z_]\w*=/;

function stash(word: string, executed: string[]): string {
  return `${STASH}${executed.push(word) - 1}${STASH}`;
}

/** A word that is run, without the user in a URL. */
export function withoutUsers(word: string): string {
  return word.includes('://') && word.includes('@') ? maskedUrl(word) : word;
}

type UseOf = (name: string) => VariableUse;

const NOTHING_USED: UseOf = () => 'unused';

/** Masks any text. Text in quotes, or without meaning to a shell, can be hidden without hiding a command. */
export function maskedText(text: string, useOf: UseOf = NOTHING_USED): string {
  return text
    .replace(/[a-z][a-z0-9+.-]{0,20}:\/\/[^\s'"`<>]+/gi, maskedUrl)
    .replace(JSON_MEMBER, maskedMember)
    .replace(QUOTED_HEADER, maskedMember)
    .replace(HEADER, maskedMember)
    .replace(ASSIGNMENT, (whole: string, before: string, name: string, between: string, value: string) =>
      isShown(useOf(name), value) ? whole : maskedAssignment(whole, before, name, between, value),
    )
    .replace(FLAG, maskedMember)
    .replace(/\b((?:Bearer|Basic)\s+)([\w.~+/=-]{6,})/gi, (_, scheme: string) => `${scheme}${MASK}`)
    .replace(/[A-Za-z0-9_+=~-]{16,}/g, (word: string, at: number, whole: string) =>
      looksRandom(word, whole.slice(Math.max(0, at - PIN_LENGTH), at)) ? MASK : word,
    )
    .replace(KNOWN_TOKEN, MASK);
}

/** The length of the prefix `sha256:` of a digest. */
const PIN_LENGTH = 8;

const INERT = `(?:[^\\s'"\`$;&|()<>]|\\$(?![({]))+`;
const JSON_MEMBER = /(\\?["'])([\w.-]+)(\1\s*:\s*\\?["'])([^"'\\]*)/g;
const QUOTED_HEADER = /(['"])([\w-]+)(\s*:\s*)([^'"`$]*)(?=\1)/g;
const HEADER = new RegExp(`(^|[\\s'"=])([\\w-]+)(:\\s*)((?:(?:Bearer|Basic|Token)\\s+)?${INERT})`, 'gi');
const FLAG = new RegExp(`(^|[\\s'"])(--?[\\w-]+)(\\s+['"]?)(?!-)(${INERT})`, 'g');
const ASSIGNMENT = new RegExp(`(^|[\\s'";&|(])((?:--?)?[A-Za-z_][\\w.-]*)(=)("[^"$\`]*"|'[^']*'|${INERT})`, 'g');

function maskedMember(whole: string, before: string, name: string, between: string, value: string): string {
  return looksSecret(name) ? `${before}${name}${between}${maskedValue(value)}` : whole;
}

/** True if the value of a variable is shown: always if it is run; if it may be run, unless it is a token. */
export function isShown(use: VariableUse, value: string): boolean {
  return use === 'runs' || (use === 'may-run' && !isToken(value));
}

/** True for one word that cannot be a program's name. */
function isToken(value: string): boolean {
  const word = value.replace(/^(["'])(.*)\1$/, '$2');
  return /^[\w+=~-]+$/.test(word) && (looksRandom(word) || word.replace(KNOWN_TOKEN, '') === '');
}

function maskedAssignment(whole: string, before: string, name: string, between: string, value: string): string {
  return looksSecret(name) || isVariableName(name) ? `${before}${name}${between}${maskedValue(value)}` : whole;
}

/** True for names like those of environment variables; for these only the names are shown. */
function isVariableName(name: string): boolean {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) && !isSteering(name);
}

const ADDRESS = /^((?:[a-z][a-z0-9+.-]*:\/\/)?)([^?#]*)(\?[^#]*)?(#.*)?$/is;
/** A password may contain characters that end the host elsewhere; a port may not. */
const USER = /^(?:[^/?#@]*|[^/?#@:]*:(?!\d*(?:[/?#]|$)).*)@/s;

export function maskedUrl(url: string): string {
  const [, scheme, address = '', query = '', fragment = ''] = ADDRESS.exec(url) ?? [];
  if (scheme === undefined) return url;
  const [user = ''] = USER.exec(`${address}${query}${fragment}`) ?? [];
  if (user.length > address.length) return `${scheme}${MASK}@${maskedPath(url.slice(scheme.length + user.length))}`;
  const shownUser = user === '' ? '' : `${user.slice(0, -1).split(':').map(maskedValue).join(':')}@`;
  const shownQuery = query === '' ? '' : `?${maskedQuery(query.slice(1))}`;
  const shownFragment = fragment === '' ? '' : `#${maskedFragment(scheme, fragment.slice(1))}`;
  return `${scheme}${shownUser}${maskedPath(address.slice(user.length))}${shownQuery}${shownFragment}`;
}

/** The fragment of a socket's URL is the path that is asked for there. */
function maskedFragment(scheme: string, fragment: string): string {
  const isPath = scheme.toLowerCase() === 'unix://' && /^\/[^?&=#]*$/.test(fragment);
  return isPath ? maskedPath(fragment) : maskedQuery(fragment);
}

function maskedPath(path: string): string {
  return path
    .split(/([/:,;])/)
    .map((word, i, words) => (i > 0 && looksRandom(word, words.slice(Math.max(0, i - 2), i).join('')) ? MASK : word))
    .join('');
}

function maskedQuery(query: string): string {
  return query
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=');
      const [name, value] = at < 0 ? ['', pair] : [pair.slice(0, at), pair.slice(at + 1)];
      const isHarmless = !looksSecret(name) && /^[a-z0-9.,_-]{0,16}$/.test(value) && !looksRandom(value);
      return `${pair.slice(0, at + 1)}${isHarmless ? value : maskedValue(value)}`;
    })
    .join('&');
}

// Names of variables that decide what a program runs, where that comes from, and what it trusts.
const STEERING = new RegExp(
  `^(?:${[
    ...[
      'PATH',
      'PATHEXT',
      'HOME',
      'USERPROFILE',
      'SHELL',
      'COMSPEC',
      'ENV',
      'BASH_ENV',
      'BASH_FUNC_.*',
      'ZDOTDIR',
      'IFS',
    ],
    ...['LD_\\w+', 'DYLD_\\w+', 'GCONV_PATH', 'XDG_(?:CONFIG|DATA)_\\w+', 'EDITOR', 'VISUAL', 'PAGER', 'BROWSER'],
    ...['NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED', 'NODE_REPL_\\w+'],
    ...['npm_config_.*', 'YARN_\\w+', 'PNPM_\\w+', 'BUN_\\w+', 'DENO_\\w+', 'COREPACK_\\w+', 'ELECTRON_RUN_AS_NODE'],
    ...['PYTHON\\w*', 'PIP_\\w+', 'PIPX_\\w+', 'UV_\\w+', 'VIRTUAL_ENV', 'CONDA_\\w+'],
    ...[
      'RUBYLIB',
      'RUBYOPT',
      'GEM_HOME',
      'GEM_PATH',
      'BUNDLE_GEMFILE',
      'PERL5\\w*',
      'PERLLIB',
      'PHPRC',
      'PHP_INI_SCAN_DIR',
      'LUA_\\w+',
    ],
    ...['JDK_JAVA_OPTIONS', '_JAVA_OPTIONS', 'JAVA_TOOL_OPTIONS', 'JAVA_HOME', 'CLASSPATH'],
    ...[
      'DOTNET_STARTUP_HOOKS',
      'DOTNET_ROOT\\w*',
      'DOTNET_ADDITIONAL_DEPS',
      'CORECLR_\\w+',
      'COR_\\w+',
      'GOFLAGS',
      'GOPROXY',
      'CARGO_HOME',
      'CARGO_BUILD_\\w+',
      'RUSTC\\w*',
    ],
    ...[
      'GIT_SSH\\w*',
      'GIT_EXEC_PATH',
      'GIT_CONFIG\\w*',
      'GIT_ASKPASS',
      'GIT_PROXY_COMMAND',
      'GIT_TEMPLATE_DIR',
      'SSH_ASKPASS',
      'SUDO_ASKPASS',
      'DOCKER_HOST',
      'DOCKER_CONFIG',
      'CONTAINER_HOST',
      'KUBECONFIG',
    ],
    ...['\\w+_PROXY', 'SSL_CERT_\\w+', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'OPENSSL_\\w+'],
  ].join('|')})$`,
  'i',
);

/** True if a variable of this name can change what a program runs. */
export function isSteering(name: string): boolean {
  return STEERING.test(name);
}

/**
 * `runs`: the value is a command, or part of one. `may-run`: the script uses it in another way. `unused`: the script
 * does not name it, or passes it to a program as a secret (`--token "$NAME"`).
 */
export type VariableUse = 'runs' | 'may-run' | 'unused';

/** Words that let a shell use a variable without its name. */
const INDIRECT = /\beval\b|\$\{!/;
/** Words that pass on all variables to later words of the same command. */
const ALL_VARIABLES = /(?<![.\w])(?:env|set|export|declare|typeset|printenv|compgen)\b/;
/** Parts of a script that may pass on values in ways that are not analysed here. */
const NOT_FOLLOWED = /[|`<>(){}]/;
const HARMLESS = /\|\||\d?>&\d|\d?>\s*\/dev\/null/g;
const EXPANSION = /[$%!][{(]?(?:env:)?[#!]?([A-Za-z_]\w*)/g;
const ASSIGNED_NAME = /^([A-Za-z_]\w*)\+?=/;
/** Shell commands that run their arguments, or store them to be run. */
const RUNS_ARGUMENTS = /^(?:eval|source|\.|trap|set|alias|for|select|case)$/;
const ASSIGNS_ARGUMENTS = /^(?:export|declare|typeset|local|readonly)$/;
const KEYWORD = /^(?:then|do|else|elif|if|while|until|not|!)$/;
/** Words with which programs in other languages run text. */
const RUNS_TEXT = /eval|exec|spawn|system|popen|Function|require|import|compile|subprocess/;
/** A name that the shell neither assigns nor expands. */
const NAME = /(?<![\w$]|\$\{)[A-Za-z_]\w*(?![\w=])/g;

export class ScriptVariables {
  readonly #runs = new Set<string>();
  readonly #mayRun = new Set<string>();
  /** For each assigned variable, the variables that its value comes from. */
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
    const first = words.findIndex((word) => !ASSIGNED_NAME.test(word) && !KEYWORD.test(word));
    const program = programName(words[first] ?? '');
    const runsAll = RUNS_ARGUMENTS.test(program);
    const executed = executedWords(first < 0 ? [] : words.slice(first));
    for (const [at, word] of words.entries()) {
      const names = [...word.matchAll(EXPANSION)].map(([, name = '']) => name);
      if (names.length === 0) continue;
      const [, assigned] = ASSIGNED_NAME.exec(word) ?? [];
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

  /** Iterating over the set includes elements added meanwhile, so each name is visited once. */
  #spread(used: Set<string>): void {
    for (const name of used) for (const giver of this.#givers.get(name) ?? []) used.add(giver);
  }
}

/** Checks command by command: one expression for the whole script would take quadratic time. */
function readsAllVariables(script: string): boolean {
  return script.split(/[;&\n]/).some((command) => {
    const at = command.search(ALL_VARIABLES);
    return at >= 0 && /[|`)]/.test(command.slice(at));
  });
}

/** True for the value of an option whose name marks it as secret. */
function isSecretOption(words: readonly string[], at: number): boolean {
  const own = /^(--?[A-Za-z][\w-]*)=/.exec(words[at] ?? '')?.[1];
  const name = own ?? words[at - 1] ?? '';
  return /^(?:-H|--header)$/.test(name) || (/^--?[A-Za-z][\w-]*$/.test(name) && looksSecret(name));
}

const PART = /"(?:[^"\\]|\\.)*"|'[^']*'|\\.|([;&|\n(){}`]+)|(\s+)|[^\s"';&|(){}`\\]+|["'\\]/gs;

/** The words of each simple command, without quotes. Text in an unclosed quote counts as a word. */
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
