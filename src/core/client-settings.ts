// What the config says of one client: what it sees unless it says so itself, which servers and tools it may use, and what
// it calls them. Sessions with the same settings share one object.

import type { ToolRule } from '../model/tool-rules.ts';

export interface ClientSettings {
  /** The program, such as `codex`, where the client says so or is known by its name. */
  readonly program: string | undefined;
  readonly view: string | undefined;
  readonly toolRules: readonly ToolRule[];
  /** Where the rules stand, for messages. */
  readonly place: string;
  /** Whether there is such a server for it. */
  sees(id: string): boolean;
  /** The id of the server that it calls so. */
  idOf(name: string): string;
  /** What it calls the server of this id. */
  nameOf(id: string): string;
}

/** Who a client says that it is. */
export interface ClientIdentity {
  /** `clientInfo.name`. */
  readonly name: string;
  /** What its config has it say: `connect --client NAME`. */
  readonly program: string | undefined;
}

export interface ClientSettingsSource {
  of(client: ClientIdentity): ClientSettings;
}

export const PLAIN_SETTINGS: ClientSettings = {
  program: undefined,
  view: undefined,
  toolRules: [],
  place: '',
  sees: () => true,
  idOf: (name) => name,
  nameOf: (id) => id,
};
