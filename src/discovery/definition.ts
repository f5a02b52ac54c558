// Turns an entry into a draft: fills in variables, makes paths absolute, and reports faults. It sees one entry at a
// time; effects between entries come later.

import { problemIn } from '../util/glob.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { basesOf } from './bases.ts';
import { type ClientTraits, traitsOf } from './client-traits.ts';
import { type About, type DiagnosticCode, diagnostic, type Report } from './diagnostic.ts';
import { DIALECTS, type Surroundings, Variables } from './dialects.ts';
import type { DefinitionOrigin, Draft, Launch, ServerState } from './discovered-server.ts';
import type { Entry } from './formats.ts';
import { isMarked } from './inputs.ts';
import type { Location } from './locations.ts';
import type { Machine } from './machine.ts';
import { givenAsWritten, maskedArgs } from './shown-launch.ts';
import { urlDeceit } from './url-form.ts';
import { type EntryValue, type EntryValues, type Verdict, type Written, writtenEntry } from './written-definition.ts';

/** An entry, and where it was found. */
export interface PlacedEntry extends Entry {
  readonly client: string;
  readonly scope: string;
  readonly location: Location;
  readonly path: string;
  readonly realpath: string;
  readonly order: number;
  readonly sources: readonly DefinitionOrigin[];
  /** The fields before variables were filled in, if the whole file is filled in at once. */
  readonly unfilled?: unknown;
  readonly awaitsApproval: boolean;
  /** The trusted directory that the entry belongs to, if its client's user trusts one. */
  readonly trustedDir?: string;
  /** True if its client no longer reads the file. */
  readonly isStale: boolean;
}

export interface Definer {
  readonly machine: Machine;
  readonly report: Report;
  input(id: string): string | undefined;
}

export interface Defined {
  readonly draft: Draft;
  /** A file with more variables, which must be read. */
  readonly envFile: string | undefined;
}

export function define(entry: PlacedEntry, definer: Definer): Defined {
  const { client, name, path } = entry;
  const traits = traitsOf(client);
  const tell: Tell = (code, message, about = {}) =>
    definer.report(diagnostic(code, `${path}: "${name}" ${message}`, { path, server: name, ...about }));
  const { written, verdict: ownVerdict, badValues } = writtenEntry(entry.fields, client, traits);
  const verdict = namedVerdict(entry, traits, ownVerdict, tell);
  const variables = new Variables(DIALECTS[traits.dialect], surroundingsOf(entry, definer));
  const needed: string[] = [];
  const launch = launchOf(entry, written, variables, { needed, tell, machine: definer.machine });
  tellProblems(variables, badValues, tell);
  if (verdict.kind === 'usable') remarkOn(verdict, written, tell);
  if (verdict.kind === 'usable' && definer.machine.platform === 'win32') adviseOnWindows(written, tell);
  if (verdict.kind === 'usable') tellFilter(written, tell);
  const inputs = [...new Set([...variables.inputs, ...needed, ...missingIn(launch, variables)])];
  const { state, reason } = stateOf({ entry, written, verdict, launch, inputs });
  if (state === 'invalid' && verdict.kind !== 'invalid') tell('invalid-entry', `cannot be used: ${reason}.`);
  const unfilled = entry.unfilled === undefined ? written : writtenEntry(entry.unfilled, client, traits).written;
  const draft = draftOf(entry, launch, written, { raw: rawOf(unfilled, entry.given), inputs, state, reason, traits });
  return { draft, envFile: written.envFile && variables.fill(written.envFile, 'cwd') };
}

function tellProblems({ missing, executes }: Variables, badValues: readonly string[], tell: Tell): void {
  for (const name of badValues)
    tell('bad-env-value', `has a value for ${name} that is no text. It is left out.`, { name });
  for (const name of missing) tell('missing-env', `needs the variable ${name}, which is not set.`, { name });
  if (executes) tell('executes', 'has a value that its client gets by running a command. It is not run.');
}

/** The missing values without which a start is useless: a command's output, or a part of an address. */
function missingIn({ transport, url = '' }: Launch, { missing, executes }: Variables): string[] {
  const isNowhere = missing.size > 0 && transport !== 'stdio' && parsedUrl(url) === undefined;
  return [...(executes ? ['a command that is not run'] : []), ...(isNowhere ? missing : [])];
}

type Tell = (code: DiagnosticCode, message: string, about?: About) => void;

function namedVerdict(
  { name, scope, refusal, fault: ownFault }: PlacedEntry,
  traits: ClientTraits,
  verdict: Verdict,
  tell: Tell,
): Verdict {
  if (traits.reserved.includes(name)) {
    tell('reserved-name', 'has a name that its client keeps for itself. Give it another.');
    return { kind: 'invalid', reason: 'its name is reserved' };
  }
  if (refusal !== undefined) return { kind: 'unsupported', reason: refusal };
  const fault =
    traits.names?.test(scope === 'plugin' ? (name.split(':').at(-1) ?? name) : name) === false
      ? { kind: 'invalid' as const, reason: 'its client takes letters, digits, "-" and "_" in names only' }
      : ownFault === undefined
        ? verdict
        : { kind: 'invalid' as const, reason: ownFault };
  if (fault.kind === 'invalid') tell('invalid-entry', `cannot be used: ${fault.reason}.`);
  return fault;
}

