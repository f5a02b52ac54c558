// The part of the servers that a client sees, and the way of what it sends. Which view a client gets is decided in
// view-choice.ts.

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

/** A task of 2026 where it is worked on. */
export interface TaskPlace {
  readonly instance: Instance;
  /** The server's own id of the task. */
  readonly taskId: string;
  /** False if the task is known by nobody but its server, if by anybody. */
  readonly isKnown: boolean;
}

/**
 * The servers as clients see them that work in one directory, have the same capabilities, and may use the same: one
 * object for all of them. It keeps of a client only what the client has read and set.
 */
export interface View {
  /** As clients ask for it. */
  readonly name: string;
  /** True if clients see one server as it is, with its own names and notifications. */
  readonly isTransparent: boolean;
  /** A client begins to use the view; `marks` are those from the view that it had before. */
  join(session: Session, marks: ClientMarks | undefined): void;
  initializeAnswer(session: Session): Promise<InitializeAnswer>;
  /** Sees to the one answer that a request gets. */
  submit(session: Session, request: ClientRequest, envelope: Envelope): void;
  /** A server says that its lists have changed; a transparent view's client has been told so. */
  listsToldChanged(session: Session, kinds: readonly ListKind[]): void;
  /** A notification that is not the router's business. */
  notify(session: Session, frame: Frame): void;
  /** The client's roots have changed. */
  rootsChanged(session: Session, frame: Frame): void;
  /** True if clients of this view may use the server. */
  sees(server: Server): boolean;
  /** All servers of the view. */
  servers(): readonly Server[];
  /**
   * There are other servers now, or some have a new definition, or the clients have other settings. Calls back for each
   * client, whose bindings follow.
   */
  serversChanged(settings: ClientSettings, each: (session: Session, follow: () => void) => void): void;
  /** The bridge may list other tools of its own now. */
  ownToolsChanged(): void;
  /** A list of a server has changed for the clients that `concerns` is true of. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void;
  /** The log level that the client wants of every server. */
  levelFor(session: Session): string | undefined;
  /** The URI by which the client knows a server's resource; '' for the server's own. */
  outwardUri(session: Session, instance: Instance, uri: string): string;
  /** The client listens to the resource no more, under the URI that it has subscribed to. */
  endSubscription(session: Session, uri: string): void;
  /** The place to ask for a task of 2026; undefined for no task of the client's user. */
  taskPlace(session: Session, taskId: string): TaskPlace | undefined;
  /** The id by which clients know a server's task; '' for the server's own. */
  outwardTaskId(instance: Instance, taskId: string): string;
  /** Called once a second. */
  tick(session: Session, nowMs: number): void;
  /** Forgets a client, whose bindings are the caller's. */
  leave(session: Session): ClientMarks | undefined;
  /** The last client has gone. */
  close(): void;
}

/** The lists that a client has read in its view, and what it has set. Made on first use. */
export interface ClientMarks {
  /** The lists that it has read and was not notified about since. */
  readonly read: Set<ListKind>;
  /** When it last had servers asked for their lists; 0 if their bindings were looked at since. */
  lookedMs: number;
  /** The log level that it wants of every server, also of later ones. */
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

  /** All clients, also if some leave meanwhile. */
  all(): readonly Session[] {
    return [...this.#marks.keys()];
  }

  marksOf(session: Session): ClientMarks | undefined {
    return this.#marks.get(session);
  }

  /** The marks of a client, to be changed. Those of a client that has gone are kept nowhere. */
  mark(session: Session): ClientMarks {
    const marks = this.#marks.get(session) ?? { read: new Set<ListKind>(), lookedMs: 0, level: undefined };
    if (this.#marks.has(session)) this.#marks.set(session, marks);
    return marks;
  }

  /** Notifies clients that a list which they have read, or listen to, is out of date. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void {
    for (const [session, marks] of this.#marks)
      if (session.state === 'ready' && concerns(session))
        session.output.listChanged(kind, marks?.read.delete(kind) === true);
  }
}
