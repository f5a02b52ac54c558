// An entry translated into this program's terms: its fields in every client's spelling, with variables not filled in
// yet. The client's traits (client-traits.ts) are applied here; nothing depends on the machine.

import type { ClientTraits } from './client-traits.ts';
import type { DiscoveredTransport } from './discovered-server.ts';
import { isTree, member, type Tree, textAt, treeAt } from './tree.ts';

export interface Written {
  readonly transport: DiscoveredTransport;
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: EntryValues;
  readonly envFile: string | undefined;
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly headers: EntryValues;
  readonly headersHelper: string | undefined;
  readonly oauth: Tree | undefined;
  readonly timeoutMs: number | undefined;
  readonly startupTimeoutMs: number | undefined;
  readonly tools: { readonly allow: readonly string[] | undefined; readonly deny: readonly string[] };
  readonly description: string;
  readonly isOff: boolean;
  readonly ignored: readonly string[];
}

/** A hint for the author of the entry. */
type Remark = 'ambiguous' | 'no-sandbox' | 'url-without-type';

export type Verdict =
  | { readonly kind: 'usable'; readonly remarks: readonly Remark[] }
  | { readonly kind: 'invalid' | 'unsupported' | 'not-configured'; readonly reason: string };

export interface WrittenEntry {
  readonly written: Written;
  readonly verdict: Verdict;
  /** The names of variables and headers with unusable values. */
  readonly badValues: readonly string[];
}

const TRANSPORTS: Readonly<Record<string, DiscoveredTransport>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamable_http: 'http',
  streamablehttp: 'http',
  sse: 'sse',
  ws: 'ws',
  websocket: 'ws',
  remote: 'auto',
  auto: 'auto',
};
/** Types of servers that run inside their own client. */
const FOREIGN_TYPES = new Set(['sse-ide', 'ws-ide', 'sdk', 'claudeai-proxy']);
const URL_KEYS = ['httpUrl', 'url', 'serverUrl', 'uri'];

export function writtenEntry(entry: unknown, client: string, traits: ClientTraits): WrittenEntry {
  const notes = new EntryNotes();
  if (!isTree(entry)) notes.refuse('it must be an object');
  const fields = flat(isTree(entry) ? entry : {});
  if (client === 'codex') checkCodexFields(fields, notes);
  const program = programOf(fields, notes);
  const url = textField(fields, URL_KEYS, notes);
  const { transport, verdict } = chosen({ fields, command: program.command, url, traits });
  const times = timesOf(fields, traits);
  const written: Written = {
    transport,
    command: program.command,
    args: program.args,
    env: envOf(fields, client, notes),
    envFile: textAt(fields, 'envFile'),
    cwd: textField(fields, ['cwd', 'working_directory', 'workingDirectory'], notes),
    url,
    headers: headersOf(fields, client, notes),
    headersHelper: textAt(fields, 'headersHelper') ?? textAt(fields, 'http_headers_helper'),
    oauth: treeAt(fields, 'oauth') ?? treeAt(fields, 'auth'),
    timeoutMs: times.timeoutMs,
    startupTimeoutMs: times.startupTimeoutMs,
    tools: {
      allow: listField(fields, ['enabled_tools', 'includeTools', 'tools', 'enabledTools', 'available_tools']),
      deny: listField(fields, ['disabled_tools', 'excludeTools', 'disabledTools']) ?? [],
    },
    description: textAt(fields, 'description') ?? '',
    isOff: isSwitchedOff(fields),
    ignored: unheededIn(fields),
  };
  return { written, verdict: verdictOf(notes, verdict), badValues: notes.badValues };
}

function verdictOf({ fault }: EntryNotes, verdict: Verdict): Verdict {
  return fault === undefined ? verdict : { kind: 'invalid', reason: fault };
}

/** Flattens Cline's entries, which nest everything in a transport object. */
function flat(fields: Tree): Tree {
  const transport = treeAt(fields, 'transport');
  return transport === undefined ? fields : { ...fields, ...transport, transport: transport.type };
}

/** The command and its arguments. The command may contain them, as a list, or as an object as in older Zed files. */
function programOf(fields: Tree, notes: EntryNotes): Pick<Written, 'command' | 'args'> {
  const found = firstOf(fields, ['command', 'cmd']);
  const args = textList(member(fields, 'args'), 'args', notes);
  if (found === undefined) return { command: undefined, args };
  if (Array.isArray(found.value)) {
    const [command, ...first] = textList(found.value, found.key, notes);
    return { command: command ?? '', args: [...first, ...args] };
  }
  if (isTree(found.value)) {
    const own = textList(member(found.value, 'args'), 'command.args', notes);
    return { command: textField(found.value, ['path'], notes) ?? '', args: [...own, ...args] };
  }
  return { command: textField(fields, [found.key], notes), args };
}

