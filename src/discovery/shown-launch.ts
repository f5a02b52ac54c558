// A definition as it may be shown: on a terminal, in JSON, and in the file of approvals. Only this file decides which
// parts are secret. Variables stay as written, with the variable, file or input each refers to. For environment and
// headers only names are shown, except for values that are run.

import { executedWords } from '../util/executed-words.ts';
import { printable } from '../util/printable.ts';
import { looksRandom, looksSecret } from '../util/secret-signs.ts';
import { programName } from './command-line.ts';
import type { DiscoveredServer, DiscoveredTransport, Launch } from './discovered-server.ts';
import {
  isShown,
  isSteering,
  maskedScript,
  maskedText,
  maskedUrl,
  maskedValue,
  ScriptVariables,
  withoutUsers,
} from './masked-text.ts';

export interface ShownLaunch {
  readonly transport: DiscoveredTransport;
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly headersHelper: string | undefined;
  /** Names of variables, and of headers. */
  readonly env: readonly string[];
  readonly headers: readonly string[];
  /** Values of variables that decide what is run. */
  readonly executed: Readonly<Record<string, string>>;
  readonly envFile: string | undefined;
}

export type Shown = Launch & Pick<DiscoveredServer, 'raw' | 'envFile'>;

export function shownLaunch(server: Shown): ShownLaunch {
  const { raw } = server;
  const hide = hiding(server);
  const command = raw.command ?? server.command;
  const url = raw.url ?? server.url;
  const helper = raw.headersHelper ?? server.headersHelper;
  return {
    transport: server.transport,
    command: command === undefined ? undefined : printable(shownCommand(command, hide)),
    args: maskedArgs(raw.args, command ?? '', hide).map(printable),
    cwd: server.cwd === undefined ? undefined : printable(hide(shownDir(server.cwd, raw.cwd))),
    url: url === undefined ? undefined : printable(hide(maskedUrl(url))),
    headersHelper: helper === undefined ? undefined : printable(maskedScript(helper, hide)),
    env: namesOf(withoutGiven(raw.env, raw.env), withoutGiven(server.env, raw.env)),
    headers: namesOf(raw.headers, server.headers),
    executed: executedValues(server),
    envFile: server.envFile === undefined ? undefined : printable(server.envFile),
  };
}

/** The values that are run. Such a value may use more variables, so it counts as a script too. */
function executedValues(server: Shown): Readonly<Record<string, string>> {
  const values = { ...withoutGiven(server.env, server.raw.env), ...withoutGiven(server.raw.env, server.raw.env) };
  const waiting = new Map(Object.entries(values));
  const shown: [string, string][] = [];
  const show = (name: string, text: string): void => {
    shown.push([printable(name), printable(text)]);
    waiting.delete(name);
  };
  for (const [name, value] of waiting)
    if (isSteering(name) && value !== '') show(name, looksSecret(name) ? maskedValue(value) : maskedText(value));
  const scripts = scriptsOf(server);
  for (const script of scripts) {
    const variables = new ScriptVariables(script);
    for (const [name, value] of waiting) {
      if (value === '' || !isShown(variables.useOf(name), value)) continue;
      show(name, maskedScript(value));
      scripts.push(value);
    }
  }
  return Object.fromEntries(shown);
}

/** Texts that a shell or interpreter is told to run. */
function scriptsOf({ command, args, raw }: Shown): string[] {
  const program = raw.command ?? command ?? '';
  return [
    ...(/\s/.test(program) ? [program] : []),
    ...[raw.args, args].flatMap((words) => words.filter((_, at) => isScript(words[at - 1] ?? '', program))),
  ];
}

