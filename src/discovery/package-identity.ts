// Which package a command line runs, whatever runner it goes through: `npx -y p`, `cmd /c npx p@latest` and
// `bunx p` are all `npm:p`. A pinned version is a package of its own.

import { type CommandLine, programName } from './command-line.ts';

export interface PackageRun {
  /** Such as `npm:@scope/name@1.2.3`. */
  readonly identity: string;
  /** The same without a version. */
  readonly unversioned: string;
  /** What is left of the command line. */
  readonly rest: readonly string[];
}

type Registry = 'npm' | 'pypi';

interface Runner {
  readonly registry: Registry;
  /** What follows the runner's own name. */
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

/** Undefined for what is not known to run a package. */
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
/** They say nothing of what the server is. */
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
