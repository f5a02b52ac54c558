// Chooses the name of a client's server in the bridge's own config. The server keeps its id, so that rules, views and
// commands still mean it. A name that means something else to another client is not used. A server that the config has
// already, under any name, is not added again.

import { isDeepStrictEqual } from 'node:util';
import type { DiscoveredServer, ServerState } from '../discovery/discovered-server.ts';
import { signatureOf } from '../discovery/signature.ts';
import type { ConfigDocument } from './config-document.ts';
import type { ServersToMove } from './found-servers.ts';

export type Naming =
  | { readonly kind: 'same'; readonly name: string }
  /** `why`: the reason for a name that differs from the client's. */
  | { readonly kind: 'new'; readonly name: string; readonly why: string | undefined };

const OFFERED = new Set<ServerState>(['ready', 'duplicate', 'needs-input', 'pending-approval']);

export class OwnNames {
  readonly #others: readonly DiscoveredServer[];
  readonly #all: readonly DiscoveredServer[];
  /** Names by signature: the same server always has the same one. A signature may hold secrets. */
  readonly #names: Map<string, string>;

  constructor({ others, own, all }: ServersToMove) {
    this.#all = all;
    this.#others = others.filter(({ state, client }) => OFFERED.has(state) && client !== 'bridge');
    this.#names = new Map(own.map((server) => [signatureOf(server).key, server.name]));
  }

  /** Names a server, and remembers a new name. */
  take(server: DiscoveredServer, entry: unknown, { entries }: ConfigDocument): Naming {
    const { key } = signatureOf(server);
    const same = this.#names.get(key);
    if (same !== undefined && entries.has(same)) return { kind: 'same', name: same };
    const rival = this.#rivalOf(server, key)?.client;
    const wanted = [...this.#idOf(server, key), ...this.#wantedNames(server, rival)];
    for (let n = 2; ; n++) {
      const candidate = wanted.shift() ?? `${server.name}-${server.client}-${n}`;
      if (isDeepStrictEqual(entries.get(candidate), entry)) return { kind: 'same', name: candidate };
      if (entries.has(candidate)) continue;
      this.#names.set(key, candidate);
      return {
        kind: 'new',
        name: candidate,
        why: candidate === server.name ? undefined : whyNot(server.name, entries, rival),
      };
    }
  }

  /** The id by which the server is offered now. A duplicate has the id of the server that it equals. */
  #idOf({ client, name, file }: DiscoveredServer, key: string): string[] {
    const found = this.#all.find((one) => one.client === client && one.name === name && one.file === file);
    if (found === undefined || !OFFERED.has(found.state)) return [];
    const offered = this.#all.find((one) => one.state === 'ready' && signatureOf(one).key === key);
    return [(offered ?? found).id];
  }

  #wantedNames({ name, client }: DiscoveredServer, rival: string | undefined): string[] {
    return rival === undefined ? [name, `${name}-${client}`] : [`${name}-${client}`];
  }

  #rivalOf({ name, client }: DiscoveredServer, key: string): DiscoveredServer | undefined {
    return this.#others.find(
      (other) => other.name === name && other.client !== client && signatureOf(other).key !== key,
    );
  }
}

/** The reason for another name, as it holds now. A name kept from earlier may have had a different reason. */
function whyNot(name: string, entries: ConfigDocument['entries'], rival: string | undefined): string {
  if (entries.has(name)) return `the config has another "${name}"`;
  return rival === undefined ? 'it has this name behind the bridge already' : `${rival} has another "${name}"`;
}