function envOf(fields: Tree, client: string, notes: EntryNotes): EntryValues {
  const found = firstOf(fields, ['env', 'environment', 'envs']);
  return joinedValues([
    ...(client === 'codex' ? [codexVariables(fields)] : []),
    ...(client === 'goose' ? [keyringVariables(fields)] : []),
    textMap(member(fields, 'command', 'env'), 'command.env', notes),
    textMap(found?.value, found?.key ?? 'env', notes),
  ]);
}

/** Variables of Goose's keyring; Goose also reads them from the environment. */
function keyringVariables(fields: Tree): EntryValues {
  const names = listField(fields, ['env_keys']) ?? [];
  return new Map(names.map((name) => [name, { prefix: '', variable: name, isNeeded: true }]));
}

function headersOf(fields: Tree, client: string, notes: EntryNotes): EntryValues {
  return joinedValues([
    ...(client === 'codex' ? [codexHeaders(fields, notes)] : []),
    textMap(member(fields, 'headers'), 'headers', notes),
    textMap(member(fields, 'http_headers'), 'http_headers', notes),
    textMap(member(fields, 'requestInit', 'headers'), 'requestInit.headers', notes),
    textMap(member(fields, 'requestOptions', 'headers'), 'requestOptions.headers', notes),
  ]);
}

interface Choice {
  readonly fields: Tree;
  readonly command: string | undefined;
  readonly url: string | undefined;
  readonly traits: ClientTraits;
}

function chosen(choice: Choice): { transport: DiscoveredTransport; verdict: Verdict } {
  const { fields, command, url } = choice;
  const type = typeOf(fields);
  if (type !== undefined && FOREIGN_TYPES.has(type))
    return {
      transport: 'unknown',
      verdict: { kind: 'unsupported', reason: `servers of type ${type} are not supported` },
    };
  const named = type === undefined ? undefined : TRANSPORTS[type.toLowerCase()];
  if (type !== undefined && named === undefined)
    return { transport: 'unknown', verdict: { kind: 'invalid', reason: 'its type is not known' } };
  const transport = named ?? untyped(choice);
  const both = command !== undefined && command !== '' && url !== undefined && url !== '';
  if (both && choice.traits.both === 'invalid')
    return { transport, verdict: { kind: 'invalid', reason: 'it has both a command and a URL' } };
  return { transport, verdict: completeness(choice, transport, { isTyped: named !== undefined, both }) };
}

function typeOf(fields: Tree): string | undefined {
  return textAt(fields, 'type') ?? textAt(fields, 'transport') ?? textAt(fields, 'transportType');
}

function untyped({ fields, command, url, traits }: Choice): DiscoveredTransport {
  const hasUrl = url !== undefined && url !== '';
  if (command !== undefined && command !== '' && !(hasUrl && traits.both === 'url')) return 'stdio';
  if (url === undefined) return command === undefined ? 'unknown' : 'stdio';
  if (textAt(fields, 'httpUrl') !== undefined) return 'http';
  return /^wss?:/i.test(url) ? 'ws' : traits.untypedUrl;
}

function completeness(
  { fields, command, url, traits }: Choice,
  transport: DiscoveredTransport,
  { isTyped, both }: { isTyped: boolean; both: boolean },
): Verdict {
  const isLocal = transport === 'stdio';
  if (transport === 'unknown') {
    if (isTree(fields.settings) || fields.source === 'extension')
      return { kind: 'unsupported', reason: 'its editor starts it from an extension' };
    return { kind: 'invalid', reason: 'it has neither a command nor a URL' };
  }
  if (isLocal && command === undefined) return { kind: 'invalid', reason: 'it has no command' };
  if (isLocal && command?.trim() === '') return { kind: 'not-configured', reason: 'its command is empty' };
  if (!isLocal && url === undefined) return { kind: 'invalid', reason: 'it has no URL' };
  if (!isLocal && url?.trim() === '') return { kind: 'not-configured', reason: 'its URL is empty' };
  const remarks: Remark[] = both ? ['ambiguous'] : [];
  if (member(fields, 'sandboxEnabled') === true) remarks.push('no-sandbox');
  if (!isTyped && transport === 'auto' && !traits.isUrlBare) remarks.push('url-without-type');
  return { kind: 'usable', remarks };
}

