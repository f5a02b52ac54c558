// `federation`: reads the bus where daemons of several hosts meet, this host's names, and what it offers and uses. A
// faulty section joins no bus: half of it might offer more than was meant.

import { isAbsolute } from 'node:path';
import type { FederationSettings, NatsSettings } from '../model/federation-settings.ts';
import { HOST_NAME_RULE, isHostName } from '../model/host-name.ts';
import { FEDERATION } from '../model/settings.ts';
import { problemIn } from '../util/glob.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { type Reader, readSettings, sentenceFor } from './reader.ts';

const PLACE = 'federation';
const NATS = `${PLACE}.nats`;
const KEYS = [...Object.keys(FEDERATION), 'nats', 'offer', 'use', 'agents'];
const NATS_KEYS = ['servers', 'credentials', 'user', 'password', 'token', 'nkey', 'tls'];
const NO_SERVERS = `${NATS}.servers is missing: it has the addresses of NATS, such as ["tls://hub:4222"]`;
const TOKEN = /^[A-Za-z0-9_-]{1,63}$/;
const SCHEMES: readonly string[] = ['nats:', 'tls:'];

/** Reads the section. Returns the faults instead if it cannot be used. */
export function federationOf(
  reader: Reader,
  value: unknown,
  resolvePath: (path: string) => string,
): { readonly federation: FederationSettings | undefined; readonly federationFaults: readonly string[] } {
  const before = reader.findings.length;
  const federation = value === undefined ? undefined : settingsIn(reader, value, resolvePath);
  if (value === undefined || federation !== undefined) return { federation, federationFaults: [] };
  const faults = reader.findings.slice(before).filter(({ level }) => level === 'error');
  return { federation, federationFaults: faults.length > 0 ? faults.map(sentenceFor) : [NO_SERVERS] };
}

function settingsIn(
  reader: Reader,
  value: unknown,
  resolvePath: (path: string) => string,
): FederationSettings | undefined {
  const before = reader.errors;
  const section = reader.section(value, PLACE);
  reader.keys(section, PLACE, KEYS);
  const { tenant, user, host, bulkConnection } = readSettings(reader, section, PLACE, FEDERATION);
  const settings = {
    nats: natsOf(reader, section.nats, resolvePath),
    tenant: tokenIn(reader, tenant ?? 'default', 'tenant'),
    user: tokenIn(reader, user ?? '_', 'user'),
    host: host ?? '',
    offer: globsOf(reader, section.offer, 'offer') ?? [],
    use: globsOf(reader, section.use, 'use') ?? ['*'],
    agents: globsOf(reader, section.agents, 'agents') ?? [],
    hasBulkConnection: bulkConnection,
  };
  if (host !== undefined && !isHostName(host)) reader.fault(`${PLACE}.host`, HOST_NAME_RULE);
  if (reader.errors > before || settings.nats.servers.length === 0) return undefined;
  if (host !== undefined) return settings;
  reader.fault(`${PLACE}.host`, 'is missing: it is the name by which other hosts know this one');
  return undefined;
}

function tokenIn(reader: Reader, text: string, key: string): string {
  if (!TOKEN.test(text)) reader.fault(`${PLACE}.${key}`, 'has letters, digits, - and _, at most 63 of them');
  return text;
}

function globsOf(reader: Reader, value: unknown, key: string): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const globs = reader.texts(value, `${PLACE}.${key}`);
  const problem = problemIn(globs);
  if (problem !== undefined) reader.fault(`${PLACE}.${key}`, `${JSON.stringify(problem.pattern)} ${problem.problem}`);
  return globs;
}

function natsOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): NatsSettings {
  const section = reader.section(value ?? {}, NATS);
  reader.keys(section, NATS, NATS_KEYS);
  const servers = reader.texts(section.servers, `${NATS}.servers`);
  for (const [i, server] of servers.entries())
    if (!isAddress(server))
      reader.fault(`${NATS}.servers[${i}]`, 'must be an address such as nats://hub:4222 or tls://hub:4222');
  const text = (key: string): string | undefined => reader.text(section[key], `${NATS}.${key}`);
  const path = (key: string): string | undefined => pathOf(text(key), resolvePath);
  const settings: NatsSettings = {
    ...{ servers, credentials: path('credentials'), nkey: path('nkey') },
    ...{ user: text('user'), password: text('password'), token: text('token') },
    tls: tlsOf(reader, section.tls, resolvePath),
  };
  const ways = [settings.credentials, settings.nkey, settings.user, settings.token].filter((way) => way !== undefined);
  if (ways.length > 1) reader.fault(NATS, 'names more than one of credentials, nkey, user and token');
  return settings;
}

/** True for an address without a user in it: addresses are shown. */
function isAddress(text: string): boolean {
  const url = parsedUrl(text);
  return (
    url !== undefined &&
    SCHEMES.includes(url.protocol) &&
    url.hostname !== '' &&
    url.username === '' &&
    url.password === ''
  );
}

function tlsOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): NatsSettings['tls'] {
  if (value === undefined) return undefined;
  const place = `${NATS}.tls`;
  const section = reader.section(value, place);
  reader.keys(section, place, ['ca', 'cert', 'key']);
  const path = (key: string): string | undefined => pathOf(reader.text(section[key], `${place}.${key}`), resolvePath);
  const tls = { ca: path('ca'), cert: path('cert'), key: path('key') };
  if ((tls.cert === undefined) !== (tls.key === undefined)) reader.fault(place, 'needs a cert and a key, or neither');
  return tls;
}

function pathOf(text: string | undefined, resolvePath: (path: string) => string): string | undefined {
  return text === undefined || isAbsolute(text) ? text : resolvePath(text);
}
