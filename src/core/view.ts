// What a client sees of the servers. So far there is one kind: `server:NAME`, the server itself.

import { BridgeError } from '../util/bridge-error.ts';
import type { Backend } from './backend.ts';

/** The servers that clients may see. */
export interface ServerDirectory {
  names(): readonly string[];
  backend(name: string): Backend | undefined;
  /** Where they are defined, and which definitions were left out and why; for messages. */
  readonly origin: string;
}

const SERVER_PREFIX = 'server:';

/** The backend behind a view; without a view the only server there is. Throws a BridgeError that says what to ask for. */
export function resolveView(view: string | undefined, servers: ServerDirectory): { view: string; backend: Backend } {
  const name = view === undefined ? onlyServer(servers) : serverOf(view, servers);
  const backend = servers.backend(name);
  if (backend !== undefined) return { view: SERVER_PREFIX + name, backend };
  throw new BridgeError('SERVER_NOT_FOUND', `There is no server ${JSON.stringify(name.slice(0, 64))}`, {
    hint: known(servers),
  });
}

function serverOf(view: string, servers: ServerDirectory): string {
  if (view.startsWith(SERVER_PREFIX)) return view.slice(SERVER_PREFIX.length);
  throw new BridgeError('VIEW_UNKNOWN', `There is no view ${JSON.stringify(view.slice(0, 64))}`, {
    hint: `A view is "server:NAME". ${known(servers)}`,
  });
}

function onlyServer(servers: ServerDirectory): string {
  const names = servers.names();
  const only = names.length === 1 ? names[0] : undefined;
  if (only !== undefined) return only;
  if (names.length === 0) throw new BridgeError('SERVER_NOT_FOUND', 'There is no server', { hint: servers.origin });
  throw new BridgeError('SERVER_NOT_CHOSEN', 'There is more than one server, so initialize must name one', {
    hint: `With connect, give --server NAME; else send _meta {"mcp-bridge/view": "server:NAME"}. ${known(servers)}`,
  });
}

function known(servers: ServerDirectory): string {
  const names = servers.names();
  return `${names.length === 0 ? 'There is none' : `Known servers: ${names.join(', ')}`}. ${servers.origin}`;
}
