// A bus in the process, for daemons that a test makes: it may lose messages, bring them twice, late or in another order, and be cut in two. Nothing is
// delivered before the test says so.

import { type Board, type EntryListener, SIGN_AGE_MS } from '../../src/federation/board.ts';
import type {
  Bus,
  BusEvent,
  BusLane,
  BusMessage,
  OutgoingMessage,
  ReceivedMessage,
  SubscribeOptions,
} from '../../src/federation/bus.ts';

interface Subscriber {
  readonly node: MemoryNode;
  readonly pattern: readonly string[];
  readonly queue: string | undefined;
  readonly isBulk: boolean;
  readonly take: (message: ReceivedMessage) => void;
}

interface Underway {
  readonly to: Subscriber;
  readonly message: ReceivedMessage;
  dueMs: number;
}

/** What becomes of a message. */
export interface Fate {
  readonly isLost?: boolean;
  /** How often it comes. */
  readonly times?: number;
  readonly delayMs?: number;
}

export class MemoryBus {
  readonly #subscribers = new Set<Subscriber>();
  #underway: Underway[] = [];
  readonly #entries = new Map<string, { value: Uint8Array; node: MemoryNode }>();
  readonly #watchers = new Set<{ node: MemoryNode; prefix: string; changed: EntryListener }>();
  readonly #signs = new Map<string, number>();
  /** Nobody is told of entries that are written. */
  isDeaf = false;
  /** What was done on the board. */
  readonly boardCounts = { puts: 0, told: 0, signs: 0, counts: 0, lists: 0 };
  /** Decides what becomes of each message; nothing is lost without it. */
  fateOf: (message: BusMessage) => Fate = () => ({});
  /** Every message that was published, in its order. */
  readonly published: BusMessage[] = [];
  nowMs = 0;
  #turns = 0;

