// Chooses the view that a client gets, by what it asks for and may see. It makes no view; views.ts does.

import { type Toolset, toolsetIn } from '../model/toolset.ts';
import { VIEW_NAMES } from '../model/view-name.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Server } from './server.ts';
import type { Session } from './session.ts';

/** The servers that clients may see. They may depend on a client's directory. */
export interface ServerDirectory {
  /** Finds the servers for clients in this directory; undefined if they are known already. */
  prepare(cwd: string | undefined): Promise<void> | undefined;
  names(cwd: string | undefined): readonly string[];
  find(name: string, cwd: string | undefined): Server | undefined;
  /** All servers found so far. */
  servers(): Iterable<Server>;
  /** The view of clients that name none. */
  readonly defaultView: string | undefined;
  /** The places where servers are defined, and the definitions left out with the reasons; for messages. */
  readonly origin: string;
}

export type ViewChoice =
  | { readonly kind: 'server'; readonly server: Server }
  | { readonly kind: 'all' | 'discover' | 'code'; readonly servers: readonly Server[] };

const SERVER_PREFIX = 'server:';

/** The parts of a session that decide which servers it sees. */
export type Seeing = Pick<Session, 'cwd' | 'settings'>;

/**
 * Chooses the view that the client names, else the config's, else the default. Throws an error that says what to ask
 * for.
 */
export function chooseView(view: string | undefined, client: Seeing, servers: ServerDirectory): ViewChoice {
  const { cwd, settings } = client;
  const wanted = view ?? settings.view ?? servers.defaultView ?? 'discover';
  if (wanted === 'all' || wanted === 'discover' || wanted === 'code')
    return { kind: wanted, servers: serversFor(client, servers) };
  if (toolsetIn(wanted) !== undefined)
    return { kind: toolsetFor(client, wanted).view, servers: serversFor(client, servers) };
  if (!wanted.startsWith(SERVER_PREFIX))
    throw new BridgeError('VIEW_UNKNOWN', `There is no view ${JSON.stringify(wanted.slice(0, 64))}`, {
      hint: `A view is ${VIEW_NAMES}. ${known(servers, client)}`,
    });
  const name = wanted.slice(SERVER_PREFIX.length);
  const id = settings.idOf(name);
  const server = settings.sees(id) ? servers.find(id, cwd) : undefined;
  if (server !== undefined) return { kind: 'server', server };
  throw new BridgeError('SERVER_NOT_FOUND', `There is no server ${JSON.stringify(name.slice(0, 64))}`, {
    hint: known(servers, client),
  });
}

function toolsetFor({ settings: { toolset } }: Seeing, wanted: string): Toolset {
  if (toolset?.exists === true) return toolset;
  const known = toolset?.known ?? [];
  throw new BridgeError('VIEW_UNKNOWN', `There is no ${JSON.stringify(wanted.slice(0, 64))}`, {
    hint:
      known.length === 0 ? 'Make one: mcp-bridge toolset NAME TOOL…' : `There are: ${known.slice(0, 20).join(', ')}`,
  });
}

/** All servers that a client in this directory sees. */
export function serversFor({ cwd, settings }: Seeing, servers: ServerDirectory): readonly Server[] {
  const ids = servers.names(cwd).filter((id) => settings.sees(id));
  return ids.flatMap((id) => servers.find(id, cwd) ?? []);
}

function known(servers: ServerDirectory, { cwd, settings }: Seeing): string {
  const ids = servers.names(cwd).filter((id) => settings.sees(id));
  const names = ids.map((id) => settings.nameOf(id));
  return `${names.length === 0 ? 'There is none' : `Known servers: ${names.join(', ')}`}. ${servers.origin}`;
}
