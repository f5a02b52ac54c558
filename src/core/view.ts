// What a client sees of the servers, and where what it sends goes.

import type { ClientSettings } from '../model/client-settings.ts';
import type { Limits } from '../model/limits.ts';
import { type CallRole, LISTS, type ListKind } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { failureOf, INTERNAL_ERROR, rpcError, rpcErrorOf } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { membersOf } from '../util/json-value.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { ownFrame } from '../wire/own-frame.ts';
import { Call, type CallOwner, type ClientRequest, overdueMs, shorterMs } from './call.ts';
import { type CallPlan, errorTextOf, planOf } from './call-plan.ts';
import type { Instance } from './instance.ts';
import type { Server } from './server.ts';
import type { Session } from './session.ts';

/** The answer to `initialize`: a server's own, or the bridge's. */
export type InitializeAnswer =
  | { readonly of: 'server'; readonly initializeResult: Buffer; readonly instanceId: string | undefined }
  | { readonly of: 'bridge'; readonly capabilities: object; readonly instructions: string | undefined };

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
  /** A list of a server has changed for the clients that `concerns` is true of. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void;
  /** The log level that the client wants of every server. */
  levelFor(session: Session): string | undefined;
  /** The URI by which the client knows a server's resource; '' for the server's own. */
  outwardUri(session: Session, instance: Instance, uri: string): string;
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

  /** Notifies clients that a list they have read is out of date. */
  listChanged(kind: ListKind, concerns: (session: Session) => boolean): void {
    for (const [session, marks] of this.#marks)
      if (marks !== undefined && session.state === 'ready' && concerns(session) && marks.read.delete(kind))
        session.output.notify(LISTS[kind].changedNotice);
  }
}

/** The servers that clients may see, which may depend on the directory that a client works in. */
export interface ServerDirectory {
  /** Finds out what there is for clients that work there; undefined if that is known. */
  prepare(cwd: string | undefined): Promise<void> | undefined;
  names(cwd: string | undefined): readonly string[];
  find(name: string, cwd: string | undefined): Server | undefined;
  /** All that have been asked for so far. */
  servers(): Iterable<Server>;
  /** The view of clients that name none. */
  readonly defaultView: string | undefined;
  /** The places where servers are defined, and the definitions that were left out with the reasons; for messages. */
  readonly origin: string;
}

export type ViewChoice =
  | { readonly kind: 'server'; readonly server: Server }
  | { readonly kind: 'all' | 'discover'; readonly servers: readonly Server[] };

const SERVER_PREFIX = 'server:';

/** The parts of a session that decide which servers it sees. */
export type Seeing = Pick<Session, 'cwd' | 'settings'>;

/** Chooses the view that the client names, else that of the config, else the default. Throws with what to ask for instead. */
export function chooseView(view: string | undefined, client: Seeing, servers: ServerDirectory): ViewChoice {
  const { cwd, settings } = client;
  const wanted = view ?? settings.view ?? servers.defaultView ?? 'discover';
  if (wanted === 'all' || wanted === 'discover') return { kind: wanted, servers: serversFor(client, servers) };
  if (!wanted.startsWith(SERVER_PREFIX))
    throw new BridgeError('VIEW_UNKNOWN', `There is no view ${JSON.stringify(wanted.slice(0, 64))}`, {
      hint: `A view is "discover", "all" or "server:NAME". ${known(servers, client)}`,
    });
  const name = wanted.slice(SERVER_PREFIX.length);
  const id = settings.idOf(name);
  const server = settings.sees(id) ? servers.find(id, cwd) : undefined;
  if (server !== undefined) return { kind: 'server', server };
  throw new BridgeError('SERVER_NOT_FOUND', `There is no server ${JSON.stringify(name.slice(0, 64))}`, {
    hint: known(servers, client),
  });
}

/** All that a client sees that works there. */
export function serversFor({ cwd, settings }: Seeing, servers: ServerDirectory): readonly Server[] {
  const ids = servers.names(cwd).filter((id) => settings.sees(id));
  return ids.flatMap((id) => servers.find(id, cwd) ?? []);
}

function known(servers: ServerDirectory, { cwd, settings }: Seeing): string {
  const ids = servers.names(cwd).filter((id) => settings.sees(id));
  const names = ids.map((id) => settings.nameOf(id));
  return `${names.length === 0 ? 'There is none' : `Known servers: ${names.join(', ')}`}. ${servers.origin}`;
}

