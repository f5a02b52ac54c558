// The settings that a client needs: the daemon's socket, whether to start a daemon, how to reconnect, and the client's
// id. `connect` and the library read only these: to check the whole file would take longer than the rest of their
// start.

import { CLIENT_ID_RULE, isClientId } from '../protocol/client-id.ts';
import { DEFAULT_RECONNECT, RECONNECT_BOUNDS, type ReconnectSettings } from '../util/backoff.ts';
import type { Reader } from './reader.ts';

export interface OwnClientSettings {
  readonly socketPath: string | undefined;
  /** True if clients start a daemon when none runs. */
  readonly autoConnect: boolean;
  readonly reconnect: ReconnectSettings;
  readonly clientId: string | undefined;
}

export const NO_CLIENT_SETTINGS: OwnClientSettings = {
  socketPath: undefined,
  autoConnect: true,
  reconnect: DEFAULT_RECONNECT,
  clientId: undefined,
};

/** Reads the settings from a parsed file. */
export function clientSettingsOf(
  reader: Reader,
  root: Readonly<Record<string, unknown>>,
  resolvePath: (path: string) => string,
): OwnClientSettings {
  const bridge = reader.section(root.mcpBridge, 'mcpBridge');
  const client = reader.section(root.client, 'client');
  const socketPath = reader.text(bridge.socketPath, 'mcpBridge.socketPath');
  return {
    socketPath: socketPath === undefined ? undefined : resolvePath(socketPath),
    autoConnect: reader.flag(bridge.autoConnect, 'mcpBridge.autoConnect', true),
    reconnect: reconnectOf(reader, bridge.reconnect),
    clientId: clientIdOf(reader, client.id),
  };
}

function reconnectOf(reader: Reader, value: unknown): ReconnectSettings {
  const place = 'mcpBridge.reconnect';
  const fields = reader.section(value, place);
  reader.keys(fields, place, ['enabled', 'maxAttempts', 'initialDelayMs', 'maxDelayMs']);
  const count = (key: keyof typeof RECONNECT_BOUNDS): number =>
    reader.count(fields[key], `${place}.${key}`, { default: DEFAULT_RECONNECT[key], ...RECONNECT_BOUNDS[key] });
  return {
    isEnabled: reader.flag(fields.enabled, `${place}.enabled`, DEFAULT_RECONNECT.isEnabled),
    maxAttempts: count('maxAttempts'),
    initialDelayMs: count('initialDelayMs'),
    maxDelayMs: count('maxDelayMs'),
  };
}

function clientIdOf(reader: Reader, value: unknown): string | undefined {
  const id = reader.text(value, 'client.id');
  if (id === undefined || isClientId(id)) return id;
  reader.fault('client.id', `must be ${CLIENT_ID_RULE}`);
  return undefined;
}
