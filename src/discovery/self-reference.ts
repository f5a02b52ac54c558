// Finds definitions that lead back to the bridge itself; it would wait for itself. Cycles through other gateways are
// found by a mark in the environment of started servers (local/bridge-depth.ts).

import { parsedUrl } from '../util/parsed-url.ts';
import { programName, unwrapped } from './command-line.ts';
import type { Draft } from './discovered-server.ts';
import type { OwnIdentity } from './host.ts';
import type { Machine } from './machine.ts';
import { packageRun } from './signature.ts';

const INTERPRETERS = new Set(['node', 'bun', 'deno', 'tsx', 'nodejs']);

export type LaunchedProgram = Pick<Draft, 'transport' | 'command' | 'args' | 'cwd' | 'url'>;

/** The paths in a definition that may be ours under another name. */
export function ownPathsOf({ transport, command = '', args, cwd }: LaunchedProgram, machine: Machine): string[] {
  if (transport !== 'stdio') return [];
  const line = unwrapped(command, args);
  const script = INTERPRETERS.has(programName(line.command))
    ? line.args.find((arg) => !/^-|^run$/.test(arg))
    : undefined;
  return [line.command, script]
    .filter((text) => text !== undefined && /[\\/]|\.[cm]?[jt]s$/.test(text))
    .map((text) => machine.path.resolve(cwd ?? machine.cwd, text ?? ''));
}

export class SelfReference {
  readonly #self: OwnIdentity;
  readonly #machine: Machine;
  /** Real paths by given path. */
  readonly #realpaths: ReadonlyMap<string, string>;
  readonly #bins: ReadonlySet<string>;
  /** The names of our own files; other copies of this program use the same names. */
  readonly #fileNames: ReadonlySet<string>;
  readonly #addresses: ReadonlySet<string>;

  constructor(self: OwnIdentity, machine: Machine, realpaths: ReadonlyMap<string, string>) {
    this.#self = self;
    this.#machine = machine;
    this.#realpaths = realpaths;
    this.#bins = new Set(self.bins.flatMap((bin) => [bin, realpaths.get(bin) ?? bin]));
    this.#fileNames = new Set([...this.#bins].map((bin) => machine.path.basename(bin)));
    this.#addresses = new Set(self.endpoints.flatMap((endpoint) => addressesIn(endpoint)));
  }

  includes(launched: LaunchedProgram): boolean {
    if (launched.transport !== 'stdio') return this.#isOurAddress(launched.url ?? '');
    const line = unwrapped(launched.command ?? '', launched.args);
    const name = programName(line.command);
    if (this.#bins.has(line.command) || this.#bins.has(name)) return true;
    const isRelay = line.args.includes('connect');
    if (ownPathsOf(launched, this.#machine).some((path) => this.#isOurPath(path) || (isRelay && this.#isOurCopy(path))))
      return true;
    const run = packageRun(line);
    if (this.#self.packages.some((own) => run?.unversioned === `npm:${own}`)) return true;
    const isForwarder = ['npm:mcp-remote', 'npm:supergateway'].includes(run?.unversioned ?? '') || FORWARDERS.has(name);
    return isForwarder && line.args.some((arg) => this.#isOurAddress(arg));
  }

  #isOurPath(path: string): boolean {
    return this.#bins.has(path) || this.#bins.has(this.#realpaths.get(path) ?? path);
  }

  /** True for another copy of this program, such as an installed one beside a clone: its `connect` leads here too. */
  #isOurCopy(path: string): boolean {
    return this.#fileNames.has(this.#machine.path.basename(path));
  }

  #isOurAddress(text: string): boolean {
    return addressesIn(text).some((address) => this.#addresses.has(address));
  }
}

const FORWARDERS = new Set(['socat', 'nc', 'ncat', 'netcat', 'mcp-remote', 'mcp-proxy', 'curl', 'websocat']);
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]']);

/** Finds host and port, or a socket's path, in the forms in which programs take them. */
function addressesIn(text: string): string[] {
  const path = /^(?:unix:(?:\/\/)?|unix-connect:|unix-client:)?(\/[^,#]*)/i.exec(text)?.[1];
  if (path !== undefined) return [path];
  const tcp = /^tcp[46]?(?:-connect)?:([^,]+)/i.exec(text)?.[1];
  const url = tcp === undefined ? text : `http://${tcp}`;
  const parsed = /^(?:https?|wss?):/i.test(url) ? parsedUrl(url) : undefined;
  if (parsed === undefined) return [];
  const { protocol, hostname, port } = parsed;
  const host = hostname.replace(/\.$/, '');
  const defaultPort = protocol === 'https:' || protocol === 'wss:' ? '443' : '80';
  return [`${LOOPBACK.has(host) ? 'localhost' : host}:${port || defaultPort}`];
}