const NONE: ReadonlyMap<string, string> = new Map();

function surroundingsOf(entry: PlacedEntry, { machine, input }: Definer): Surroundings {
  const project = entry.project ?? (machine.hasProject ? machine.cwd : undefined);
  return { machine, project, own: entry.variables ?? NONE, input };
}

type Judgement = Pick<Draft, 'raw' | 'inputs' | 'state' | 'reason'> & { readonly traits: ClientTraits };

/** Builds the draft member by member: there are thousands, and spreading would be several times slower. */
function draftOf(entry: PlacedEntry, launch: Launch, written: Written, judged: Judgement): Draft {
  return {
    name: entry.name,
    client: entry.client,
    scope: entry.scope,
    file: entry.path,
    realpath: entry.realpath,
    pointer: entry.pointer,
    sources: entry.sources,
    transport: launch.transport,
    command: launch.command,
    args: launch.args,
    env: launch.env,
    cwd: launch.cwd,
    url: launch.url,
    headers: launch.headers,
    headersHelper: launch.headersHelper,
    oauth: written.oauth,
    timeoutMs: written.timeoutMs,
    startupTimeoutMs: written.startupTimeoutMs,
    tools: written.tools,
    inputs: judged.inputs,
    ignored: written.ignored,
    description: written.description,
    state: judged.state,
    reason: judged.reason,
    raw: judged.raw,
    order: entry.order,
    awaitsApproval: entry.awaitsApproval,
    trustedDir: entry.trustedDir,
    isListedPerFile: judged.traits.isListedPerFile || entry.scope.startsWith('agent:'),
  };
}

interface Filling {
  readonly needed: string[];
  readonly tell: Tell;
  readonly machine: Machine;
}

function launchOf(entry: PlacedEntry, written: Written, variables: Variables, filling: Filling): Launch {
  const { transport, command, args, cwd, url, headersHelper } = written;
  const { machine } = filling;
  // A command that prints headers needs a directory too.
  const runs = transport === 'stdio' || headersHelper !== undefined;
  const filled = (values: EntryValues, field: 'env' | 'headers'): Texts =>
    textsOf(values, (value) => textOf(value, variables, field, filling));
  return {
    transport,
    command: command === undefined ? undefined : inHome(variables.fill(command, 'command'), machine),
    args: variables.fillArgs(args),
    env: withGiven(transport === 'stdio' ? entry.given : undefined, filled(written.env, 'env')),
    cwd: runs ? workingDir(entry, written, machine, cwd && variables.fill(cwd, 'cwd')) : undefined,
    url: url === undefined ? undefined : variables.fill(url, 'url'),
    headers: filled(written.headers, 'headers'),
    headersHelper,
  };
}

function textOf(value: EntryValue, variables: Variables, field: 'env' | 'headers', { needed, tell }: Filling) {
  if (typeof value === 'string') return variables.fill(value, field);
  const text = variables.named(value.variable);
  if (text !== undefined) return `${value.prefix}${text}`;
  if (value.isNeeded) needed.push(value.variable);
  tell('missing-env', `names the variable ${value.variable}, which is not set.`, { name: value.variable });
  return undefined;
}

/** Adds the variables that its client would add; the entry's own come first. */
function withGiven(given: Texts | undefined, env: Texts): Texts {
  return given === undefined ? env : { ...given, ...env };
}

function inHome(text: string, { path, home }: Machine): string {
  return /^~(?=$|[\\/])/.test(text) ? path.join(home, text.slice(1)) : text;
}

/** The working directory; undefined while a variable in it is not filled in. */
function workingDir(entry: PlacedEntry, written: Written, machine: Machine, cwd: string | undefined): string {
  const { path, home } = machine;
  const { location, project } = entry;
  const isBesideFile = ['definitions', 'bridge'].includes(location.format);
  const usual = isBesideFile
    ? path.dirname(entry.path)
    : (entry.dir ?? project ?? helperDir(entry, written, machine) ?? home);
  if (cwd === undefined || cwd === '') return usual;
  if (cwd.includes('${')) return cwd;
  // These clients resolve relative directories against the project, wherever the file is.
  const base = ['opencode', 'kilo'].includes(entry.client) ? (project ?? machine.cwd) : usual;
  return path.resolve(base, inHome(cwd, machine));
}

/** The directory for a headers command: a user's own command runs where Claude Code's settings are. */
function helperDir({ client, scope }: PlacedEntry, { transport }: Written, machine: Machine): string | undefined {
  if (client !== 'claude-code' || scope !== 'user' || transport === 'stdio') return undefined;
  return basesOf(machine).get('CLAUDE')?.dirs[0];
}

function rawOf(
  { transport, command, args, env, cwd, url, headers, headersHelper }: Written,
  given: Texts = NO_TEXTS,
): Launch {
  const [ownEnv, rawHeaders] = [textsOf(env, rawText), textsOf(headers, rawText)];
  const rawEnv = transport === 'stdio' ? withGiven(givenAsWritten(given), ownEnv) : ownEnv;
  return { transport, command, args, env: rawEnv, cwd, url, headers: rawHeaders, headersHelper };
}

