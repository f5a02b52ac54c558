// When two definitions are the same server. `key` is equal for those, and holds secrets: it is never shown. `canonical`
// is for people, and names variables and headers without their values.

import { besideClient } from './client-place.ts';
import { programName, unwrapped } from './command-line.ts';
import type { Draft } from './draft.ts';
import { withoutGiven } from './given-variables.ts';
import { packageRun } from './package-identity.ts';
import { unproxied } from './proxied-url.ts';
import { maskedArgs } from './shown-launch.ts';

export interface Signature {
  readonly key: string;
  readonly canonical: string;
  /** What is probably the same: equal but for environment, headers and arguments. Undefined where that says nothing. */
  readonly kin: string | undefined;
}

export type Signed = Pick<Draft, 'transport' | 'command' | 'args' | 'env' | 'cwd' | 'url' | 'headers' | 'raw'>;

export function signatureOf(server: Signed): Signature {
  return server.transport === 'stdio' ? ofProcess(server) : ofUrl(server);
}

function ofProcess({ command = '', args, env: whole, cwd, raw }: Signed): Signature {
  const declared = withoutGiven(whole, raw.env);
  const line = unwrapped(
    command,
    args.map((arg, at) => besideClient(raw.args[at]) ?? arg),
  );
  const run = packageRun(line);
  const env = Object.entries({ ...declared, ...line.env }).sort(byName);
  const rest = run?.rest ?? line.args;
  const dir = [line.command, ...rest].some(isRelative) ? cwd : undefined;
  const kin = run && shownIdentity(run.identity);
  const canonical = `${kin ?? shownIdentity(`stdio:${programName(line.command)}`)}${named('env', env)}`;
  return { key: JSON.stringify([run?.identity ?? line.command, rest, env, dir]), canonical, kin };
}

/** What is taken for a package or a program may be something else, with a secret in it. */
function shownIdentity(identity: string): string {
  const [, registry = '', spec = ''] = /^(\w+:)(.*)$/s.exec(identity) ?? [];
  return `${registry}${maskedArgs([spec], '').join('')}`;
}

const RELATIVE = /^\.{1,2}(?:[\\/]|$)|^[^-@:\\/=]+(?:[\\/][^:]*|\.(?:[cm]?[jt]s|py|rb|sh|jar|dll|php))$/;

function isRelative(text: string): boolean {
  return RELATIVE.test(text);
}

function ofUrl({ transport, url = '', headers }: Signed): Signature {
  const address = unproxied(url);
  const sorted = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .sort(byName);
  // Streamable HTTP may be what `auto` turns out to be; SSE at the same address is something else.
  const kind = transport === 'auto' ? 'http' : transport;
  const normal = normalUrl(address);
  const shown = shownUrl(normal);
  const suffix = kind === 'http' ? '' : ` (${kind})`;
  return {
    key: JSON.stringify([kind, normal, sorted]),
    canonical: `${shown}${suffix}${named('header', sorted)}`,
    kin: `${shown}${suffix}`,
  };
}

function normalUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.hash = '';
  parsed.pathname = parsed.pathname.replace(/\/+$/, '') || '/';
  return parsed.href.replace(/\/(?=$|\?)/, '');
}

/** Without whatever may be a secret: the user, the values of the query, and long words that no person chose. */
function shownUrl(url: string): string {
  if (!URL.canParse(url)) return 'a URL';
  const parsed = new URL(url);
  const path = parsed.pathname
    .split('/')
    .map((word) => (/^(?=.*\d)[\w~%-]{20,}$/.test(word) ? '…' : word))
    .join('/');
  const query = parsed.search
    .slice(1)
    .split('&')
    .map((pair) => (pair.includes('=') ? pair.slice(0, pair.indexOf('=')) : pair && '…'))
    .join('&');
  return `${parsed.protocol}//${parsed.host}${path === '/' ? '' : path}${query && `?${query}`}`;
}

function named(what: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? '' : ` +${what}{${pairs.map(([name]) => name).join(',')}}`;
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
