// The servers that a client sees, and where its requests go. view-choice.ts decides which view a client gets.

import type { ClientSettings } from '../model/client-settings.ts';
import type { ListKind } from '../protocol/era.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { ClientRequest } from './call.ts';
import type { Instance } from './instance.ts';
import type { Server } from './server.ts';
import type { Session } from './session.ts';

/** The answer to `initialize`: a server's own, or the bridge's. */
export type InitializeAnswer =
  | { readonly of: 'server'; readonly initializeResult: Buffer; readonly instanceId: string | undefined }
  | { readonly of: 'bridge'; readonly capabilities: object; readonly instructions: string | undefined };

/** The instance that works on a task of 2026. */
export interface TaskPlace {
  readonly instance: Instance;
  /** The server's own id of the task. */
  readonly taskId: string;
  /** False if at most the server itself knows the task. */
  readonly isKnown: boolean;
}

/**
 * The servers as seen by all clients that work in one directory, with the same capabilities and permissions. These
 * clients share this object. It keeps only what each client has read and set.
 */
export interface View {
  /** The name by which clients ask for it. */
  readonly name: string;
  /** True if clients see one server as it is, with its own names and notifications. */
  readonly isTransparent: boolean;
  /** Called when a client begins to use the view; `marks` come from its previous view. */
  join(session: Session, marks: ClientMarks | undefined): void;
  initializeAnswer(session: Session): Promise<InitializeAnswer>;
  /** Makes sure that a request gets its one answer. */
  submit(session: Session, request: ClientRequest, envelope: Envelope): void;
  /** Called when a server announces changed lists. A transparent view's clients have got that notice already. */
  listsToldChanged(session: Session, kinds: readonly ListKind[]): void;
  /** Passes on a notification that the router does not handle. */
  notify(session: Session, frame: Frame): void;
  /** Called when the client's roots have changed. */
  rootsChanged(session: Session, frame: Frame): void;
  /** True if clients of this view may use the server. */
  sees(server: Server): boolean;
  /** All servers of the view. */
  servers(): readonly Server[];
  /** The servers that its clients may use: also those that no list has. */
  usable(): Iterable<Server>;
  /**
   * Called when servers, definitions, or the clients' settings have changed. Calls `each` for every client, so that its
   * bindings follow.
   */
  serversChanged(settings: ClientSettings, each: (session: Session, follow: () => void) => void): void;
  /** Called when the bridge's own tools may have changed. */
  ownToolsChanged(): void;
  /** Called when a list of a server has changed for the clients for which `concerns` returns true. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void;
  /** The log level that the client wants from every server. */
  levelFor(session: Session): string | undefined;
  /** The client's URI for a server's resource; '' if it is the server's own. */
  outwardUri(session: Session, instance: Instance, uri: string): string;
  /** Ends the client's subscription, under the URI that it has subscribed to. */
  endSubscription(session: Session, uri: string): void;
  /** The place to ask about a task of 2026; undefined if the task is not the client's user's. */
  taskPlace(session: Session, taskId: string): TaskPlace | undefined;
  /** The clients' id for a server's task; '' if it is the server's own. */
  outwardTaskId(instance: Instance, taskId: string): string;
  /** Called once a second. */
  tick(session: Session, nowMs: number): void;
  /** Forgets a client. The caller releases its bindings. */
  leave(session: Session): ClientMarks | undefined;
  /** Called when the last client has gone. */
  close(): void;
}

/** The lists that a client has read in its view, and the settings it made. Created on first use. */
export interface ClientMarks {
  /** The lists that it has read, and was not notified about since. */
  readonly read: Set<ListKind>;
  /** The time at which it last asked servers for their lists; 0 if its bindings were checked since. */
  lookedMs: number;
  /** The log level that it wants from every server, including later ones. */
  level: string | undefined;
}

/** The clients of one view, each with its marks. */
export class ViewClients {
  readonly #marks = new Map<Session, ClientMarks | undefined>();

  join(session: Session, marks: ClientMarks | undefined): void {
    this.#marks.set(session, marks);
  }

  leave(session: Session): ClientMarks | undefined {
    const marks = this.#marks.get(session);
    this.#marks.delete(session);
    return marks;
  }

  /** A copy of all clients, because some may leave meanwhile. */
  all(): readonly Session[] {
    return [...this.#marks.keys()];
  }

  marksOf(session: Session): ClientMarks | undefined {
    return this.#marks.get(session);
  }

  /** The marks of a client, for changes. For a client that has gone, they are not kept. */
  mark(session: Session): ClientMarks {
    const marks = this.#marks.get(session) ?? { read: new Set<ListKind>(), lookedMs: 0, level: undefined };
    if (this.#marks.has(session)) this.#marks.set(session, marks);
    return marks;
  }

  /** Notifies the clients that have read this list, or listen to it, that it is out of date. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void {
    for (const [session, marks] of this.#marks)
      if (session.state === 'ready' && concerns(session))
        session.output.listChanged(kind, marks?.read.delete(kind) === true);
  }
}
