// What a config file may say, and what each word of it must look like. A fault names its place; faults of one server
// leave that server out and nothing else.

import { DEFAULT_LIVENESS, type LivenessSettings } from '../core/liveness.ts';
import type { RemoteServer, ServerDefinition, StdioServer } from '../core/server-definition.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { DEFAULT_LIMITS, type Limits } from '../wire/limits.ts';

export interface Config {
  readonly socketPath: string | undefined;
  readonly clientId: string | undefined;
  readonly view: string | undefined;
  readonly servers: readonly ServerDefinition[];
  readonly limits: Limits;
  readonly liveness: LivenessSettings;
}

export interface Validated {
  readonly config: Config;
  /** One line each, beginning with the place, such as `mcpServers.weather.args[1]`. */
  readonly faults: readonly string[];
}

export const EMPTY_CONFIG: Config = {
  socketPath: undefined,
  clientId: undefined,
  view: undefined,
  servers: [],
  limits: DEFAULT_LIMITS,
  liveness: DEFAULT_LIVENESS,
};

const SECTIONS = ['$schema', 'mcpBridge', 'client', 'mcpServers', 'limits', 'liveness'];
/** What the file's contract has and this version does not do yet: better said than passed over. */
const UNHEEDED_SECTIONS = ['discovery', 'policy'];
const SERVER_KEYS = ['type', 'command', 'args', 'env', 'cwd', 'description', 'url', 'headers', 'timeoutMs', 'idleMs'];
const UNHEEDED_SERVER_KEYS = ['sharing'];

/** Takes what it can use of a parsed file, and says what it could not. */
export function validate(file: unknown, resolvePath: (path: string) => string): Validated {
  const reader = new Reader();
  const root = reader.section(file, '');
  reader.keys(root, '', SECTIONS, UNHEEDED_SECTIONS);
  const bridge = reader.section(root.mcpBridge, 'mcpBridge');
  const client = reader.section(root.client, 'client');
  const servers = reader.section(root.mcpServers, 'mcpServers');
  reader.keys(bridge, 'mcpBridge', ['socketPath'], ['autoConnect', 'reconnect']);
  reader.keys(client, 'client', ['id', 'view']);
  const socketPath = reader.text(bridge.socketPath, 'mcpBridge.socketPath');
  const config: Config = {
    socketPath: socketPath === undefined ? undefined : resolvePath(socketPath),
    clientId: reader.text(client.id, 'client.id'),
    view: reader.text(client.view, 'client.view'),
    servers: Object.entries(servers).flatMap(([name, entry]) => serverOf(reader, name, entry, resolvePath) ?? []),
    limits: limitsOf(reader, root.limits),
    liveness: livenessOf(reader, root.liveness),
  };
  return { config, faults: reader.faults };
}

class Reader {
  readonly faults: string[] = [];
  /** Those for which something has to be left out. */
  errors = 0;

  fault(place: string, problem: string): void {
    this.errors++;
    this.note(place, problem);
  }

  /** Says what is of no use, and harms nothing. */
  note(place: string, problem: string): void {
    this.faults.push(place === '' ? `The file ${problem}` : `${place} ${problem}`);
  }

  /** Says which keys nobody knows, and which nobody heeds yet. */
  keys(
    fields: Record<string, unknown>,
    place: string,
    known: readonly string[],
    unheeded: readonly string[] = [],
  ): void {
    for (const key of Object.keys(fields)) {
      const where = place === '' ? key : `${place}.${key}`;
      if (unheeded.includes(key)) this.note(where, 'has no effect yet');
      else if (!known.includes(key)) this.note(where, 'is not known');
    }
  }

  section(value: unknown, place: string): Record<string, unknown> {
    if (value === undefined) return {};
    if (isRecord(value)) return value;
    this.fault(place, 'must be an object');
    return {};
  }

