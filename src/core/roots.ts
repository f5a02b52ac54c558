// What one client says its roots are. It is asked once, when a server first wants to know, and again when it says that
// they have changed.

import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { CallTable } from './call-table.ts';
import type { Session } from './session.ts';

/** A client that takes longer has none that could be shown to anybody. */
const ANSWER_MS = 10_000;
/** Of clients that have no roots to show. */
export const NO_ROOTS = '{"roots":[]}';
export const NO_ROOTS_KEY = '';

/** Of an instance that was told that roots have changed, and has not asked for the new ones. No client's are called so. */
export const ROOTS_IN_DOUBT = 'in doubt';

/** Of one whose clients do not agree on theirs. */
export const ROOTS_DISAGREED = 'disagreed';

/** The key of an instance that has asked for roots while it worked for clients: theirs count, and are not certain yet. */
export const ROOTS_UNDECIDED = 'undecided';

let asked = 0;

export class ClientRoots {
  readonly #session: Session;
  /** The same for all who have the same; undefined until they are known. */
  key: string | undefined;
  /** The result of `roots/list`, as JSON. */
  result = NO_ROOTS;
  #waiting: (() => void)[] = [];
  #askedId: string | undefined;
  #deadlineMs = 0;
  /** They have changed since they were asked for. */
  #isStale = false;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Calls back when they are known, be it at once. */
  whenKnown(then: () => void): void {
    if (this.key === undefined && !this.#mayAnswer) this.#learn(NO_ROOTS);
    if (this.key !== undefined) return then();
    this.#waiting.push(then);
    if (this.#waiting.length > 1) return;
    this.#deadlineMs = 0;
    this.#session.whenReady(() => this.#ask());
  }

  get #mayAnswer(): boolean {
    return this.#session.canBeAsked('roots') && !this.#session.hasEnded;
  }

  #ask(): void {
    const { output, questions, isOpen } = this.#session;
    if (!isOpen || this.#waiting.length === 0) return;
    const id = `mcp-bridge/roots-${++asked}`;
    this.#askedId = id;
    this.#deadlineMs = 0;
    this.#isStale = false;
    questions.set(id, {
      answer: (answer, envelope) => this.#answered(id, answer, envelope),
      progress: () => undefined,
      abandon: () => this.abandon(),
    });
    output.ask(id, 'roots/list');
  }

  #answered(id: string, answer: Frame, envelope: Envelope): void {
    this.#session.questions.delete(id);
    this.#askedId = undefined;
    if (this.#isStale) return this.#ask();
    this.learnFrom(answer, envelope);
  }

  /** An answer to `roots/list` says what they are; an error, that there are none to show. */
  learnFrom({ b }: Frame, envelope: Envelope): void {
    this.#learn(
      envelope.has(Field.result)
        ? b.toString('utf8', envelope.from(Field.result), envelope.to(Field.result))
        : NO_ROOTS,
    );
  }

  #learn(result: string): void {
    this.result = result;
    this.key = keyOf(result);
    for (const then of this.#waiting.splice(0)) then();
  }

  /** The client goes: nobody shall wait for its roots. */
  abandon(): void {
    this.#forgetQuestion();
    if (this.#waiting.length > 0) this.#learn(NO_ROOTS);
  }

  /** The client says that they are others now. */
  changed(): void {
    this.key = undefined;
    this.#isStale = true;
  }

  tick(nowMs: number): void {
    if (this.#askedId === undefined && this.#waiting.length === 0) return;
    if (this.#deadlineMs === 0) this.#deadlineMs = nowMs + ANSWER_MS;
    if (nowMs < this.#deadlineMs) return;
    this.#forgetQuestion();
    this.#learn(NO_ROOTS);
  }

  #forgetQuestion(): void {
    if (this.#askedId !== undefined) this.#session.questions.delete(this.#askedId);
    this.#askedId = undefined;
  }
}

/** Putting more than this in order takes time that is everybody's. */
const MOST_ORDERED = 65_536;

/** The same whatever order they come in, and whatever they are called; of very many, only if they are spelled the same. */
function keyOf(result: string): string {
  if (result.length > MOST_ORDERED) return createHash('sha256').update(result).digest('hex');
  const { roots } = membersOf(JSON.parse(result));
  const uris = Array.isArray(roots) ? roots.map((root: unknown) => JSON.stringify(uriOf(root))) : [];
  return uris.sort().join(' ');
}

function uriOf(root: unknown): unknown {
  return isRecord(root) && 'uri' in root ? root.uri : root;
}

// Holds the first calls of an instance back until it has its clients' roots, if it wants any. A server asks for them when
// it has heard `initialized`, and a call that came right behind would find it without. Every wait here has an end.

/** A server that answers no ping for so long is not waited for. */
const SILENCE_MS = 1_000;
/** Roots that take longer come too late; so do those of a server that asks again and again. */
const ROOTS_MS = 10_000;
/** The time that a server has to look at the directories that it was told: nothing says when it is done with that. */
const SETTLE_MS = 100;

interface RootsFenceOptions {
  readonly calls: CallTable;
  readonly clock: Clock;
  /** Whether the instance was offered roots, and has them for itself. */
  readonly isNeeded: () => boolean;
  /** Whether the server waits for roots. */
  readonly isAsked: () => boolean;
}

export class RootsFence {
  readonly #options: RootsFenceOptions;
  #timer: Timer | undefined;
  #hasAsked = false;
  /** When it goes down, whatever happens. */
  #lastMs = 0;

  constructor(options: RootsFenceOptions) {
    this.#options = options;
  }

  /** The instance is about to open: nothing goes before the fence. */
  opening(): void {
    this.#hasAsked = false;
    if (this.#options.isNeeded()) this.#raise();
  }

  #raise(): void {
    const { calls, clock } = this.#options;
    if (calls.isFenced) return;
    calls.isFenced = true;
    this.#lastMs = clock.now() + ROOTS_MS;
  }

  /** A server that wants roots has asked for them before it answers this ping. */
  opened(): void {
    if (!this.#options.calls.isFenced) return;
    this.#releaseIn(SILENCE_MS);
    this.#whenHeard(() => this.#release());
  }

  /** The server asks. A later question is about roots that have changed, and its client knows that they have. */
  asked(isInCall: boolean): void {
    const { calls, isNeeded } = this.#options;
    const isFirst = !this.#hasAsked;
    this.#hasAsked = true;
    if (isFirst && !isInCall && isNeeded()) this.#raise();
    if (calls.isFenced) this.#releaseIn(ROOTS_MS);
  }

  answered(): void {
    const { calls, isAsked } = this.#options;
    if (!calls.isFenced || isAsked()) return;
    this.#releaseIn(SILENCE_MS);
    this.#whenHeard(() => this.#releaseIn(SETTLE_MS));
  }

  closed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#options.calls.isFenced = false;
  }

  /** Calls back when the server has answered a ping, unless it has asked once more, or has gone, meanwhile. */
  #whenHeard(then: () => void): void {
    const awaited = this.#timer;
    this.#options.calls.own.ask('ping', {}, () => {
      if (awaited !== undefined && awaited === this.#timer) then();
    });
  }

  #releaseIn(ms: number): void {
    const { clock } = this.#options;
    this.#timer?.cancel();
    this.#timer = clock.after(Math.max(0, Math.min(ms, this.#lastMs - clock.now())), () => this.#release());
  }

  #release(): void {
    this.closed();
    this.#options.calls.pump();
  }
}
