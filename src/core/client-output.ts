// The only writer to a client: answers, errors, notifications, questions and progress all go out here. A client of
// another era gets another output; nothing else in the daemon knows how to write a frame for a client.

import { type CallRole, type Era, LISTS, type ListKind } from '../protocol/era.ts';
import { INTERNAL_ERROR } from '../protocol/rpc-error.ts';
import { invariant } from '../util/invariant.ts';
import { membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Span } from '../wire/json-members.ts';
import type { Streams } from '../wire/link.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { Events } from './events.ts';
import { type ListedItem, writeItems } from './listed-item.ts';
import { Pause, type PressedClient } from './pressure.ts';
import { toResultOf2025 } from './results-for-2025.ts';
import type { CachingTerms } from './server-knowledge.ts';

/** Shared by all clients: each frame is written before the next one is scanned. */
const splice = new Splice();

/** The client to write to. Its link may be replaced. */
export interface WrittenClient extends PressedClient {
  readonly link: { readonly outbox: Outbox; readonly streams?: Streams | undefined };
  /** Counts bytes sent to the client that it did not ask for. */
  noticed(bytes: number): void;
}

/** A page of a joined list. */
export interface ListedPage {
  readonly items: readonly ListedItem[];
  readonly nextCursor: string | undefined;
}

/** A request that gets an answer. */
export interface AnsweredRequest {
  readonly idText: string;
  readonly plan: { readonly role: CallRole };
  /** Set for a client of 2025 at a server of 2026. */
  readonly inRounds?: { readonly isSchemaWrapped: boolean } | undefined;
}

/** A request that gets progress notices. */
export interface TrackedRequest {
  /** Undefined for a task, because its request was answered already. */
  readonly idText?: string;
  readonly tokenText: string;
}

/** A question as part of an answer. `params` is JSON, or undefined. */
export interface AnsweredQuestion {
  readonly method: string;
  readonly params: Buffer | undefined;
}

/** A question under the ids that its client knows. */
export interface AskedQuestion {
  /** An id of the bridge, also used as the progress token, because two servers may use the same id. */
  readonly id: string;
  /** The client's request that the server works on, by the id as the client spelled it; '' if unknown. */
  readonly during: string;
}

const NO_ERROR: { readonly code?: unknown } = {};