function timesOf(fields: Tree, traits: ClientTraits): Pick<Written, 'timeoutMs' | 'startupTimeoutMs'> {
  const { timeoutUnit } = traits;
  const timeout = member(fields, 'timeout');
  const call =
    milliseconds(member(fields, 'timeoutMs'), 'ms') ??
    milliseconds(member(fields, 'tool_timeout_sec'), 's') ??
    milliseconds(isTree(timeout) ? timeout.request : timeout, timeoutUnit) ??
    milliseconds(member(fields, 'request_timeout_ms'), 'ms');
  return {
    timeoutMs: call !== undefined && call < traits.leastTimeoutMs ? undefined : call,
    startupTimeoutMs:
      milliseconds(member(fields, 'startup_timeout_sec'), 's') ??
      milliseconds(member(fields, 'startup_timeout_ms'), 'ms') ??
      milliseconds(member(fields, 'discoveryTimeoutMs'), 'ms') ??
      milliseconds(isTree(timeout) ? timeout.startup : undefined, timeoutUnit),
  };
}

/** A text, or a reference to an environment variable. */
export type EntryValue = string | Reference;

interface Reference {
  readonly prefix: string;
  readonly variable: string;
  /** True if the entry is useless without it. */
  readonly isNeeded: boolean;
}

export type EntryValues = ReadonlyMap<string, EntryValue>;

/** Collects the faults of an entry: `fault` for the whole entry, `badValues` for single variables. */
class EntryNotes {
  fault: string | undefined;
  readonly badValues: string[] = [];

  refuse(fault: string): undefined {
    this.fault ??= fault;
    return undefined;
  }
}

const TRUE = new Set<unknown>([true, 'true', 'yes', 'on', 1]);
const FALSE = new Set<unknown>([false, 'false', 'no', 'off', 0]);

/** True if the field has one of these words. Modern YAML reads `yes` and `no` as strings. */
function says(fields: Tree, key: string, words: ReadonlySet<unknown>): boolean {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
  return value !== undefined && words.has(typeof value === 'string' ? value.toLowerCase() : value);
}

export function isSwitchedOff(fields: Tree): boolean {
  if (says(fields, 'disabled', TRUE)) return true;
  if (member(fields, 'anythingllm', 'autoStart') === false) return true;
  return ['enabled', 'active', 'isActive'].some((key) => says(fields, key, FALSE));
}

function firstOf(fields: Tree, keys: readonly string[]): { key: string; value: unknown } | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (value !== undefined && value !== null) return { key, value };
  }
  return undefined;
}

function textField(fields: Tree, keys: readonly string[], notes: EntryNotes): string | undefined {
  const found = firstOf(fields, keys);
  if (found === undefined || typeof found.value === 'string') return found?.value as string | undefined;
  return notes.refuse(`"${found.key}" must be a text`);
}

function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  return undefined;
}

/** A list of texts; numbers and the like become texts. */
function textList(value: unknown, key: string, notes: EntryNotes): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    notes.refuse(`"${key}" must be a list`);
    return [];
  }
  const texts = value.map(scalarText);
  if (texts.includes(undefined)) notes.refuse(`"${key}" must be a list of texts`);
  return texts.filter((text) => text !== undefined);
}

const NO_TEXTS: ReadonlyMap<string, string> = new Map();

/** Joins all maps; later values win. Most entries have one map or none, and need no copy. */
function joinedValues(maps: readonly EntryValues[]): EntryValues {
  const filled = maps.filter(({ size }) => size > 0);
  return filled.length < 2 ? (filled[0] ?? NO_TEXTS) : new Map(filled.flatMap((map) => [...map]));
}

/** A map of texts, or a list of `NAME=value`. Values that are no text are left out and noted. */
function textMap(value: unknown, key: string, notes: EntryNotes): ReadonlyMap<string, string> {
  if (value === undefined || value === null) return NO_TEXTS;
  if (Array.isArray(value)) return mapOfList(value, notes);
  if (!isTree(value)) {
    notes.refuse(`"${key}" must be an object`);
    return NO_TEXTS;
  }
  const map = new Map<string, string>();
  for (const [name, item] of Object.entries(value)) {
    const text = scalarText(item);
    if (text !== undefined) map.set(name, text);
    else if (item !== null) notes.badValues.push(name); // null removes a variable
  }
  return map;
}

