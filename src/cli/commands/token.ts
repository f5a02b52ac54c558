// `mcp-bridge token`: makes, lists and revokes tokens for clients over HTTP. A token is printed only once, when it is
// made.

import { type AccessToken, AccessTokenFile, isExpired } from '../../local/access-tokens.ts';
import { isViewName, VIEW_NAMES } from '../../model/view-name.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { problemIn } from '../../util/glob.ts';
import { nearest, suggestion } from '../../util/nearest.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { printable, printJson, table } from '../render/table.ts';
import { tilde, widthOf } from '../render/terminal.ts';
import { wrongUsage } from '../tool-session.ts';

export interface TokenValues {
  readonly action: 'create' | 'list' | 'revoke';
  readonly names?: readonly string[] | undefined;
  readonly view?: string | undefined;
  /** A string if given once, an array if several times. */
  readonly servers?: string | readonly string[] | undefined;
  readonly expires?: string | undefined;
  readonly json?: boolean | undefined;
}

export async function token(values: TokenValues, host: CliHost): Promise<number> {
  const file = new AccessTokenFile(host.environment, host.homedir);
  const { action, names = [] } = values;
  const isNarrowing = [values.view, values.servers, values.expires].some((value) => value !== undefined);
  if (action !== 'create' && isNarrowing) throw wrongUsage('token', '--view, --servers and --expires are for create');
  if (action === 'list') return list(file, values, host);
  if (action === 'revoke') return revoke(file, names, host);
  return create(file, values, host);
}

async function create(file: AccessTokenFile, values: TokenValues, host: CliHost): Promise<number> {
  const { names: [name, ...others] = [], view, json } = values;
  if (name === undefined || others.length > 0)
    throw wrongUsage('token', 'Name one token, such as: mcp-bridge token create laptop');
  if (view !== undefined && !isViewName(view)) throw wrongUsage('token', `--view is ${VIEW_NAMES}`);
  const nowMs = Date.now();
  const terms = { name, view, servers: serversIn(values), expiresAtMs: expiryIn(values, nowMs) };
  const text = await file.create(terms, nowMs);
  if (json === true) return printJson({ ...shownTerms({ ...terms, createdAtMs: nowMs }), token: text }, host);
  // Alone on stdout for scripts: TOKEN=$(mcp-bridge token create ci)
  host.stdout.write(`${text}\n`);
  host.stderr.write(`${printable(`${name} ${rightsOf(terms)}. The token is not shown again`)}\n`);
  return DONE;
}

function serversIn({ servers }: TokenValues): readonly string[] | undefined {
  if (servers === undefined) return undefined;
  const globs = [servers].flat();
  const wrong = problemIn(globs);
  if (wrong !== undefined) throw wrongUsage('token', `--servers ${JSON.stringify(wrong.pattern)} ${wrong.problem}`);
  return globs;
}

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** Later times cannot be written as a date. */
const LATEST_MS = 8.64e15;

function expiryIn({ expires }: TokenValues, nowMs: number): number | undefined {
  if (expires === undefined) return undefined;
  const [, number, unit] = /^(\d+)([mhdw])$/.exec(expires) ?? [];
  const spanMs = Number(number ?? 0) * (UNITS_MS[unit as keyof typeof UNITS_MS] ?? 0);
  if (spanMs > 0 && nowMs + spanMs <= LATEST_MS) return nowMs + spanMs;
  throw wrongUsage('token', `--expires is ${JSON.stringify(expires)}; it is a time such as 12h, 30d or 8w`);
}

/** The token's rights in words, to print after its name. */
function rightsOf({ view, servers, expiresAtMs }: Pick<AccessToken, 'view' | 'servers' | 'expiresAtMs'>): string {
  const what = servers === undefined ? 'all servers' : `the servers ${servers.join(', ')}`;
  const how = view === undefined ? '' : `, in the view ${view}`;
  const until = expiresAtMs === undefined ? 'until it is revoked' : `until ${dateOf(expiresAtMs)}`;
  return `may use ${what}${how}, ${until}`;
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ').concat(' UTC');
}

type ShownToken = Pick<AccessToken, 'name' | 'view' | 'servers' | 'createdAtMs' | 'expiresAtMs'>;

/** The token's terms for scripts. */
function shownTerms({ name, view, servers, createdAtMs, expiresAtMs }: ShownToken) {
  return {
    ...{ name, view: view ?? null, servers: servers ?? null },
    createdAt: new Date(createdAtMs).toISOString(),
    expiresAt: expiresAtMs === undefined ? null : new Date(expiresAtMs).toISOString(),
  };
}

function list(file: AccessTokenFile, { json }: TokenValues, host: CliHost): number {
  const nowMs = Date.now();
  const tokens = file.read();
  if (json === true)
    return printJson(
      tokens.map((one) => ({ ...shownTerms(one), isExpired: isExpired(one, nowMs) })),
      host,
    );
  if (tokens.length === 0) {
    host.stdout.write('There are no tokens. To make one: mcp-bridge token create NAME\n');
    return DONE;
  }
  const rows = tokens.map((one) => [
    ...[one.name, one.view ?? 'any', one.servers?.join(', ') ?? 'all', dateOf(one.createdAtMs)],
    one.expiresAtMs === undefined ? 'never' : `${dateOf(one.expiresAtMs)}${isExpired(one, nowMs) ? ' (over)' : ''}`,
  ]);
  host.stdout.write(table(['TOKEN', 'VIEW', 'SERVERS', 'MADE', 'EXPIRES'], rows, { width: widthOf(host) }));
  return DONE;
}

async function revoke(file: AccessTokenFile, names: readonly string[], host: CliHost): Promise<number> {
  if (names.length === 0) throw wrongUsage('token', 'Name a token, such as: mcp-bridge token revoke laptop');
  const known = file.read().map(({ name }) => name);
  for (const name of names) if (!known.includes(name)) throw unknown(name, known, file, host);
  await file.revoke(names);
  for (const name of new Set(names)) host.stdout.write(`${printable(name)} is revoked\n`);
  return DONE;
}

function unknown(name: string, known: readonly string[], file: AccessTokenFile, host: CliHost): BridgeError {
  const hint =
    suggestion(nearest(name, known)) ?? `See: mcp-bridge token list. They are kept in ${tilde(file.path, host)}`;
  return new BridgeError('REQUEST_REFUSED', `There is no token ${name}`, { hint });
}
