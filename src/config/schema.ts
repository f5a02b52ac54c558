// What a config file may say, and what each word of it must look like. A fault names its place; faults of one server
// leave that server out and nothing else (server-schema.ts).

import { DEFAULT_LIVENESS, type LivenessSettings } from '../core/liveness.ts';
import type { ServerDefinition } from '../core/server-definition.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { DEFAULT_LIMITS, type Limits } from '../wire/limits.ts';
import { Reader } from './reader.ts';
import { serverOf } from './server-schema.ts';

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
