// `mcp-bridge add`: adds a server to the bridge's own config.

import { isAbsolute, resolve } from 'node:path';
import { findProgram, isExecutable } from '../../editing/client-command.ts';
import type { EditingHost } from '../../editing/editing-host.ts';
import { addServer } from '../../editing/own-servers.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { parsedUrl } from '../../util/parsed-url.ts';
import { editingHostOf, tell } from '../editing.ts';
import type { CliHost } from '../host.ts';
import { reloadIfRunning } from '../running-daemon.ts';
import { withLostNames } from './lost-names.ts';

type Repeated = string | readonly string[] | undefined;

export interface AddValues {
  readonly name?: string | undefined;
  /** The words after the name, if there is no `--` before them. */
  readonly rest?: readonly string[] | undefined;
  readonly config?: string | undefined;
  readonly env?: Repeated;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly type?: string | undefined;
  readonly header?: Repeated;
  readonly description?: string | undefined;
  /** The words after `--`. */
  readonly line: readonly string[] | undefined;
}

export async function add(values: AddValues, host: CliHost): Promise<number> {
  const { name, config, rest = [] } = values;
  if (name === undefined) throw wrong('Name a server, such as: mcp-bridge add memory -- npx -y some-server');
  if (name === '') throw wrong('The name of the server is empty');
  if (rest.length > 0)
    throw wrong(`Put -- before the command: mcp-bridge add ${name} -- ${values.line === undefined ? 'COMMAND…' : '…'}`);
  const entry = values.url === undefined ? processEntry(values, host) : remoteEntry(values);
  const editing = editingHostOf(host);
  const change = () => addServer(name, entry, { config }, editing);
  const { done, lost } = await withLostNames(change, { config }, host);
  const next = NEXT[await reloadIfRunning({}, host)];
  return tell({ lines: [...done, ...lost, ...missingLines(entry, editing), ...next], diff: '' }, host);
}

const NEXT = {
  'has looked': ['Clients that are connected see it at once: mcp-bridge status'],
  'does not run': ['No daemon runs yet; the next one offers it'],
  'has not looked': [],
} as const;

/** Warns if the program is not found. It may be installed later, or the daemon may have another PATH. */
function missingLines({ command, cwd }: Entry, editing: EditingHost): string[] {
  if (typeof command !== 'string' || /[\\$]/.test(command)) return [];
  if (!/[/~]/.test(command))
    return findProgram(command, editing) === undefined ? [`There is no ${command} on the PATH of this shell`] : [];
  const path = command.replace(/^~(?=\/)/, editing.homedir);
  if (!isAbsolute(path) && typeof cwd !== 'string')
    return [
      `${command} is looked for beside the config file, not where a client works: give the whole path, or a --cwd`,
    ];
  const whole = typeof cwd === 'string' ? resolve(cwd, path) : path;
  return isExecutable(whole) ? [] : [`There is no program ${whole}`];
}

type Entry = Readonly<Record<string, unknown>>;

function processEntry({ line, env, cwd, type, header, description }: AddValues, host: CliHost): Entry {
  const [command, ...args] = line ?? [];
  if (command === undefined || command === '') throw wrong('Name a command behind --, or a --url');
  if (type !== undefined || header !== undefined) throw wrong('--type and --header belong to a --url');
  return withoutGaps({
    command,
    args: args.length === 0 ? undefined : args,
    env: pairs(env, /^([^=]+)=(.*)$/s, '--env is KEY=VALUE'),
    cwd: cwd === undefined ? undefined : resolve(host.cwd, cwd),
    description,
  });
}

function remoteEntry({ line, url, env, cwd, type, header, description }: AddValues): Entry {
  if (line !== undefined) throw wrong('A server has either a command or a URL');
  if (env !== undefined || cwd !== undefined) throw wrong('--env and --cwd belong to a command');
  const { username = '', password = '' } = (url !== undefined && parsedUrl(url)) || {};
  if (username !== '' || password !== '')
    throw new BridgeError('USAGE', 'The URL of a server may have no user and no password', {
      hint: "Give them as a header: --header 'Authorization: Basic …'",
    });
  const headers = pairs(header, /^([^:]+):\s*(.*)$/s, "--header is 'Name: value'");
  return withoutGaps({ url, type, headers, description });
}

function pairs(texts: Repeated, shape: RegExp, problem: string): Entry | undefined {
  if (texts === undefined) return undefined;
  const found = [texts].flat().map((text) => {
    const [, key, value] = shape.exec(text) ?? [];
    if (key === undefined || value === undefined) throw wrong(problem);
    return [key.trim(), value] as const;
  });
  return Object.fromEntries(found);
}

function withoutGaps(fields: Entry): Entry {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function wrong(problem: string): BridgeError {
  return new BridgeError('USAGE', problem, { hint: 'See: mcp-bridge add --help' });
}
