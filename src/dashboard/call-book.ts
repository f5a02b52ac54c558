// The calls that this page knows: those under way, and the last thousand ended ones. Lists and events may arrive in any
// order: an ended call stays ended. No browser in it.

import { membersOf, textOf, textsOf } from './data.ts';

const MOST_ENDED = 1000;
const MOST_OPEN = 1000;

type CallState = 'waiting' | 'sent' | 'suspended' | 'ended';

export interface SeenCall {
  readonly call: string;
  readonly client: string;
  readonly clientName: string;
  /** The kind of request; `call` means a tool call. */
  readonly role: string;
  readonly server: string | null;
  readonly tool: string | null;
  /** Wall clock; null if it began before anybody watched. */
  readonly at: number | null;
  readonly state: CallState;
  /** The reason why it waits, while it does. */
  readonly waitsFor: string | null;
  /** Wall clock; null while it does not wait. */
  readonly waitsSince: number | null;
  /** The number of progress notices from its server. */
  readonly progress: number;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly totalMs: number | null;
  readonly waitedMs: number | null;
  readonly serverMs: number | null;
  readonly requestBytes: number | null;
  readonly answerBytes: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

export class CallBook {
  readonly #open = new Map<string, SeenCall>();
  /** Newest last. */
  readonly #ended = new Map<string, SeenCall>();

  get open(): readonly SeenCall[] {
    return [...this.#open.values()];
  }

  /** Newest first. */
  get ended(): readonly SeenCall[] {
    return [...this.#ended.values()].reverse();
  }

  /** True if it has a call that is not followed, so that no event will report its end. */
  get hasUnfollowed(): boolean {
    for (const { at } of this.#open.values()) if (at === null) return true;
    return false;
  }

  clear(): void {
    this.#open.clear();
    this.#ended.clear();
  }

  /** Takes the answer of `bridge/calls`. Calls that it no longer lists as open have ended unseen. */
  takeList(answer: unknown): void {
    const { open, recent } = membersOf(answer);
    const listed = Array.isArray(open) ? open.map(membersOf) : [];
    const ids = new Set(listed.map(({ call }) => textOf(call)));
    for (const id of this.#open.keys()) if (!ids.has(id)) this.#open.delete(id);
    for (const fields of listed) if (!this.#ended.has(textOf(fields.call))) this.#keepOpen(openFrom(fields));
    const ended = Array.isArray(recent) ? recent.map(membersOf).reverse() : [];
    const later = [...this.#ended.values()];
    this.#ended.clear();
    for (const call of [...ended.map(endedFrom), ...later]) this.#keepEnded(call);
  }

  /** Takes an event; true if it was about a call. */
  take(event: unknown): boolean {
    const fields = membersOf(event);
    const kind = textOf(fields.kind);
    if (!kind.startsWith('call.')) return false;
    const id = textOf(fields.call);
    if (kind === 'call.ended') {
      this.#keepEnded(endedFrom(fields));
      return true;
    }
    if (this.#ended.has(id)) return true;
    const known = this.#open.get(id);
    const seen = known === undefined ? openFrom(fields) : { ...known, ...namesIn(fields) };
    this.#keepOpen(after(kind, seen, fields));
    return true;
  }

  #keepOpen(call: SeenCall): void {
    if (call.call === '' || (!this.#open.has(call.call) && this.#open.size >= MOST_OPEN)) return;
    this.#open.set(call.call, call);
  }

  #keepEnded(call: SeenCall): void {
    if (call.call === '') return;
    this.#open.delete(call.call);
    this.#ended.delete(call.call);
    this.#ended.set(call.call, call);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MOST_ENDED) break;
      this.#ended.delete(oldest);
    }
  }
}

/** The call after an event of this kind. */
function after(kind: string, call: SeenCall, fields: Fields): SeenCall {
  const at = numberOf(fields.at);
  switch (kind) {
    case 'call.waiting':
      return { ...call, state: 'waiting', waitsFor: textOf(fields.for) || null, waitsSince: call.waitsSince ?? at };
    case 'call.sent':
      return {
        ...call,
        state: 'sent',
        waitsFor: null,
        waitsSince: null,
        waitedMs: (call.waitedMs ?? 0) + (call.waitsSince === null || at === null ? 0 : at - call.waitsSince),
      };
    case 'call.progress':
      return { ...call, progress: numberOf(fields.count) ?? call.progress + 1 };
    case 'call.suspended':
      return { ...call, state: 'suspended' };
    default:
      return call;
  }
}

function openFrom(fields: Fields): SeenCall {
  const state = textOf(fields.state);
  const ageMs = numberOf(fields.ageMs);
  return {
    ...EMPTY,
    ...namesIn(fields),
    call: textOf(fields.call),
    at: numberOf(fields.at) ?? (ageMs === null ? null : Date.now() - ageMs),
    state: state === 'sent' || state === 'suspended' ? state : 'waiting',
    waitsFor: textOf(fields.for) || (textsOf(fields.waits).at(-1) ?? null),
    waitedMs: numberOf(fields.waitedMs),
    progress: numberOf(fields.progress) ?? 0,
    requestBytes: numberOf(fields.bytes) ?? numberOf(fields.requestBytes),
  };
}

function endedFrom(fields: Fields): SeenCall {
  return {
    ...EMPTY,
    ...namesIn(fields),
    call: textOf(fields.call),
    at: numberOf(fields.begunAt) ?? numberOf(fields.at),
    state: 'ended',
    outcome: textOf(fields.outcome) || 'ok',
    code: textOf(fields.code) || null,
    totalMs: numberOf(fields.totalMs),
    waitedMs: numberOf(fields.waitedMs),
    serverMs: numberOf(fields.serverMs),
    progress: numberOf(fields.progress) ?? 0,
    requestBytes: numberOf(fields.requestBytes),
    answerBytes: numberOf(fields.answerBytes),
  };
}

/** The names in an event, which may omit names already given. */
function namesIn(fields: Fields): Partial<SeenCall> {
  const names: Record<string, string> = {};
  for (const name of ['client', 'clientName', 'role', 'server', 'tool'] as const)
    if (typeof fields[name] === 'string') names[name] = fields[name];
  return names;
}

const EMPTY: SeenCall = {
  call: '',
  client: '',
  clientName: '',
  role: '',
  server: null,
  tool: null,
  at: null,
  state: 'waiting',
  waitsFor: null,
  waitsSince: null,
  progress: 0,
  outcome: null,
  code: null,
  totalMs: null,
  waitedMs: null,
  serverMs: null,
  requestBytes: null,
  answerBytes: null,
};

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
