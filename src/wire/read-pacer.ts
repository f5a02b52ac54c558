// How much of each turn of the event loop goes to what servers say, so that one that talks without end delays nobody else.
// Work beyond the budget waits for a later turn, and the reader that has used the least goes on first. It counts time and not
// bytes: a line of two bytes may cost as much as one of a thousand. It never drops or reorders what one server says.

/** The time of one turn for all servers together. A call takes two or three turns. */
const BUDGET_MS = 1;
/** Servers flood if, of so many turns in which they were read, so many had no time for everything, and few bytes came. */
const WATCHED_TURNS = 64;
const FULL_TURNS = 16;
const FLOOD_TURN_BYTES = 512 * 1024;
/** The lead that a quiet reader may have over the others. */
const LEAD_MS = 0.5;

export interface ReadPacerOptions {
  /** Called before waiting work goes on: frames for clients are written first. */
  readonly beforeWork?: () => void;
  /** Called about every 64 turns while servers talk without end, in short messages. */
  readonly flooded?: () => void;
  readonly now?: () => number;
  readonly defer?: (task: () => void) => void;
}

/** Returns true if the rest must wait for a later turn. Asked between some messages, not for each. */
export type IsOver = () => boolean;

export class ReadPacer {
  readonly #now: () => number;
  readonly #beforeWork: () => void;
  readonly #flooded: () => void;
  readonly #defer: (task: () => void) => void;
  readonly #waiting = new Map<PacedReader, () => void>();
  #spentMs = 0;
  #isDue = false;
  /** The time used by the reader that went on last. */
  #floorMs = 0;
  #deadlineMs = 0;
  #isWorking = false;
  /** The turns in which servers were read, those of them for which something waited, and the bytes that came. */
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

  /** A share for one stream of a server. */
  reader(): PacedReader {
    return new PacedReader(this);
  }

  /** A share for one stream whose pieces come by themselves. */
  queue<Piece>(source: PacedSource<Piece>): PacedQueue<Piece> {
    return new PacedQueue(this.reader(), source);
  }

  came(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The time that a reader counts as used. A quiet one counts about as much as the others. */
  levelled(usedMs: number): number {
    return Math.max(usedMs, this.#floorMs - LEAD_MS);
  }

  /** True if a reader with this much used time need not wait. */
  hasTimeFor(usedMs: number): boolean {
    return this.#spentMs < BUDGET_MS && (this.#waiting.size === 0 || usedMs < this.#floorMs);
  }

  /** Works while this turn has time. Returns the time used, including the time before. */
  work(task: (isOver: IsOver) => void, beforeMs: number): number {
    const began = this.#now() - beforeMs;
    this.#deadlineMs = began + BUDGET_MS - this.#spentMs;
    this.#isWorking = true;
    try {
      task(this.#isOver);
    } finally {
      this.#isWorking = false;
      this.#spentMs += this.#now() - began;
      this.#wake();
    }
    return this.#now() - began;
  }

  readonly #isOver: IsOver = () => this.#now() >= this.#deadlineMs;

  /** True while somebody works and the second half of the time of this turn has begun: what can wait waits, so that more is read. */
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

  /** So many bytes of the stream have come. */
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

  /** Calls `goOn` when it is this stream's turn, unless the stream leaves before. */
  wait(goOn: () => void): void {
    this.#pacer.wait(this, goOn);
  }

  leave(): void {
    this.#pacer.forget(this);
  }

  /**
   * Does the task until it says that it is done, in this turn and later ones; undefined if that was at once. `beforeMs` is what
   * was spent before the task could begin.
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
  /** Works on a piece; returns what is left of it if its time was over. */
  take(piece: Piece, isOver?: IsOver): Piece | undefined;
  /** Too much has come: the stream pauses. */
  pause(): void;
  resume(): unknown;
  /** A fault of the bridge while working on a piece. */
  failed(error: unknown): void;
}

/** Works on pieces in the order in which they came, when there is time. */
export class PacedQueue<Piece> {
  readonly #reader: PacedReader;
  readonly #source: PacedSource<Piece>;
  #pieces: Piece[] = [];
  /** Pieces before this one are done. */
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

  /** Works on everything that has come, at once. */
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