type Texts = Readonly<Record<string, string>>;
const NO_TEXTS: Texts = Object.freeze({});

/** The values after `change`; undefined results are left out. */
function textsOf(values: EntryValues, change: (value: EntryValue) => string | undefined): Texts {
  if (values.size === 0) return NO_TEXTS;
  const pairs = [...values].map(([name, value]) => [name, change(value)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}

function rawText(value: EntryValue): string {
  return typeof value === 'string' ? value : `${value.prefix}\${${value.variable}}`;
}

function remarkOn(verdict: Verdict & { kind: 'usable' }, written: Written, tell: Tell): void {
  const { transport, command, url } = written;
  if (verdict.remarks.includes('ambiguous'))
    tell('ambiguous', `has both a command and a URL; it is taken as ${transport}. Remove one, or name the type.`);
  if (verdict.remarks.includes('url-without-type'))
    tell('url-without-type', 'has a URL and no type. Streamable HTTP is tried, then SSE; name the type.');
  if (verdict.remarks.includes('no-sandbox'))
    tell('no-sandbox', 'wants a sandbox, which is VS Code’s own: behind the bridge it runs with all your rights.');
  const isPadded = (text: EntryValue | undefined): boolean => typeof text === 'string' && text !== text.trim();
  const padded = [
    ...(isPadded(command) ? ['command'] : []),
    ...(isPadded(url) ? ['url'] : []),
    ...(written.args.some(isPadded) ? ['args'] : []),
    ...[...written.env, ...written.headers]
      .filter(([name, text]) => isPadded(text) || isPadded(name))
      .map(([name]) => name),
  ];
  for (const name of padded) tell('whitespace', `has spaces around its ${name.trim()}. They are kept.`, { name });
  if (transport === 'stdio' && written.args.length === 0 && /^[^\s\\/]+\s+\S/.test(command ?? ''))
    tell('command-with-spaces', 'has spaces in its command. If arguments follow it there, move them to "args".');
}

/** Scripts that only the shell finds by these names on Windows. */
const SHELL_SCRIPTS = new Set(['npx', 'npm', 'pnpm', 'yarn']);

function adviseOnWindows({ transport, command = '', args }: Written, tell: Tell): void {
  if (transport !== 'stdio' || !SHELL_SCRIPTS.has(command.toLowerCase())) return;
  const better = JSON.stringify(['/c', command, ...maskedArgs(args, command)]);
  tell(
    'windows-npx',
    `starts ${command}, which Windows cannot start by that name. Write "command": "cmd", "args": ${better}.`,
  );
}

/** Reports a filter that cannot be read; the server's gate then allows nothing, see RuledGate. */
function tellFilter({ tools: { allow = [], deny } }: Written, tell: Tell): void {
  for (const [patterns, what] of [
    [allow, 'allows no tool by its list of those it has'],
    [deny, 'denies all its tools'],
  ] as const) {
    const found = problemIn(patterns);
    if (found !== undefined)
      tell(
        'tool-filter',
        `${what}, because the pattern ${JSON.stringify(found.pattern.slice(0, 64))} ${found.problem}.`,
      );
  }
}

interface Judged {
  readonly entry: PlacedEntry;
  readonly written: Written;
  readonly verdict: Verdict;
  readonly launch: Launch;
  readonly inputs: readonly string[];
}

function stateOf(judged: Judged): { state: ServerState; reason: string | undefined } {
  const { entry, written, verdict, launch, inputs } = judged;
  if (verdict.kind !== 'usable') return { state: verdict.kind, reason: verdict.reason };
  const fault = launch.transport === 'stdio' || inputs.length > 0 ? undefined : urlFault(launch);
  if (fault !== undefined) return fault;
  if (entry.isStale) return { state: 'shadowed', reason: 'its client reads another file now' };
  if (entry.isOff === true || written.isOff) return { state: 'disabled', reason: 'it is switched off in its client' };
  if (inputs.length > 0) return { state: 'needs-input', reason: `it needs ${inputs.join(', ')}` };
  return { state: 'ready', reason: undefined };
}

const OF_A_SOCKET = /^(?:unix|pipe|npipe):/i;

function urlFault({ transport, url = '' }: Launch): { state: ServerState; reason: string } | undefined {
  if (OF_A_SOCKET.test(url)) return { state: 'unsupported', reason: 'URLs of local sockets are not supported' };
  const allowed = transport === 'ws' ? ['ws:', 'wss:'] : ['http:', 'https:'];
  const scheme = parsedUrl(url)?.protocol;
  if (scheme !== undefined && allowed.includes(scheme)) {
    const deceit = urlDeceit(url);
    return deceit === undefined ? undefined : { state: 'invalid', reason: `its URL can be mistaken: ${deceit}` };
  }
  if (isMarked(url))
    return { state: 'invalid', reason: 'its URL has a variable for the address, which has to be written out' };
  return { state: 'invalid', reason: `its URL must begin with ${allowed.join('// or ')}//` };
}