/** Takes a request in under its id; undefined if that is still in use, which is answered. */
export function openCall(
  session: Session,
  { id, role, frame }: ClientRequest,
  envelope: Envelope,
  owner: CallOwner,
  plan: CallPlan = planOf(role, envelope),
): Call | undefined {
  const idText = envelope.rawId(frame.b, Field.id, id);
  const tokenText = envelope.has(Field.metaProgressToken) ? envelope.raw(frame.b, Field.metaProgressToken) : '';
  const call = new Call({ session, plan, owner, id, idText, tokenText });
  call.mayBeDone = session.takeRepeated(id);
  if (session.open(call)) {
    session.events.callBegun.tell(call);
    return call;
  }
  const refusal = new BridgeError('REQUEST_REFUSED', `A request with id ${idText} is still under way`);
  session.output.fail(idText, rpcErrorOf(refusal));
  return undefined;
}

export function paramsOf({ b }: Frame, envelope: Envelope): Readonly<Record<string, unknown>> {
  return membersOf(envelope.decode(b, Field.params));
}

/** An empty text is a cursor too. */
export function cursorIn(frame: Frame, envelope: Envelope): unknown {
  return paramsOf(frame, envelope).cursor;
}

// The requests of all clients that a view has taken in and that no instance has yet, because something has to be known
// first. They are owned here until they are given to an instance or answered. What waits here is charged to its client.

/** The envelope of frames that have waited or were changed on the way. */
const readAgain = new Envelope(ERA_2025.keys);

/** Gets the frame that was kept, in which things stand elsewhere than in the one that came. */
type GoOn = (kept: ClientRequest) => void | Promise<void>;

export class PendingRequests implements CallOwner {
  readonly #limits: Limits;
  /** The continuation of each request, with what it holds. */
  readonly #waiting = new Map<Call, GoOn>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Takes a request in; undefined if its id is in use, which is answered. */
  open(session: Session, request: ClientRequest, envelope: Envelope, plan?: CallPlan): Call | undefined {
    return openCall(session, request, envelope, this, plan);
  }

  /** Goes on with it once something is known, if anybody still waits for it; a failure is its answer. */
  later(call: Call, { role, frame }: ClientRequest, known: Promise<unknown>, goOn: GoOn): void {
    call.owner = this;
    this.#keep(call, frame, goOn);
    known
      .then(() => this.#goOn(call, role))
      .catch((error: unknown) => {
        if (this.#isStillHere(call))
          this.refuse(
            call,
            failureOf(error, (known) => errorTextOf(call, known)),
          );
      });
  }

  #goOn(call: Call, role: CallRole): void | Promise<void> {
    const goOn = this.#waiting.get(call);
    const frame = call.unsent;
    if (goOn === undefined || frame === undefined || !this.#isStillHere(call)) return;
    this.#drop(call);
    return goOn({ id: call.id, role, frame });
  }

  #isStillHere(call: Call): boolean {
    return call.owner === this && call.session.calls.get(call.id) === call;
  }

  #keep(call: Call, frame: Frame, goOn: GoOn): void {
    call.unsent = ownFrame(frame);
    this.#waiting.set(call, goOn);
    call.session.addWaiting(frame.end - frame.start, this.#limits.maxWaitingBytesPerClient);
  }

  #drop(call: Call): void {
    if (!this.#waiting.delete(call) || call.unsent === undefined) return;
    const { start, end } = call.unsent;
    call.unsent = undefined;
    call.session.addWaiting(start - end, this.#limits.maxWaitingBytesPerClient);
  }

  /** `write` writes its one answer. */
  answer(call: Call, write: () => void): void {
    call.session.events.callAnsweredHere.tell(call);
    this.#end(call, write);
  }

  #end(call: Call, write: () => void): void {
    this.#drop(call);
    write();
    call.session.close(call);
  }

  refuse(call: Call, error: string): void {
    call.session.events.callFailed.tell(call, error);
    this.#end(call, () => call.session.output.fail(call.idText, error));
  }

  /** Scans a frame that was scanned long ago, or never. */
  read({ b, start, end }: Frame): Envelope {
    readAgain.scan(b, start, end, this.#limits.maxDepth);
    return readAgain;
  }

  /** From here on an instance sees to its answer. */
  give(call: Call, request: ClientRequest, instance: Instance, nameText = ''): void {
    call.nameText = nameText;
    instance.submit(call, request.frame, this.read(request.frame));
  }

  cancel(call: Call): void {
    this.#drop(call);
    call.session.close(call);
  }

  wasSent({ isSecondTry, mayBeDone }: Call): boolean {
    return isSecondTry || mayBeDone;
  }

  withdraw(call: Call): void {
    this.#drop(call);
  }

  abandon(call: Call): void {
    this.cancel(call);
  }

  tickCall(call: Call, nowMs: number): void {
    const timeoutMs = shorterMs(call.timeoutMs, this.#limits.callTimeoutMs);
    const tookMs = overdueMs(call, nowMs, timeoutMs, this.#limits);
    if (tookMs === undefined) return;
    const message = `The servers have not answered within ${tookMs} ms`;
    this.refuse(call, rpcError(INTERNAL_ERROR, message, { code: 'CALL_TIMED_OUT' }));
  }
}
