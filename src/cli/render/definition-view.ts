// One definition for people: everything that would be started or connected to, without secrets.

import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { isSteering } from '../../discovery/masked-text.ts';
import type { Difference, PartKind } from '../../discovery/remembered-launch.ts';
import { commandLine, type Sources, shownLaunch, sourcesOfLaunch } from '../../discovery/shown-launch.ts';
import { hostOfUrl } from '../../discovery/url-form.ts';
import type { CliHost } from '../host.ts';
import { printable } from './table.ts';
import { tilde } from './terminal.ts';

export type Line = readonly [label: string, text: string];

/** The location of a definition, and its parts. */
export function definitionLines(server: DiscoveredServer, host: CliHost): Line[] {
  const { file, client, scope, inputs, tools } = server;
  const { command, url, cwd, env, envFile, executed, headers, headersHelper, transport } = shownLaunch(server);
  const sources = sourcesOfLaunch(server.raw);
  const isProcess = transport === 'stdio';
  const lines: [string, string | undefined][] = [
    ['file', `${tilde(file, host)}, at ${placeIn(server)}`],
    ['of', isOwn(server) ? ownerOf(server) : `${client}, ${scope}`],
    ['runs', isProcess && command !== undefined ? commandLine(shownLaunch(server)) : undefined],
    ['in', cwd === undefined ? undefined : tilde(cwd, host)],
    ['connects to', isProcess || url === undefined ? undefined : `${url} (${transport})`],
    ['host', isProcess ? undefined : hostOfUrl(server.url ?? '', server.raw.url ?? server.url ?? '')],
    ['headers', namesIn(headers.map((name) => withSources(name, sources.headers)))],
    ['headers from', headersHelper],
    ['variables', namesIn(env.map((name) => withSources(name, sources.variables)))],
    ['and those of', envFile === undefined ? undefined : tilde(envFile, host)],
    ...Object.entries(executed).map(([name, value]) => ['with', `${name}=${value}`] as [string, string]),
    ['tools', tools.allow === undefined ? undefined : `only ${namesIn(tools.allow) ?? 'none'}`],
    ['without', namesIn(tools.deny)],
    ['needs', namesIn(inputs.map(suppliedBy))],
  ];
  return lines.flatMap(([label, text]): Line[] => (text ? [[label, printable(text)]] : []));
}

/** True for the bridge's own config. It is not read as a client's file, so its servers come without context. */
function isOwn({ client, scope }: DiscoveredServer): boolean {
  return client === 'bridge' && scope === 'dynamic';
}

export function ownerOf(server: DiscoveredServer): string {
  return isOwn(server) ? "the bridge's own config" : server.client;
}

function placeIn(server: DiscoveredServer): string {
  return server.pointer === '' ? 'its top' : server.pointer;
}

function namesIn(names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : names.join(', ');
}

/** Shows where a value comes from, as in `X-Trace ← $TOKEN`. */
function withSources(name: string, sources: Sources): string {
  const taken = Object.hasOwn(sources, name) ? sources[name] : undefined;
  return taken === undefined ? name : `${name} ← ${taken.join(' ')}`;
}

/** An input, with the command that sets it, unless it is a variable. */
function suppliedBy(input: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(input) || input.includes(' ') ? input : `${input} (mcp-bridge input set ${input})`;
}

/** The parts that a person should check elsewhere, because they cannot all be shown here. */
export function warningsOf(server: DiscoveredServer): string[] {
  const { env, executed, command, args, url, headersHelper } = shownLaunch(server);
  const isMasked = [command, ...args, url, headersHelper, ...Object.values(executed)].some((text) =>
    text?.includes('***'),
  );
  return [
    ...(isMasked ? ['Where there are three stars, something looks like a secret. It is in the file.'] : []),
    ...env.filter(isSteering).map((name) => `${name} can make it run something else. Look at its value.`),
  ];
}

const WORDS: Readonly<Record<PartKind, string>> = {
  transport: 'transport',
  command: 'command',
  argument: 'argument',
  filled: 'what its variables stand for',
  cwd: 'working directory',
  url: 'URL',
  headersHelper: 'command for headers',
  oauth: 'sign-in',
  allowedTools: 'only the tools',
  deniedTools: 'without the tools',
  variable: 'variable',
  header: 'header',
};

/** The differences as lines of a patch. */
export function differenceLines(differences: readonly Difference[]): string[] {
  return differences.flatMap(({ what, before, now }) => {
    const word = WORDS[what];
    if (before === now) return [`~ ${word}${before ? ` ${before}: another value` : ' has another value'}`];
    return [
      ...(before === undefined ? [] : [`- ${word} ${before}`.trimEnd()]),
      ...(now === undefined ? [] : [`+ ${word} ${now}`.trimEnd()]),
    ].map(printable);
  });
}

export function rendered(lines: readonly Line[], indent = '  '): string {
  const width = Math.max(...lines.map(([label]) => label.length));
  return lines.map(([label, text]) => `${indent}${label.padEnd(width)}  ${text}\n`).join('');
}
