// Limits how much of each turn of the event loop goes to servers' messages, so that a server that never stops delays
// nobody. Work beyond the budget waits for a later turn, and the reader that used the least continues first. It counts
// time, not bytes: a line of two bytes may cost as much as one of a thousand. It never drops or reorders messages of a
// server.

/** The time per turn for all servers together. A call takes two or three turns. */
const BUDGET_MS = 1;
/** It is a flood if, of so many turns with reads, so many had no time for everything, and few bytes came. */
const WATCHED_TURNS = 64;
const FULL_TURNS = 16;
const FLOOD_TURN_BYTES = 512 * 1024;
/** The maximum lead that a quiet reader has over the others. */
const LEAD_MS = 0.5;

export interface ReadPacerOptions {
  /** Called before waiting work continues: frames for clients are written first. */
  readonly beforeWork?: () => void;
  /** Called about every 64 turns while servers keep sending short messages. */
  readonly flooded?: () => void;
  readonly now?: () => number;
  readonly defer?: (task: () => void) => void;
}

/** Returns true if the rest must wait for a later turn. Asked between some messages, not after each. */
export type IsOver = () => boolean;

export class ReadPacer {
  readonly #now: () => number;
  readonly #beforeWork: () => void;
  readonly #flooded: () => void;
  readonly #defer: (task: () => void) => void;
  readonly #waiting = new Map<PacedReader, () => void>();
  #spentMs = 0;
  #isDue = false;
  /** The used time of the reader that continued last. */
  #floorMs = 0;
  #deadlineMs = 0;
  #isWorking = false;
  /** Turns in which servers were read, how many of them left work waiting, and the bytes that arrived. */
  #turns = 0;
  #fullTurns = 0;
  #bytes = 0;

  constructor({
    beforeWork = () => undefined,
    flooded = () => undefined,
    now = () => performance.now(),
    defer = setImmediate,
  }: ReadPacerOptions = {}) {
    this.#beforeWork = beforeWork;
    this.#flooded = flooded;
    this.#now = now;
    this.#defer = defer;
  }

  /** Makes a share for one stream of a server. */
  reader(): PacedReader {
    return new PacedReader(this);
  }

  /** Makes a share for a stream that delivers pieces by itself. */
  queue<Piece>(source: PacedSource<Piece>): PacedQueue<Piece> {
    return new PacedQueue(this.reader(), source);
  }

