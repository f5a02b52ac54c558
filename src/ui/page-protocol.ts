// What goes between the dashboard's port and its page: the messages of the live stream, and the answers to what the page asks. Data
// only: the page is compiled with it too.

/** One message of the live stream. A member that is left out has not changed. */
export interface LiveMessage {
  /** Says how this dashboard runs. Comes first on each stream. */
  readonly hello?: { readonly canWrite: boolean; readonly version: string };
  readonly daemon?: DaemonPresence;
  /** Parts of the daemon's state by their names, each whole. */
  readonly parts?: Readonly<Record<string, unknown>>;
  readonly events?: readonly unknown[];
  /** Events that did not reach this page: it was too slow, or the daemon left them out. */
  readonly lost?: number;
  /** Calls that began, and those of them that are not followed, because there are too many. */
  readonly callsBegun?: number;
  readonly callsLeftOut?: number;
}

export interface DaemonPresence {
  readonly isUp: boolean;
  /** Counts the daemons that this dashboard has seen; a page starts over when it changes. */
  readonly generation: number;
  /** The reason why there is none; while there is one, the reason why it tells no events. */
  readonly reason: string;
}

/** The answer to what a page asks. */
export type PageAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: string; readonly message: string; readonly hint: string } };