/** The code of an error in JSON. */
function codeOf(error: string): number {
  return Number(/^\{"code":(-?\d+)/.exec(error)?.[1] ?? INTERNAL_ERROR);
}

export class ClientOutput {
  readonly #client: WrittenClient;
  readonly #events: Events;

  constructor(client: WrittenClient, events: Events) {
    this.#client = client;
    this.#events = events;
  }

  /** The outbox of the client's present connection. */
  protected get outbox(): Outbox {
    return this.#client.link.outbox;
  }

  /** The streams of the client; undefined if it has only one. */
  protected get streams(): Streams | undefined {
    return this.#client.link.streams;
  }

  /** The total bytes written to the client on its present connection. */
  get writtenBytes(): number {
    return this.outbox.appendedBytes;
  }

  /** `result` is JSON. */
  answer(idText: string, result: string): void {
    this.streams?.answering(idText);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"result":`);
    this.outbox.utf8(`${result}}`);
    this.endAnswer();
  }

  /** `error` is JSON. */
  fail(idText: string, error: string): void {
    this.streams?.answering(idText, codeOf(error));
    this.#writeError(idText, error);
  }

  /** Refuses a message that breaks the protocol. `error` is JSON. */
  refuse(idText: string, error: string): void {
    this.streams?.refusing(idText, codeOf(error));
    this.#writeError(idText, error);
  }

  #writeError(idText: string, error: string): void {
    this.#events.errorWritten.tell(this.#client, error);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"error":`);
    this.outbox.utf8(`${error}}`);
    this.outbox.endFrame();
    this.#checkUnread();
  }

  /** `result` is the bytes of JSON, followed by a newline. */
  answerBytes(idText: string, result: Buffer, _terms?: CachingTerms): void {
    this.answerWith(idText, (outbox) => outbox.bytes(result, 0, result.length - 1));
  }

  /** Answers with a page of a joined list, put together from the bytes of several servers. */
  answerList(idText: string, member: string, page: ListedPage, _terms?: () => CachingTerms): void {
    this.answerWith(idText, (outbox) => {
      outbox.latin1(`{"${member}":[`);
      writeItems(outbox, page.items);
      outbox.latin1(page.nextCursor === undefined ? ']}' : `],"nextCursor":"${page.nextCursor}"}`);
    });
  }

  /** `writeResult` writes the result, and nothing else. */
  answerWith(idText: string, writeResult: (outbox: Outbox) => void): void {
    this.streams?.answering(idText);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"result":`);
    writeResult(this.outbox);
    this.outbox.latin1('}');
    this.endAnswer();
  }

  /** Sends an answer of the control interface, a whole message. */
  answerControl(json: string): void {
    this.streams?.aside();
    this.outbox.utf8(json);
    this.outbox.endFrame();
  }

  protected endAnswer(): void {
    this.outbox.endFrame();
    this.#events.resultWritten.tell(this.#client);
    this.#checkUnread();
  }

  /** Stops reading a client that leaves its answers unread, until it has taken them. */
  #checkUnread(): void {
    if (this.#client.backlog.isOver) this.#client.pauses.addOver(Pause.unread);
  }

  /** Passes an answer on, under the client's id. `era` is the era of the server that answered. */
  passAnswer(call: AnsweredRequest, frame: Frame, envelope: Envelope, era: Era): void {
    if (era.hasHandshake) return this.passAsItIs(call, frame, envelope);
    const { b, start, end } = frame;
    this.answeringAs(call.idText, b, envelope);
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), call.idText);
    toResultOf2025(splice, b, envelope, call);
    splice.send(this.outbox, b, start, end);
    this.passed();
  }

  protected passAsItIs({ idText }: AnsweredRequest, { b, start, end }: Frame, envelope: Envelope): void {
    this.answeringAs(idText, b, envelope);
    this.#passWith(Field.id, idText, b, start, end, envelope);
    this.passed();
  }

  /** Hook: the next frame answers `idText` with a server's answer. */
  protected answeringAs(idText: string, b: Buffer, envelope: Envelope): void {
    const { streams } = this;
    if (streams === undefined) return;
    const { code } = envelope.has(Field.error) ? membersOf(envelope.decode(b, Field.error)) : NO_ERROR;
    streams.answering(idText, typeof code === 'number' ? code : undefined);
  }

  /** Hook: a server's answer was written. */
  protected passed(): void {
    this.#events.resultWritten.tell(this.#client);
  }

  /** Passes progress on, under the client's token. */
  passProgress({ tokenText, idText = '' }: TrackedRequest, { b, start, end }: Frame, envelope: Envelope): void {
    this.streams?.during(idText);
    this.#passWith(Field.progressToken, tokenText, b, start, end, envelope);
  }

  /** Passes a notification on unchanged. */
  passNotice(notice: Frame): void {
    this.streams?.aside();
    this.passOn(notice);
  }

  protected passOn({ b, start, end }: Frame): void {
    splice.clear().send(this.outbox, b, start, end);
    this.#client.noticed(end - start);
  }

  /** Passes on a log message that the client has asked for, in its request `idText` if known. */
  passLog(message: Frame, idText = ''): void {
    this.streams?.during(idText);
    this.passOn(message);
  }

  /** Passes on a notice that lists of a server have changed. */
  passListsChanged(_kinds: readonly ListKind[], notice: Frame): void {
    this.passNotice(notice);
  }

  /** Passes on a notice that a resource has changed, under the client's URI. */
  passUpdated(_uri: string, notice: Frame): void {
    this.passNotice(notice);
  }

  /** Passes on a notice to the listening request of this id. Only clients without a handshake have such requests. */
  passListened(_idText: string, notice: Frame): void {
    this.passNotice(notice);
  }

  /** Reports that a list of the view has changed. `wasRead` is true if the client has read it since the last report. */
  listChanged(kind: ListKind, wasRead: boolean): void {
    if (wasRead) this.notify(LISTS[kind].changedNotice);
  }

  /**
   * Reports that a resource may have changed while its server did not run. The era with a handshake has no such notice.
   */
  resourceChanged(_uri: string): void {
    // Its clients get the servers' own notices.
  }

  /** Passes a question on. */
  passQuestion({ id, during }: AskedQuestion, { b, start, end }: Frame, idAt: Span, tokenAt: Span | undefined): void {
    this.streams?.during(during);
    const ours = JSON.stringify(id);
    splice.clear().replace(idAt.from, idAt.to, ours);
    if (tokenAt !== undefined) splice.replace(tokenAt.from, tokenAt.to, ours);
    splice.send(this.outbox, b, start, end);
  }

  /** Passes the cancellation of a question on. */
  passCancel(id: string, { b, start, end }: Frame, envelope: Envelope): void {
    this.streams?.aside();
    this.#passWith(Field.requestId, JSON.stringify(id), b, start, end, envelope);
  }

  /** Passes a frame on with one field replaced. */
  #passWith(field: Field, text: string, b: Buffer, start: number, end: number, envelope: Envelope): void {
    splice.clear().replace(envelope.from(field), envelope.to(field), text);
    splice.send(this.outbox, b, start, end);
  }

  /** Sends a notification of the bridge. */
  notify(notice: string): void {
    this.streams?.aside();
    this.outbox.utf8(notice);
    this.outbox.endFrame();
    this.#client.noticed(notice.length);
  }

  /** Sends an unrequested message, or one that belongs to request `idText`. `write` writes all of it. */
  noticeWith(write: (outbox: Outbox) => void, idText?: string): void {
    if (idText === undefined) this.streams?.aside();
    else this.streams?.during(idText);
    const before = this.outbox.appendedBytes;
    write(this.outbox);
    this.#client.noticed(this.outbox.appendedBytes - before);
  }

  /** Sends a server's question with the server's parameters at `at`; `first` becomes their first members. */
  askInFull({ id, during }: AskedQuestion, method: string, b: Buffer, at: Span | undefined, first: string): void {
    if (at === undefined) return this.ask(id, method, during);
    this.streams?.during(during);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":`);
    splice.clear();
    if (first !== '') splice.replace(at.from + 1, at.from + 1, first);
    splice.write(this.outbox, b, at.from, at.to);
    this.outbox.latin1('}');
    this.outbox.endFrame();
  }

  /** Answers with questions: the client retries with its answers and the state. */
  requireInput(_idText: string, _questions: ReadonlyMap<string, AnsweredQuestion>, _state: string): void {
    invariant(false, 'a client with a handshake is asked by requests');
  }

  /** Sends a request of the bridge without parameters. */
  ask(id: string, method: string, during?: string): void {
    if (during === undefined) this.streams?.aside();
    else this.streams?.during(during);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":"${id}","method":"${method}"}`);
    this.outbox.endFrame();
  }

  /**
   * Checks that a client that has ended its side is still there; only a write shows that. JSON readers skip a space,
   * and the pending answer comes after it.
   */
  probe(): void {
    if (this.streams !== undefined) return; // its front watches its connections
    this.outbox.latin1(' ');
    this.outbox.flush();
  }

  /** Writes what is queued now instead of at the end of the turn. */
  flush(): void {
    this.outbox.flush();
  }
}