  came(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The used time that counts for a reader. A reader that was quiet counts about as much as the others. */
  levelled(usedMs: number): number {
    return Math.max(usedMs, this.#floorMs - LEAD_MS);
  }

  /** True if a reader with this much used time need not wait. */
  hasTimeFor(usedMs: number): boolean {
    return this.#spentMs < BUDGET_MS && (this.#waiting.size === 0 || usedMs < this.#floorMs);
  }

  /** Works while this turn has time. Returns the time used, including `beforeMs`. */
  work(task: (isOver: IsOver) => void, beforeMs: number): number {
    const began = this.#now() - beforeMs;
    this.#deadlineMs = began + BUDGET_MS - this.#spentMs;
    const wasWorking = this.#isWorking; // one stream may hand to another one
    this.#isWorking = true;
    try {
      task(this.#isOver);
    } finally {
      this.#isWorking = wasWorking;
      this.#spentMs += this.#now() - began;
      this.#wake();
    }
    return this.#now() - began;
  }

  readonly #isOver: IsOver = () => this.#now() >= this.#deadlineMs;

  /**
   * True in the second half of this turn's time, while somebody works: optional work should wait, so that more is read.
   */
  get isLate(): boolean {
    return this.#isWorking && this.#now() >= this.#deadlineMs - BUDGET_MS / 2;
  }

  wait(reader: PacedReader, goOn: () => void): void {
    this.#waiting.set(reader, goOn);
    this.#wake();
  }

  forget(reader: PacedReader): void {
    this.#waiting.delete(reader);
  }

  #wake(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#defer(this.#beginTurn);
  }

  readonly #beginTurn = (): void => {
    this.#isDue = false;
    this.#spentMs = 0;
    this.#watchForFlood();
    if (this.#waiting.size > 0) this.#beforeWork();
    while (this.#spentMs < BUDGET_MS) {
      const next = this.#lightest();
      if (next === undefined) return;
      const goOn = this.#waiting.get(next);
      this.#waiting.delete(next);
      this.#floorMs = Math.max(this.#floorMs, next.usedMs);
      goOn?.();
    }
  };

  #watchForFlood(): void {
    if (this.#waiting.size > 0) this.#fullTurns++;
    if (++this.#turns < WATCHED_TURNS) return;
    const isFlood = this.#fullTurns >= FULL_TURNS && this.#bytes < WATCHED_TURNS * FLOOD_TURN_BYTES;
    this.#turns = 0;
    this.#fullTurns = 0;
    this.#bytes = 0;
    if (isFlood) this.#flooded();
  }

  #lightest(): PacedReader | undefined {
    let lightest: PacedReader | undefined;
    for (const reader of this.#waiting.keys())
      if (lightest === undefined || reader.usedMs < lightest.usedMs) lightest = reader;
    return lightest;
  }
}

/** The share of one stream. */
export class PacedReader {
  readonly #pacer: ReadPacer;
  usedMs = 0;

  constructor(pacer: ReadPacer) {
    this.#pacer = pacer;
  }

  /** Counts bytes of the stream that arrived. */
  came(bytes: number): void {
    this.#pacer.came(bytes);
  }

  /** True while this turn has time for more. */
  mayGoOn(): boolean {
    this.usedMs = this.#pacer.levelled(this.usedMs);
    return this.#pacer.hasTimeFor(this.usedMs);
  }

  work(task: (isOver: IsOver) => void, beforeMs = 0): void {
    this.usedMs += this.#pacer.work(task, beforeMs);
  }

  /** Calls `goOn` when it is this stream's turn, unless the stream leaves first. */
  wait(goOn: () => void): void {
    this.#pacer.wait(this, goOn);
  }

  leave(): void {
    this.#pacer.forget(this);
  }

  /**
   * Runs the task until it returns true, in this turn and later ones; undefined if it was done at once. `beforeMs` is
   * the time spent before it began.
   */
  run(task: (isOver: IsOver) => boolean, beforeMs = 0): Promise<void> | undefined {
    let isDone = false;
    const step = (): void =>
      this.work((isOver) => {
        isDone = task(isOver);
      }, beforeMs);
    if (this.mayGoOn()) step();
    if (isDone) return undefined;
    return new Promise((resolve, reject) => {
      const goOn = (): void => {
        try {
          step();
        } catch (error) {
          return reject(error);
        }
        if (isDone) resolve();
        else this.wait(goOn);
      };
      this.wait(goOn);
    });
  }
}

export interface PacedSource<Piece> {
  /** Works on a piece; returns the rest if its time was over. */
  take(piece: Piece, isOver?: IsOver): Piece | undefined;
  /** Called when too much has arrived: the stream must pause. */
  pause(): void;
  resume(): unknown;
  /** Called after a fault of the bridge while working on a piece. */
  failed(error: unknown): void;
}

/** Works on pieces in order of arrival, when there is time. */
export class PacedQueue<Piece> {
  readonly #reader: PacedReader;
  readonly #source: PacedSource<Piece>;
  #pieces: Piece[] = [];
  /** The index of the first piece that is not done. */
  #head = 0;

  constructor(reader: PacedReader, source: PacedSource<Piece>) {
    this.#reader = reader;
    this.#source = source;
  }

  get isEmpty(): boolean {
    return this.#head === this.#pieces.length;
  }

  push(piece: Piece, bytes: number): void {
    const isFirst = this.isEmpty;
    this.#reader.came(bytes);
    this.#pieces.push(piece);
    if (!isFirst) return this.#source.pause();
    if (this.#reader.mayGoOn()) this.#goOn();
    if (this.isEmpty) return;
    this.#source.pause();
    this.#reader.wait(this.#later);
  }

  readonly #later = (): void => {
    this.#goOn();
    if (this.isEmpty) this.#source.resume();
    else this.#reader.wait(this.#later);
  };

  #goOn(): void {
    try {
      this.#reader.work(this.#work);
    } catch (error) {
      this.#source.failed(error);
    }
  }

  readonly #work = (isOver: IsOver): void => {
    const pieces = this.#pieces;
    do {
      const piece = pieces[this.#head++];
      if (piece === undefined) break;
      const rest = this.#source.take(piece, isOver);
      if (pieces !== this.#pieces) return; // the pieces were dropped meanwhile
      if (rest !== undefined) pieces[--this.#head] = rest;
    } while (!isOver());
    if (this.#head < pieces.length) return;
    this.#pieces = [];
    this.#head = 0;
  };

  /** Works on all pieces at once. */
  flush(): void {
    const pieces = this.#pieces.slice(this.#head);
    this.drop();
    for (const piece of pieces) this.#source.take(piece);
  }

  drop(): void {
    this.#pieces = [];
    this.#head = 0;
    this.#reader.leave();
  }
}