function mapOfList(list: readonly unknown[], notes: EntryNotes): Map<string, string> {
  const map = new Map<string, string>();
  for (const [i, item] of list.entries()) {
    const at = typeof item === 'string' ? item.indexOf('=') : -1;
    if (at > 0 && typeof item === 'string') map.set(item.slice(0, at), item.slice(at + 1));
    else notes.badValues.push(`[${i}]`);
  }
  return map;
}

/** The texts of the first of these fields that is a list. */
function listField(fields: Tree, keys: readonly string[]): string[] | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (Array.isArray(value)) return value.filter((item) => typeof item === 'string');
  }
  return undefined;
}

/** A time in the client's unit, or in the unit that the key names. */
function milliseconds(value: unknown, unit: 'ms' | 's'): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number <= 0) return undefined;
  return Math.round(unit === 's' ? number * 1000 : number);
}

const OF_A_PROCESS = ['command', 'args', 'env', 'env_vars'];
const OF_A_URL = ['url', 'bearer_token_env_var', 'http_headers', 'env_http_headers', 'http_headers_helper'];

function checkCodexFields(fields: Tree, notes: EntryNotes): void {
  if (member(fields, 'bearer_token') !== undefined)
    notes.refuse('Codex takes no "bearer_token" in the file: name a variable with "bearer_token_env_var"');
  const has = (keys: readonly string[]): string | undefined => keys.find((key) => member(fields, key) !== undefined);
  if (has(['command']) !== undefined && has(OF_A_URL) !== undefined)
    notes.refuse(`Codex takes no "${has(OF_A_URL)}" beside a "command"`);
  if (has(['url']) !== undefined && has(OF_A_PROCESS) !== undefined)
    notes.refuse(`Codex takes no "${has(OF_A_PROCESS)}" beside a "url"`);
}

/** Variables that are passed on under their own names. */
function codexVariables(fields: Tree): Map<string, EntryValue> {
  const listed = member(fields, 'env_vars');
  const found = new Map<string, EntryValue>();
  for (const item of Array.isArray(listed) ? listed : []) {
    const name = typeof item === 'string' ? item : textAt(item, 'name');
    const isRemote = isTree(item) && item.source !== undefined && item.source !== 'local';
    if (name !== undefined && !isRemote) found.set(name, { prefix: '', variable: name, isNeeded: false });
  }
  return found;
}

function codexHeaders(fields: Tree, notes: EntryNotes): Map<string, EntryValue> {
  const headers = new Map<string, EntryValue>();
  const token = textAt(fields, 'bearer_token_env_var');
  if (token !== undefined) headers.set('Authorization', { prefix: 'Bearer ', variable: token, isNeeded: true });
  for (const [name, variable] of textMap(member(fields, 'env_http_headers'), 'env_http_headers', notes))
    headers.set(name, { prefix: '', variable, isNeeded: false });
  return headers;
}

// Fields with a meaning here, in every spelling. All other fields are the client's own; consent is never read from
// them.
const KNOWN = new Set([
  ...['name', 'description', 'type', 'transport', 'transportType', 'source', 'settings', 'anythingllm'],
  ...['enabled', 'disabled', 'active', 'isActive'],
  ...['command', 'cmd', 'args', 'cwd', 'working_directory', 'workingDirectory'],
  ...['env', 'environment', 'envs', 'envFile', 'env_keys', 'env_vars'],
  ...['httpUrl', 'url', 'serverUrl', 'uri', 'oauth', 'auth'],
  ...['headers', 'http_headers', 'env_http_headers', 'requestInit', 'requestOptions'],
  ...['headersHelper', 'http_headers_helper'],
  ...['bearer_token', 'bearer_token_env_var'],
  ...['timeout', 'timeoutMs', 'tool_timeout_sec', 'request_timeout_ms'],
  ...['startup_timeout_sec', 'startup_timeout_ms', 'discoveryTimeoutMs'],
  ...[
    'tools',
    'enabled_tools',
    'enabledTools',
    'available_tools',
    'includeTools',
    'disabled_tools',
    'disabledTools',
    'excludeTools',
  ],
]);
/** Fields of the bridge's own config that discovery does not interpret. */
const OF_THE_BRIDGE = new Set(['sharing', 'maxConcurrentCalls', 'idleMs', 'trustHints']);

const NONE: readonly string[] = [];

function unheededIn(fields: Tree): readonly string[] {
  const keys = Object.keys(fields).filter((key) => !KNOWN.has(key) && !OF_THE_BRIDGE.has(key));
  return keys.length === 0 ? NONE : keys;
}