  node(): MemoryNode {
    return new MemoryNode(this);
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  /** True if anybody would get a message there. */
  hasListener(subject: string): boolean {
    const tokens = subject.split('.');
    return [...this.#subscribers].some(({ pattern }) => fits(pattern, tokens));
  }

  publish(from: MemoryNode, message: BusMessage): void {
    this.published.push(message);
    const tokens = message.subject.split('.');
    const heard = [...this.#subscribers].filter(({ node, pattern }) => node.canReach(from) && fits(pattern, tokens));
    const queues = new Map<string, Subscriber[]>();
    const receivers: Subscriber[] = [];
    for (const one of heard) {
      if (one.queue === undefined) receivers.push(one);
      else queues.set(one.queue, [...(queues.get(one.queue) ?? []), one]);
    }
    for (const members of queues.values()) {
      const member = members[this.#turns++ % members.length];
      if (member !== undefined) receivers.push(member);
    }
    const received = { ...message, isUnheard: false };
    if (receivers.length === 0 && message.reply !== undefined) return this.#tellUnheard(from, message.reply);
    for (const to of receivers) this.#carry(to, received, this.fateOf(message));
  }

  /** The bus's own word: it is not lost, as the connection to the bus does not lose anything. */
  #tellUnheard(from: MemoryNode, reply: string): void {
    const tokens = reply.split('.');
    for (const to of this.#subscribers)
      if (to.node === from && fits(to.pattern, tokens))
        this.#carry(to, { subject: reply, headers: {}, data: new Uint8Array(0), isUnheard: true }, {});
  }

  #carry(to: Subscriber, message: ReceivedMessage, { isLost = false, times = 1, delayMs = 0 }: Fate): void {
    if (isLost) return;
    for (let i = 0; i < times; i++) this.#underway.push({ to, message, dueMs: this.nowMs + delayMs * (i + 1) });
  }

  /** True if nothing is due then. */
  isIdleAt(nowMs: number): boolean {
    return !this.#underway.some((one) => this.#isDueAt(one, nowMs));
  }

  #isDueAt({ to, dueMs }: Underway, nowMs: number): boolean {
    return dueMs <= nowMs && !to.node.isFrozen;
  }

  /** Delivers what is due, and what follows from it. */
  deliver(): void {
    for (;;) {
      const due = this.#underway.filter((one) => this.#isDueAt(one, this.nowMs));
      if (due.length === 0) return;
      this.#underway = this.#underway.filter((one) => !due.includes(one));
      for (const { to, message } of due) if (this.#isReached(to)) to.take(message);
    }
  }

  #isReached(to: Subscriber): boolean {
    return this.#subscribers.has(to) && to.node.isUp && !(to.isBulk && to.node.isBulkDead);
  }

  // --- entries ---

  put(node: MemoryNode, key: string, value: Uint8Array): void {
    this.boardCounts.puts++;
    this.#entries.set(key, { value, node });
    this.#tell(node, key, value);
  }

  #tell(node: MemoryNode, key: string, value: Uint8Array | undefined): void {
    if (this.isDeaf) return;
    for (const watcher of [...this.#watchers]) {
      if (!key.startsWith(watcher.prefix) || !watcher.node.canReach(node)) continue;
      this.boardCounts.told++;
      watcher.changed(key, value, true);
    }
  }

  remove(node: MemoryNode, key: string): void {
    this.#entries.delete(key);
    this.#tell(node, key, undefined);
  }

  get(key: string): Uint8Array | undefined {
    return this.#entries.get(key)?.value;
  }

  watch(node: MemoryNode, prefix: string, changed: EntryListener): () => void {
    const watcher = { node, prefix, changed };
    this.#watchers.add(watcher);
    for (const [key, { value }] of this.#entries) if (key.startsWith(prefix)) changed(key, value, false);
    return () => void this.#watchers.delete(watcher);
  }

  sign(key: string): void {
    this.boardCounts.signs++;
    this.#signs.set(key, this.nowMs);
  }

  signs(prefix: string): Set<string> {
    return new Set(
      [...this.#signs].flatMap(([key, atMs]) => (key.startsWith(prefix) && this.nowMs - atMs < SIGN_AGE_MS ? key : [])),
    );
  }

  /** The board forgets all, as a NATS server does that keeps it in memory. */
  forgetBoard(): void {
    this.#entries.clear();
    this.#signs.clear();
  }
}

/** The connection of one daemon. */
export class MemoryNode implements Bus {
  mostBytes = 1024 * 1024;
  readonly board: Board;
  readonly #bus: MemoryBus;
  readonly #listeners = new Set<(event: BusEvent) => void>();
  /** Nodes of different sides do not hear each other. */
  side = 0;
  isUp = true;
  /** Its second connection takes and brings nothing, and nobody is told. */
  isBulkDead = false;
  #isFrozen = false;
  /** What happens to its connection while its process stands still. */
  #missed: boolean[] = [];
  /** The reason why the board can be neither read nor written. */
  boardFault: string | undefined;

  constructor(bus: MemoryBus) {
    this.#bus = bus;
    const whileUp = <T>(task: () => T): Promise<T> =>
      this.isUp && this.boardFault === undefined
        ? Promise.resolve(task())
        : Promise.reject(new Error(this.boardFault ?? 'the bus is away'));
    this.board = {
      put: (key, value) => whileUp(() => bus.put(this, key, value)),
      get: (key) => whileUp(() => bus.get(key)),
      remove: (key) => whileUp(() => bus.remove(this, key)),
      watch: (prefix, changed) => whileUp(() => bus.watch(this, prefix, changed)),
      sign: (key) => whileUp(() => bus.sign(key)),
      countSigns: () =>
        whileUp(() => {
          bus.boardCounts.counts++;
          return bus.signs('').size;
        }),
      signs: (prefix) =>
        whileUp(() => {
          bus.boardCounts.lists++;
          return bus.signs(prefix);
        }),
    };
  }

  /** Its process stands still: what comes for it waits, and nobody is told. It finds out later that its connection is lost, and connects again then. */
  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  set isFrozen(isFrozen: boolean) {
    this.#isFrozen = isFrozen;
    const missed = this.#missed;
    if (isFrozen || missed.length === 0) return;
    this.#missed = [];
    for (const isUp of missed) this.connect(isUp);
  }

  canReach(other: MemoryNode): boolean {
    return this.isUp && other.isUp && this.side === other.side;
  }

  publish({ fixed, ...own }: OutgoingMessage, lane?: BusLane): void {
    const message = { ...own, headers: { ...fixed?.headers, ...own.headers } };
    if (this.isUp && !(lane === 'bulk' && this.isBulkDead)) this.#bus.publish(this, message);
  }

  subscribe(subject: string, take: (message: ReceivedMessage) => void, options: SubscribeOptions = {}): () => void {
    const { queue, lane } = options;
    return this.#bus.subscribe({ node: this, pattern: subject.split('.'), queue, isBulk: lane === 'bulk', take });
  }

  watch(heard: (event: BusEvent) => void): () => void {
    this.#listeners.add(heard);
    heard(this.isUp ? { is: 'up' } : { is: 'down', why: 'the test says so' });
    return () => void this.#listeners.delete(heard);
  }

  /** The bus says that this daemon may not do this. */
  deny(operation: 'publish' | 'subscribe', subject: string): void {
    for (const heard of [...this.#listeners]) heard({ is: 'denied', operation, subject });
  }

  /** The connection to the bus breaks, or is there again. */
  connect(isUp: boolean): void {
    if (this.#isFrozen) {
      this.#missed.push(isUp);
      this.isUp &&= isUp;
      return;
    }
    this.isUp = isUp;
    for (const heard of [...this.#listeners]) heard(isUp ? { is: 'up' } : { is: 'down', why: 'the test says so' });
  }
}

function fits(pattern: readonly string[], tokens: readonly string[]): boolean {
  for (const [i, part] of pattern.entries()) {
    if (part === '>') return tokens.length > i;
    if (tokens[i] === undefined || (part !== '*' && part !== tokens[i])) return false;
  }
  return pattern.length === tokens.length;
}
