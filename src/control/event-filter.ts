// Selects events by kind and subject. It comes from outside, so its size is limited.

import { textOf } from '../util/json-value.ts';
import type { DaemonEvent } from './event-report.ts';

/** The maximum number of names of each sort. */
const MOST_NAMES = 100;

export class EventFilter {
  readonly #kinds: ReadonlySet<string>;
  readonly #servers: ReadonlySet<string>;
  readonly #clients: ReadonlySet<string>;
  readonly #tools: ReadonlySet<string>;

  /** A list that is missing, or is no list, sets no condition. */
  constructor({ kinds, servers, clients, tools }: Readonly<Record<string, unknown>>) {
    this.#kinds = namesIn(kinds);
    this.#servers = namesIn(servers);
    this.#clients = namesIn(clients);
    this.#tools = namesIn(tools);
  }

  get wantsCalls(): boolean {
    return this.#kinds.size === 0 || [...this.#kinds].some((kind) => kind === 'call' || kind.startsWith('call.'));
  }

  takes(event: DaemonEvent): boolean {
    return this.isOfWantedKind(event) && this.isAboutWanted(event);
  }

  isOfWantedKind({ kind }: DaemonEvent): boolean {
    return this.#kinds.size === 0 || this.#kinds.has(kind) || this.#kinds.has(kind.slice(0, kind.indexOf('.')));
  }

  isAboutWanted(event: DaemonEvent): boolean {
    if (this.#servers.size > 0 && !('server' in event && isIn(this.#servers, event.server))) return false;
    if (this.#tools.size > 0 && !toolsOf(event).some((tool) => this.#tools.has(tool))) return false;
    return this.#clients.size === 0 || clientsOf(event).some((client) => this.#clients.has(client));
  }
}

function namesIn(value: unknown): ReadonlySet<string> {
  const names = Array.isArray(value) ? value.slice(0, MOST_NAMES).map(textOf) : [];
  return new Set(names.filter((name) => name !== ''));
}

const isIn = (names: ReadonlySet<string>, name: string | null): boolean => name !== null && names.has(name);

function clientsOf(event: DaemonEvent): readonly string[] {
  if (event.kind === 'message.sent') return event.to === null ? [event.from] : [event.from, event.to];
  return 'client' in event && event.client !== null ? [event.client] : [];
}

function toolsOf(event: DaemonEvent): readonly string[] {
  if (event.kind === 'tools.changed') return event.tools;
  return 'tool' in event && event.tool !== null ? [event.tool] : [];
}
