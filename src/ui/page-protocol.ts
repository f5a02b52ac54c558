// The messages between the dashboard's port and its page: the live stream, and answers to the page's requests. It holds
// data only: the page is compiled with it too.

/** One message of the live stream. A missing member has not changed. */
export interface LiveMessage {
  /** The facts of this dashboard. It comes first on each stream. */
  readonly hello?: { readonly canWrite: boolean; readonly version: string };
  readonly daemon?: DaemonPresence;
  /** Parts of the daemon's state by name, each whole. */
  readonly parts?: Readonly<Record<string, unknown>>;
  readonly events?: readonly unknown[];
  /** The number of events that did not reach this page: it was too slow, or the daemon left them out. */
  readonly lost?: number;
  /** The number of calls that began; `callsLeftOut` counts those that are not followed, because there are too many. */
  readonly callsBegun?: number;
  readonly callsLeftOut?: number;
}

export interface DaemonPresence {
  readonly isUp: boolean;
  /** Counts the daemons that this dashboard has seen; a page starts over when the number changes. */
  readonly generation: number;
  /** The reason why there is no daemon; if there is one, the reason why it sends no events. */
  readonly reason: string;
}

/** The answer to a page's request. */
export type PageAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: string; readonly message: string; readonly hint: string } };