  text(value: unknown, place: string): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    this.fault(place, 'must be a string that is not empty');
    return undefined;
  }

  flag(value: unknown, place: string, otherwise: boolean): boolean {
    if (value === undefined || typeof value === 'boolean') return value ?? otherwise;
    this.fault(place, 'must be true or false');
    return otherwise;
  }

  texts(value: unknown, place: string): string[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.fault(place, 'must be a list of strings');
      return [];
    }
    for (const [i, text] of value.entries())
      if (typeof text !== 'string') this.fault(`${place}[${i}]`, 'must be a string');
    return value as string[];
  }

  textMap(value: unknown, place: string): Record<string, string> {
    const map = this.section(value, place);
    for (const [key, text] of Object.entries(map))
      if (typeof text !== 'string') this.fault(`${place}.${key}`, 'must be a string');
    return map as Record<string, string>;
  }

  optionalCount(value: unknown, place: string): number | undefined {
    return value === undefined ? undefined : this.count(value, place, { otherwise: 0, least: 1 });
  }

  count(value: unknown, place: string, range: { otherwise: number; least: number; most?: number }): number {
    const { otherwise, least, most = Number.MAX_SAFE_INTEGER } = range;
    if (value === undefined) return otherwise;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    this.fault(place, `must be a whole number from ${least}${range.most === undefined ? ' up' : ` to ${range.most}`}`);
    return otherwise;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function serverOf(
  reader: Reader,
  name: string,
  entry: unknown,
  resolvePath: (path: string) => string,
): ServerDefinition | undefined {
  const place = `mcpServers.${name}`;
  const before = reader.errors;
  const fields = reader.section(entry, place);
  reader.keys(fields, place, SERVER_KEYS, UNHEEDED_SERVER_KEYS);
  if (name === '' || /\p{Cc}/u.test(name)) reader.fault(place, 'needs a name without control characters');
  const common = {
    name,
    description: typeof fields.description === 'string' ? fields.description : '',
    timeoutMs: reader.optionalCount(fields.timeoutMs, `${place}.timeoutMs`),
    idleMs: reader.optionalCount(fields.idleMs, `${place}.idleMs`),
  };
  const definition =
    fields.url === undefined
      ? { ...common, ...stdioOf(reader, place, fields, resolvePath) }
      : { ...common, ...remoteOf(reader, place, fields) };
  return reader.errors > before ? undefined : definition;
}

type Own<Definition> = Omit<Definition, 'name' | 'description' | 'timeoutMs' | 'idleMs'>;

function stdioOf(
  reader: Reader,
  place: string,
  fields: Record<string, unknown>,
  resolvePath: (path: string) => string,
): Own<StdioServer> {
  if (fields.command === undefined) reader.fault(place, 'needs a command, or a url');
  const command = reader.text(fields.command, `${place}.command`) ?? '';
  const cwd = reader.text(fields.cwd, `${place}.cwd`);
  return {
    transport: 'stdio',
    command: command.startsWith('~/') ? resolvePath(command) : command,
    args: reader.texts(fields.args, `${place}.args`),
    env: reader.textMap(fields.env, `${place}.env`),
    cwd: resolvePath(cwd ?? '.'),
  };
}

const REMOTE_TYPES: Readonly<Record<string, RemoteServer['transport']>> = {
  http: 'http',
  'streamable-http': 'http',
  sse: 'sse',
  auto: 'auto',
};

function remoteOf(reader: Reader, place: string, fields: Record<string, unknown>): Own<RemoteServer> {
  const url = reader.text(fields.url, `${place}.url`) ?? '';
  if (!/^https?:/.test(url) || !URL.canParse(url)) reader.fault(`${place}.url`, 'must be an http or https URL');
  if (fields.command !== undefined) reader.fault(place, 'has both a command and a url');
  const type = String(fields.type ?? 'auto');
  const transport = Object.hasOwn(REMOTE_TYPES, type) ? REMOTE_TYPES[type] : undefined;
  if (transport === undefined) reader.fault(`${place}.type`, 'is one of http, sse, auto');
  return { transport: transport ?? 'auto', url, headers: reader.textMap(fields.headers, `${place}.headers`) };
}

function limitsOf(reader: Reader, value: unknown): Limits {
  const fields = reader.section(value, 'limits');
  reader.keys(fields, 'limits', Object.keys(DEFAULT_LIMITS));
  const count = (key: Exclude<keyof Limits, 'progressExtendsTimeout'>, least: number, most?: number): number =>
    reader.count(fields[key], `limits.${key}`, { otherwise: DEFAULT_LIMITS[key], least, ...(most && { most }) });
  return {
    maxMessageBytes: count('maxMessageBytes', 1024, 1 << 30),
    maxDepth: count('maxDepth', 8, DEEPEST),
    maxClients: count('maxClients', 1),
    maxInFlightPerClient: count('maxInFlightPerClient', 1),
    maxInFlightPerServer: count('maxInFlightPerServer', 1),
    maxWaitingBytesPerClient: count('maxWaitingBytesPerClient', 0),
    maxWaitingBytesPerServer: count('maxWaitingBytesPerServer', 0),
    maxQueuedBytesPerClient: count('maxQueuedBytesPerClient', 65_536),
    stallTimeoutMs: count('stallTimeoutMs', 1),
    handshakeTimeoutMs: count('handshakeTimeoutMs', 1),
    startTimeoutMs: count('startTimeoutMs', 1),
    callTimeoutMs: count('callTimeoutMs', 1),
    progressExtendsTimeout: reader.flag(
      fields.progressExtendsTimeout,
      'limits.progressExtendsTimeout',
      DEFAULT_LIMITS.progressExtendsTimeout,
    ),
    maxCallMs: count('maxCallMs', 1),
    idleMs: count('idleMs', 1),
    drainTimeoutMs: count('drainTimeoutMs', 0),
  };
}

function livenessOf(reader: Reader, value: unknown): LivenessSettings {
  const fields = reader.section(value, 'liveness');
  const otherwise = DEFAULT_LIVENESS;
  reader.keys(fields, 'liveness', Object.keys(DEFAULT_LIVENESS));
  return {
    pingPeriodMs: reader.count(fields.pingPeriodMs, 'liveness.pingPeriodMs', {
      otherwise: otherwise.pingPeriodMs,
      least: 0,
    }),
    maxMissedPings: reader.count(fields.maxMissedPings, 'liveness.maxMissedPings', {
      otherwise: otherwise.maxMissedPings,
      least: 1,
    }),
    cutOffSilentClients: reader.flag(
      fields.cutOffSilentClients,
      'liveness.cutOffSilentClients',
      otherwise.cutOffSilentClients,
    ),
  };
}