/** The directory that it really runs in; as written if it contains a variable. */
function shownDir(cwd: string, written: string | undefined): string {
  return written !== undefined && /[$%{]/.test(written) ? written : cwd;
}

function namesOf(...maps: readonly Readonly<Record<string, string>>[]): string[] {
  return [...new Set(maps.flatMap((map) => Object.keys(map)))].map(printable);
}

const SHORTEST_VALUE = 6;

/** Makes a function that hides secrets of the environment or headers where they occur again in arguments. */
function hiding({ env, headers, raw }: Shown): (text: string) => string {
  // A client's directory is no secret, even if its name looks like one.
  const named = [withoutGiven(env, raw.env), headers, raw.env, raw.headers].flatMap((map) => Object.entries(map));
  const secrets = named
    .filter(([name, value]) => value.length >= SHORTEST_VALUE && (looksSecret(name) || looksRandom(value)))
    .map(([, value]) => value)
    .filter((value) => maskedValue(value) !== value)
    .flatMap((value) => [value, value.replace(/^\w+\s+/, '')].filter((text) => text.length >= SHORTEST_VALUE))
    .sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
}

/** Shows the command. In some clients, a command with white space is run by a shell. */
function shownCommand(command: string, hide: Hide): string {
  return /\s/.test(command) ? maskedScript(command, hide) : withoutUsers(command);
}

type Hide = (text: string) => string;

/** Masks each argument by its own text and by the argument before it. What is run is shown. */
export function maskedArgs(args: readonly string[], command: string, hide: Hide = (text) => text): string[] {
  const executed = executedWords([command, ...args]);
  return args.map((arg, i) => {
    const before = args[i - 1] ?? '';
    if (isScript(before, command)) return maskedScript(arg, hide);
    return executed.has(i + 1) ? withoutUsers(arg) : hide(maskedArg(arg, before));
  });
}

const HEADER_FLAG = /^(?:-H|--headers?)$/;
const VARIABLE_FLAG = /^(?:-e|--env|--build-arg)$/;
const USER_FLAG = /^(?:-u|--user|--proxy-user)$/;
const INTERPRETER = /^(?:node|bun|deno|tsx|python[\d.]*|perl|ruby|php|pwsh|powershell)$/i;

function maskedArg(arg: string, before: string): string {
  if (HEADER_FLAG.test(before)) return maskedPair(arg, ':') ?? maskedText(arg);
  if (VARIABLE_FLAG.test(before)) return steered(arg) ?? maskedPair(arg, '=') ?? arg;
  if (USER_FLAG.test(before) && /[^\d:]/.test(arg)) return maskedPair(arg, ':') ?? arg;
  const isValue = /^--?[^=]+$/.test(before) && looksSecret(before) && !/^--?[A-Za-z]/.test(arg);
  if (isValue) return maskedValue(arg);
  return maskedWhole(arg) ?? maskedText(arg);
}

/** True for a script of a shell or interpreter; it is shown whatever names it contains. */
function isScript(before: string, command: string): boolean {
  if (/^-[a-z]*c$|^\/[ck]$|^-S$|^-(?:Encoded)?Command$/i.test(before)) return true;
  return INTERPRETER.test(programName(command)) && /^(?:-[a-z]*e|-p|--eval|--print)$/i.test(before);
}

function steered(arg: string): string | undefined {
  return isSteering(arg.split('=')[0] ?? '') ? maskedText(arg) : undefined;
}

/** Masks an argument of the form NAME=VALUE. */
function maskedWhole(arg: string): string | undefined {
  const [, dashes = '', name = ''] = /^(--?)?([A-Za-z_][\w.-]*)[=:]/.exec(arg) ?? [];
  if (HEADER_FLAG.test(`${dashes}${name}`)) return maskedHeaderFlag(arg);
  const isVariable = dashes === '' && /^[A-Z_][A-Z0-9_]*=/.test(arg) && !isSteering(name);
  if (isVariable || looksSecret(name)) return /^\w+:\/\//.test(arg) ? undefined : maskedPair(arg, /[=:]/);
  return undefined;
}

function maskedHeaderFlag(arg: string): string {
  const at = arg.indexOf('=') + 1;
  return arg.slice(0, at) + (maskedPair(arg.slice(at), ':') ?? maskedText(arg.slice(at)));
}

function maskedPair(text: string, separator: string | RegExp): string | undefined {
  const at = typeof separator === 'string' ? text.indexOf(separator) : text.search(separator);
  if (at < 0) return undefined;
  const [gap = ''] = /^\s*/.exec(text.slice(at + 1)) ?? [];
  return text.slice(0, at + 1) + gap + maskedValue(text.slice(at + 1 + gap.length));
}

/** The command line as a person would type it. */
export function commandLine({ command, args }: Pick<ShownLaunch, 'command' | 'args'>): string {
  return [command ?? '', ...args].map(quoted).join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./~${}*-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

// Shown because a repository that sends `$AWS_SECRET_ACCESS_KEY` in a header must not look harmless.
/** Sources such as `$NAME`, `the file ~/x`, `the input x`. */
export type Sources = Readonly<Record<string, readonly string[]>>;

const REFERENCE =
  /\$\{\{\s*([^{}]+?)\s*\}\}|\$\{([^{}]+)\}|\{((?:env|file):[^{}]+)\}|\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g;

/** The sources of each value that has any, by name. */
function sourcesIn(values: Readonly<Record<string, string>>): Sources {
  const found = Object.entries(values).flatMap(([name, text]) => {
    const sources = sourcesOf(text);
    return sources.length === 0 ? [] : [[printable(name), sources] as const];
  });
  return Object.fromEntries(found);
}

function sourcesOf(text: string): string[] {
  return [
    ...new Set([...text.matchAll(REFERENCE)].map((match) => printable(named(match.slice(1).find(Boolean) ?? '')))),
  ];
}

function named(reference: string): string {
  const [, kind, rest = ''] =
    /^(env|file|input|inputs|secrets|user_config|config|command)[:.](.*)$/s.exec(reference) ?? [];
  if (kind === 'file') return `the file ${rest}`;
  if (kind !== undefined && kind !== 'env') return `the ${kind.replace(/s$/, '')} ${rest}`;
  return `$${(kind === 'env' ? rest : reference).replace(/:-.*$/s, '')}`;
}

/** All sources of what a definition sends, or starts with. */
export function sourcesOfLaunch({ headers, env, url }: Pick<Launch, 'headers' | 'env' | 'url'>): {
  readonly headers: Sources;
  readonly variables: Sources;
  readonly url: readonly string[];
} {
  return { headers: sourcesIn(headers), variables: sourcesIn(env), url: sourcesOf(url ?? '') };
}

// Variables that a client adds to its servers' environment describe the client and its directory. They do not
// distinguish servers, and need no approval.
const GIVEN = new Set([
  ...['CLAUDE_PROJECT_DIR', 'CLAUDE_PLUGIN_ROOT', 'CLAUDE_PLUGIN_DATA'],
  ...['PLUGIN_ROOT', 'PLUGIN_DATA'],
]);

type Texts = Readonly<Record<string, string>>;

/** The variables in the spelling of an entry. */
export function givenAsWritten(given: Texts): Texts {
  return Object.fromEntries(Object.keys(given).map((name) => [name, `\${${name}}`]));
}

/** The entry's own variables of an environment; `written` is the same environment before variables were filled in. */
export function withoutGiven(env: Texts, written: Texts): Texts {
  const isGiven = (name: string): boolean => GIVEN.has(name) && written[name] === `\${${name}}`;
  const names = Object.keys(env);
  return names.some(isGiven) ? Object.fromEntries(Object.entries(env).filter(([name]) => !isGiven(name))) : env;
}
