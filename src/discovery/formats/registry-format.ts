// Registries of servers that run already (docs/registry.md). Those whose processes have ended are not there; of several
// of one name, the first has it, and the others go by their ids.

import { isLoopback, type RegisteredServer, registeredServer } from '../../local/registered-server.ts';
import { parseRegistryValue } from '../../local/registry-content.ts';
import { diagnostic } from '../diagnostic.ts';
import { pointerTo } from '../tree.ts';
import { type Entry, type Format, isUsableName, type ParsedFile } from './format.ts';

export const REGISTRY: Format = { syntax: 'json', read };

function read(file: ParsedFile): Entry[] {
  const { value, path, report, machine } = file;
  const parsed = parseRegistryValue(value);
  if (parsed.kind === 'broken') {
    report(diagnostic('bad-container', `${path} ${parsed.problem}. Nothing of it is used.`, { path }));
    return [];
  }
  if (parsed.kind === 'future') {
    const message = `${path} has version ${parsed.version}, which a newer program has written. Nothing of it is used: update mcp-bridge.`;
    report(diagnostic('future-version', message, { path }));
    return [];
  }
  const taken = new Set<string>();
  return [...parsed.content.servers].flatMap(([id, written]) => {
    const server = registeredServer(written);
    if (server === undefined || !machine.isAlive(server.process)) return [];
    const name = taken.has(server.name) ? id : server.name;
    taken.add(name);
    const pointer = pointerTo('servers', id);
    return isUsableName(file, name, pointer) ? [entryOf(name, pointer, server, file)] : [];
  });
}

function entryOf(name: string, pointer: string, server: RegisteredServer, { location }: ParsedFile): Entry {
  const { url, socket, process } = server;
  const reached = url ?? (socket === undefined ? undefined : `unix://${socket}`);
  const refusal = refusalOf(server, location.mayBeRemote === true);
  return {
    name,
    pointer,
    process,
    fields: { type: server.transport ?? 'auto', url: reached },
    ...(refusal === undefined ? {} : { refusal }),
  };
}

function refusalOf({ url, socket }: RegisteredServer, mayBeRemote: boolean): string | undefined {
  if (url === undefined && socket === undefined) return 'it runs, but only whoever started it can speak with it';
  if (url === undefined || mayBeRemote || !URL.canParse(url) || isLoopback(url)) return undefined;
  return 'it is on another machine, which discovery.registryHosts does not allow';
}
