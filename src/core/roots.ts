// The roots of clients: each client's answer to `roots/list`, and the fence that holds back an instance's first calls
// until the server has its roots. It never shows one client's roots as another's.

import { createHash } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { CallTable } from './call-table.ts';
import type { Session } from './session.ts';

/** A client that takes longer counts as having no roots. */
const ANSWER_MS = 10_000;
/** The result for clients without roots. */
export const NO_ROOTS = '{"roots":[]}';
let asked = 0;

/**
 * The roots of one client. The client is asked when a server first wants them, and again after it has announced a
 * change.
 */
export class ClientRoots {
  readonly #session: Session;
  /** Equal for all clients with the same roots; undefined until known. */
  key: string | undefined;
  /** The result of `roots/list`, as JSON. */
  result = NO_ROOTS;
  #waiting: (() => void)[] = [];
  #askedId: string | undefined;
  #deadlineMs = 0;
  /** True if the client has announced a change since it was last asked. */
  #isStale = false;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Calls back when the roots are known, possibly at once. */
  whenKnown(then: () => void): void {
    if (this.key === undefined && !this.#mayAnswer) this.#learn(this.#unasked);
    if (this.key !== undefined) return then();
    this.#waiting.push(then);
    if (this.#waiting.length > 1) return;
    this.#deadlineMs = 0;
    this.#session.whenReady(() => this.#ask());
  }

  get #mayAnswer(): boolean {
    const { era, hasEnded } = this.#session;
    return era.own.roots !== undefined && this.#session.canBeAsked('roots') && !hasEnded;
  }

  /** The roots of a client that cannot be asked: the directory that its requests name. */
  get #unasked(): string {
    const { era, cwd } = this.#session;
    if (era.hasHandshake || cwd === undefined || !this.#session.canBeAsked('roots')) return NO_ROOTS;
    return JSON.stringify({ roots: [{ uri: pathToFileURL(cwd).href }] });
  }

  #ask(): void {
    const { output, isOpen, era } = this.#session;
    const method = era.own.roots;
    if (!isOpen || method === undefined || this.#waiting.length === 0) return;
    const id = `mcp-bridge/roots-${++asked}`;
    this.#askedId = id;
    this.#deadlineMs = 0;
    this.#isStale = false;
    this.#session.addQuestion(id, {
      answer: (answer, envelope) => this.#answered(id, answer, envelope),
      progress: () => undefined,
      abandon: () => this.abandon(),
    });
    output.ask(id, method);
  }

  #answered(id: string, answer: Frame, envelope: Envelope): void {
    this.#session.forgetQuestion(id);
    this.#askedId = undefined;
    if (this.#isStale) return this.#ask();
    this.learnFrom(answer, envelope);
  }

  /** Reads an answer to `roots/list`. An error means that there are no roots. */
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

  /** Called when the client leaves. Everything that waits for its roots continues without them. */
  abandon(): void {
    this.#forgetQuestion();
    if (this.#waiting.length > 0) this.#learn(NO_ROOTS);
  }

  /** Called when the client announces a change. */
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
    if (this.#askedId !== undefined) this.#session.forgetQuestion(this.#askedId);
    this.#askedId = undefined;
  }
}

/** The longest list that is sorted; sorting a longer one would block the daemon. */
const MOST_SORTED = 65_536;

/** The key of a list of roots; order and names do not matter. A very long list is compared byte by byte instead. */
function keyOf(result: string): string {
  if (result.length > MOST_SORTED) return createHash('sha256').update(result).digest('hex');
  const { roots } = membersOf(JSON.parse(result));
  const uris = Array.isArray(roots) ? roots.map((root: unknown) => JSON.stringify(uriOf(root))) : [];
  return uris.sort().join(' ');
}

function uriOf(root: unknown): unknown {
  return isRecord(root) && 'uri' in root ? root.uri : root;
}

/** The time after which a server that does not answer a ping is not waited for. */
const SILENCE_MS = 1_000;
/** The total time for roots; it also ends the wait for a server that asks again and again. */
const ROOTS_MS = 10_000;
/** The time for a server to look at its new directories, because it does not report when it is done. */
const SETTLE_MS = 100;

interface RootsFenceOptions {
  readonly calls: CallTable;
  readonly clock: Clock;
  /** True if the instance was offered roots, and not all clients share it. */
  readonly isNeeded: () => boolean;
  /** True while the server waits for roots. */
  readonly isAsked: () => boolean;
  /** The method of a request that a server of its era answers at once, if there is one. */
  readonly ping: () => string | undefined;
}

/**
 * Holds back the first calls of an instance until the server has its roots, if it wants any. A server asks for them
 * after `initialized`, so a call right behind would find it without roots. Every wait here ends.
 */
export class RootsFence {
  readonly #options: RootsFenceOptions;
  #timer: Timer | undefined;
  #hasAsked = false;
  /** The time at which the fence opens in any case. */
  #lastMs = 0;

  constructor(options: RootsFenceOptions) {
    this.#options = options;
  }

  /** Called before the instance opens: no call passes until the fence is released. */
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

  /** Pings the server: if it wants roots, it asks before it answers. */
  opened(): void {
    if (!this.#options.calls.isFenced) return;
    this.#releaseIn(SILENCE_MS);
    this.#whenHeard(() => this.#release());
  }

  /** Called when the server asks. A later question is about changed roots, which the client knows about. */
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

  /** Calls back when the server has answered a ping, unless it has asked again or has gone. */
  #whenHeard(then: () => void): void {
    const awaited = this.#timer;
    const ping = this.#options.ping();
    if (ping === undefined) return;
    this.#options.calls.own.ask(ping, {}, () => {
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
