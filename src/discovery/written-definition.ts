// An entry in the words of this program, as it is written: no variable is filled in yet. What the client's own rules
// make of it (client-rules.ts) is decided here, and nothing about the machine.

import type { ClientTraits } from './client-rules.ts';
import { checkCodexFields, codexHeaders, codexVariables } from './codex-fields.ts';
import type { DiscoveredTransport } from './discovered-server.ts';
import {
  EntryNotes,
  type EntryValues,
  firstOf,
  isSwitchedOff,
  joinedValues,
  listField,
  milliseconds,
  textField,
  textList,
  textMap,
} from './entry-fields.ts';
import { unheededIn } from './known-fields.ts';
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

/** What is worth a word to whoever wrote it. */
type Remark = 'ambiguous' | 'no-sandbox' | 'url-without-type';

export type Verdict =
  | { readonly kind: 'usable'; readonly remarks: readonly Remark[] }
  | { readonly kind: 'invalid' | 'unsupported' | 'not-configured'; readonly reason: string };

export interface WrittenEntry {
  readonly written: Written;
  readonly verdict: Verdict;
  /** The names of variables and headers whose values are of no use. */
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
/** Of programs that talk to themselves. */
const FOREIGN_TYPES = new Set(['sse-ide', 'ws-ide', 'sdk', 'claudeai-proxy']);
const URL_KEYS = ['httpUrl', 'url', 'serverUrl', 'uri'];

export function writtenEntry(entry: unknown, client: string, rules: ClientTraits): WrittenEntry {
  const notes = new EntryNotes();
  if (!isTree(entry)) notes.refuse('it must be an object');
  const fields = flat(isTree(entry) ? entry : {});
  if (client === 'codex') checkCodexFields(fields, notes);
  const program = programOf(fields, notes);
  const url = textField(fields, URL_KEYS, notes);
  const { transport, verdict } = chosen({ fields, command: program.command, url, rules });
  const times = timesOf(fields, rules);
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

/** Cline has an object for the transport, with the rest of the entry in it. */
function flat(fields: Tree): Tree {
  const transport = treeAt(fields, 'transport');
  return transport === undefined ? fields : { ...fields, ...transport, transport: transport.type };
}

/** The command may have its arguments with it, in a list, or in an object as Zed had them. */
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

/** What Goose keeps in the keyring it takes from the environment too. */
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
  readonly rules: ClientTraits;
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
  if (both && choice.rules.both === 'invalid')
    return { transport, verdict: { kind: 'invalid', reason: 'it has both a command and a URL' } };
  return { transport, verdict: completeness(choice, transport, { isTyped: named !== undefined, both }) };
}

function typeOf(fields: Tree): string | undefined {
  return textAt(fields, 'type') ?? textAt(fields, 'transport') ?? textAt(fields, 'transportType');
}

function untyped({ fields, command, url, rules }: Choice): DiscoveredTransport {
  const hasUrl = url !== undefined && url !== '';
  if (command !== undefined && command !== '' && !(hasUrl && rules.both === 'url')) return 'stdio';
  if (url === undefined) return command === undefined ? 'unknown' : 'stdio';
  if (textAt(fields, 'httpUrl') !== undefined) return 'http';
  return /^wss?:/i.test(url) ? 'ws' : rules.untypedUrl;
}

function completeness(
  { fields, command, url, rules }: Choice,
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
  if (!isTyped && transport === 'auto' && !rules.isUrlBare) remarks.push('url-without-type');
  return { kind: 'usable', remarks };
}

function timesOf(fields: Tree, rules: ClientTraits): Pick<Written, 'timeoutMs' | 'startupTimeoutMs'> {
  const { timeoutUnit } = rules;
  const timeout = member(fields, 'timeout');
  const call =
    milliseconds(member(fields, 'timeoutMs'), 'ms') ??
    milliseconds(member(fields, 'tool_timeout_sec'), 's') ??
    milliseconds(isTree(timeout) ? timeout.request : timeout, timeoutUnit) ??
    milliseconds(member(fields, 'request_timeout_ms'), 'ms');
  return {
    timeoutMs: call !== undefined && call < rules.leastTimeoutMs ? undefined : call,
    startupTimeoutMs:
      milliseconds(member(fields, 'startup_timeout_sec'), 's') ??
      milliseconds(member(fields, 'startup_timeout_ms'), 'ms') ??
      milliseconds(member(fields, 'discoveryTimeoutMs'), 'ms') ??
      milliseconds(isTree(timeout) ? timeout.startup : undefined, timeoutUnit),
  };
}
