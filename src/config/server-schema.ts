// Reads the definition of one server in a config file. Any fault leaves that server out.

import type { OAuthSettings, RemoteServer, ServerDefinition, StdioServer } from '../model/server-definition.ts';
import { SERVER, type SettingsOf } from '../model/settings.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { type Reader, readSection, readSettings } from './reader.ts';

const SERVER_KEYS = [
  ...['type', 'command', 'args', 'env', 'cwd', 'url', 'headers', 'headersHelper', 'oauth'],
  ...Object.keys(SERVER),
];

/** The length of a refused name that a message shows. */
const LONGEST_SHOWN = 64;

/** Settings of a server that is defined elsewhere. */
export type ServerSettings = Readonly<Partial<SettingsOf<typeof SERVER>>>;

/** Reads `serverSettings`. A setting that is missing stays as it is. */
export function serverSettingsOf(reader: Reader, value: unknown): Readonly<Record<string, ServerSettings>> {
  const entries = Object.entries(reader.section(value, 'serverSettings'));
  return Object.fromEntries(
    entries.map(([name, entry]) => [name, settingsOf(reader, `serverSettings.${name}`, entry)]),
  );
}

function settingsOf(reader: Reader, place: string, entry: unknown): ServerSettings {
  const fields = reader.section(entry, place);
  const values = readSection(reader, fields, place, SERVER);
  return Object.fromEntries(Object.entries(values).filter(([key]) => fields[key] !== undefined));
}

export function serverOf(
  reader: Reader,
  name: string,
  entry: unknown,
  resolvePath: (path: string) => string,
): ServerDefinition | undefined {
  const place = `mcpServers.${name}`;
  const before = reader.errors;
  if (name.length > LONGEST_NAME) {
    const problem = `has a server whose name has more than ${LONGEST_NAME} characters`;
    reader.fault('mcpServers', `${problem}: ${name.slice(0, LONGEST_SHOWN)}…`);
    return undefined;
  }
  const fields = reader.section(entry, place);
  reader.keys(fields, place, SERVER_KEYS);
  if (name === '') reader.fault('mcpServers', 'has a server whose name is empty');
  if (/\p{Cc}/u.test(name)) reader.fault(place, 'needs a name without control characters');
  const common = { name, ...readSettings(reader, fields, place, SERVER), tools: NO_FILTER };
  const definition =
    fields.url === undefined
      ? { ...common, ...stdioOf(reader, place, fields, resolvePath) }
      : { ...common, ...remoteOf(reader, place, fields, resolvePath) };
  return reader.errors > before ? undefined : definition;
}

type Own<Definition extends ServerDefinition> = Omit<Definition, 'name' | 'tools' | keyof typeof SERVER>;

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
    // A path that begins with a variable is not relative to the file.
    cwd: cwd === undefined || cwd.startsWith('${') ? cwd : resolvePath(cwd),
    dir: resolvePath('.'),
  };
}

const REMOTE_TYPES: Readonly<Record<string, RemoteServer['transport']>> = {
  http: 'http',
  'streamable-http': 'http',
  sse: 'sse',
  ws: 'ws',
  auto: 'auto',
};
const SCHEMES = { ws: ['ws:', 'wss:'], http: ['http:', 'https:'] };

function remoteOf(
  reader: Reader,
  place: string,
  fields: Record<string, unknown>,
  resolvePath: (path: string) => string,
): Own<RemoteServer> {
  if (fields.command !== undefined) reader.fault(place, 'has both a command and a url');
  const url = reader.text(fields.url, `${place}.url`) ?? '';
  const scheme = parsedUrl(url)?.protocol ?? '';
  const transport = transportOf(reader, place, fields.type, scheme);
  const allowed = transport === 'ws' ? SCHEMES.ws : SCHEMES.http;
  if (!allowed.includes(scheme))
    reader.fault(`${place}.url`, transport === 'ws' ? 'must be a ws or wss URL' : 'must be an http or https URL');
  const command = reader.text(fields.headersHelper, `${place}.headersHelper`);
  const cwd = reader.text(fields.cwd, `${place}.cwd`) ?? '.';
  return {
    transport,
    url,
    headers: reader.textMap(fields.headers, `${place}.headers`),
    isFilledIn: false,
    headersHelper: command === undefined ? undefined : { command, cwd: resolvePath(cwd) },
    oauth: oauthOf(reader, `${place}.oauth`, fields.oauth),
  };
}

function oauthOf(reader: Reader, place: string, value: unknown): OAuthSettings {
  const fields = reader.section(value, place);
  reader.keys(fields, place, ['clientId', 'clientSecret', 'scope', 'callbackPort']);
  const clientId = reader.text(fields.clientId, `${place}.clientId`);
  if (fields.clientSecret !== undefined && clientId === undefined)
    reader.fault(`${place}.clientSecret`, 'needs a clientId');
  const port = reader.count(fields.callbackPort, `${place}.callbackPort`, {
    default: undefined,
    least: 1,
    most: 65_535,
  });
  return {
    clientId,
    clientSecret: reader.text(fields.clientSecret, `${place}.clientSecret`),
    scope: reader.text(fields.scope, `${place}.scope`),
    callbackPort: port,
  };
}

function transportOf(reader: Reader, place: string, type: unknown, scheme: string): RemoteServer['transport'] {
  if (type === undefined) return SCHEMES.ws.includes(scheme) ? 'ws' : 'auto';
  const transport = typeof type === 'string' && Object.hasOwn(REMOTE_TYPES, type) ? REMOTE_TYPES[type] : undefined;
  if (transport === undefined) reader.fault(`${place}.type`, 'is one of http, sse, ws, auto');
  return transport ?? 'auto';
}
