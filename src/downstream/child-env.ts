// What a server's process is told of our environment: what programs need to run at all, and what its definition
// declares. Everything else (tokens, keys) stays here.

import { DEPTH_VARIABLE, nextDepth } from '../local/bridge-depth.ts';

/** How to reach the network, and whom to trust there. */
const OF_THE_NETWORK = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
];

const INHERITED = [
  ...OF_THE_NETWORK,
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
];

export type Environment = Readonly<Record<string, string | undefined>>;

export function childEnvironment(own: Environment, declared: Readonly<Record<string, string>>): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const depth = nextDepth(own[DEPTH_VARIABLE]) ?? own[DEPTH_VARIABLE];
  return { ...Object.fromEntries(inherited), ...declared, [DEPTH_VARIABLE]: String(depth) };
}

/** Shorter values, such as `1` or `on`, are no secrets, and would make a text unreadable. */
const SHORTEST_SECRET = 4;

/** Takes the values that are secrets out of a text; each leaves its name behind. */
export function redactEach(text: string, named: readonly (readonly [name: string, value: string])[]): string {
  const secrets = named.filter(([, value]) => value.length >= SHORTEST_SECRET);
  secrets.sort(([, a], [, b]) => b.length - a.length); // one value may be a part of another
  return secrets.reduce((safe, [name, value]) => safe.replaceAll(value, () => `[${name}]`), text);
}
