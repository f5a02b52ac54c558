// The identity of a server: `key` is equal for definitions of the same server, and contains secrets, so it is never
// shown; `canonical` is for people. A command line is identified by the package it runs, a hosted proxy by the address
// behind it.

import { parsedUrl } from '../util/parsed-url.ts';
import { besideClient } from './client-place.ts';
import { type CommandLine, programName, unwrapped } from './command-line.ts';
import type { Draft } from './discovered-server.ts';
import { maskedArgs, withoutGiven } from './shown-launch.ts';

export interface Signature {
  readonly key: string;
  readonly canonical: string;
  /**
   * A key shared by probable duplicates: equal except for environment, headers and arguments. Undefined if it would say
   * nothing.
   */
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

/** The identity in a form safe to show: a supposed package or program may be a text with a secret in it. */
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
  // `auto` may turn out to be Streamable HTTP; SSE at the same address is a different server.
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
  const parsed = parsedUrl(url);
  if (parsed === undefined) return url;
  parsed.hash = '';
  parsed.pathname = parsed.pathname.replace(/\/+$/, '') || '/';
  return parsed.href.replace(/\/(?=$|\?)/, '');
}

/** The URL without possible secrets: the user, query values, and long words that look random. */
function shownUrl(url: string): string {
  const parsed = parsedUrl(url);
  if (parsed === undefined) return 'a URL';
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

// `npx -y p`, `cmd /c npx p@latest` and `bunx p` are all `npm:p`. A pinned version is a separate package.
export interface PackageRun {
  /** Such as `npm:@scope/name@1.2.3`. */
  readonly identity: string;
  /** The identity without a version. */
  readonly unversioned: string;
  /** The rest of the command line. */
  readonly rest: readonly string[];
}

type Registry = 'npm' | 'pypi';

interface Runner {
  readonly registry: Registry;
  /** The possible subcommands after the runner's name. */
  readonly subcommands: readonly (readonly string[])[];
  readonly ownFlags: readonly string[];
  readonly valueFlags: readonly string[];
  readonly packageFlags: readonly string[];
}

const NPM_FLAGS = {
  registry: 'npm' as const,
  ownFlags: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-online', '--prefer-offline', '--bun'],
  valueFlags: ['--registry', '--userconfig', '--prefix', '--cache', '-w', '--workspace', '--loglevel'],
  packageFlags: ['-p', '--package'],
};
const PYPI_FLAGS = {
  registry: 'pypi' as const,
  ownFlags: ['-q', '--quiet', '--no-progress', '--isolated'],
  valueFlags: ['--python', '-p', '--index-url', '-i', '--index', '--directory', '--cache-dir', '--with'],
  packageFlags: ['--from', '--spec'],
};

const RUNNERS: Readonly<Record<string, Runner>> = {
  npx: { ...NPM_FLAGS, subcommands: [[]] },
  npm: { ...NPM_FLAGS, subcommands: [['exec'], ['x']] },
  pnpm: { ...NPM_FLAGS, subcommands: [['dlx']] },
  pnpx: { ...NPM_FLAGS, subcommands: [[]] },
  yarn: { ...NPM_FLAGS, subcommands: [['dlx']] },
  bunx: { ...NPM_FLAGS, subcommands: [[]] },
  bun: { ...NPM_FLAGS, subcommands: [['x']] },
  uvx: { ...PYPI_FLAGS, subcommands: [[]] },
  uv: { ...PYPI_FLAGS, subcommands: [['tool', 'run']] },
  pipx: { ...PYPI_FLAGS, subcommands: [['run']] },
};

/** The package that a command runs; undefined if it is not known to run one. */
export function packageRun({ command, args }: CommandLine): PackageRun | undefined {
  const name = programName(command).toLowerCase();
  if (name === 'docker' || name === 'podman') return imageRun(args);
  const runner = Object.hasOwn(RUNNERS, name) ? RUNNERS[name] : undefined;
  const subcommand = runner?.subcommands.find((words) => words.every((word, i) => args[i] === word));
  if (runner === undefined || subcommand === undefined) return undefined;
  return runOf(runner, args.slice(subcommand.length));
}

function runOf(runner: Runner, args: readonly string[]): PackageRun | undefined {
  let named: string | undefined;
  const kept: string[] = [];
  let i = 0;
  for (; i < args.length; i++) {
    const arg = args[i] ?? '';
    if (arg === '--') {
      i++;
      break;
    }
    if (!arg.startsWith('-')) break;
    const [flag = '', value] = arg.split(/=(.*)/s);
    if (runner.packageFlags.includes(flag)) named ??= value ?? args[++i];
    else if (runner.valueFlags.includes(flag)) i += value === undefined ? 1 : 0;
    else if (!runner.ownFlags.includes(arg)) kept.push(arg);
  }
  const rest = args.slice(i);
  const spec = named ?? rest[0];
  if (spec === undefined || spec === '') return undefined;
  const { name, version } = versionIn(spec, runner.registry);
  const isOwnProgram = named === undefined || rest[0] === name.split('/').at(-1);
  return {
    identity: `${runner.registry}:${name}${version === undefined ? '' : `@${version}`}`,
    unversioned: `${runner.registry}:${name}`,
    rest: [...kept, ...(isOwnProgram ? rest.slice(1) : rest)],
  };
}

function versionIn(spec: string, registry: Registry): { name: string; version: string | undefined } {
  const [, name = spec, version] =
    (registry === 'pypi' ? /^([^=@]+)(?:==|@)(.+)$/ : /^(@?[^@]+)@(.+)$/).exec(spec) ?? [];
  return { name: registry === 'pypi' ? name.toLowerCase() : name, version: version === 'latest' ? undefined : version };
}

const IMAGE_SWITCHES = new Set([
  '-i',
  '-t',
  '-it',
  '-ti',
  '--rm',
  '--init',
  '--interactive',
  '--tty',
  '-d',
  '--privileged',
  '--read-only',
]);
/** Switches that do not affect the server's identity. */
const IDLE_SWITCHES = new Set(['-i', '--rm', '--interactive', '--init']);

function imageRun(args: readonly string[]): PackageRun | undefined {
  if (args[0] !== 'run') return undefined;
  const kept: string[] = [];
  let i = 1;
  for (; i < args.length && args[i]?.startsWith('-'); i++) {
    const arg = args[i] ?? '';
    if (IDLE_SWITCHES.has(arg)) continue;
    kept.push(arg);
    if (!IMAGE_SWITCHES.has(arg) && !arg.includes('=')) kept.push(args[++i] ?? '');
  }
  const image = args[i];
  if (image === undefined) return undefined;
  const identity = `docker:${image.replace(/:latest$/, '')}`;
  const unversioned = `docker:${image.replace(/(?::[^/@:]*)?(?:@.*)?$/, '')}`;
  return { identity, unversioned, rest: [...kept, '--', ...args.slice(i + 1)] };
}

// The parameter with the address is undocumented: any URL value counts; without one the address stays.
const MARKERS = ['/v2/session_ingress/shttp/mcp/', '/v2/ccr-sessions/'];

function unproxied(url: string): string {
  const isProxied = (text: string): boolean => MARKERS.some((marker) => text.includes(marker));
  const parsed = isProxied(url) ? parsedUrl(url) : undefined;
  if (parsed === undefined || !isProxied(parsed.pathname)) return url;
  return (
    [...parsed.searchParams.values()].find((value) => /^https?:\/\//.test(value) && parsedUrl(value) !== undefined) ??
    url
  );
}
