// The words of a process that runs programs: one line each, RUN KIND TEXT. The process itself writes the number of the run and the
// kind, and of a program it takes only a text, so a program cannot say what only the process may say. The daemon trusts neither.

/** The kinds that a program has a text for. */
const PROGRAM_KINDS = ['call', 'search', 'describe', 'print', 'returned', 'threw'] as const;
export type ProgramWordKind = (typeof PROGRAM_KINDS)[number];

/**
 * The kinds of the process itself: a program begins; its word of this kind is too long (`KIND BYTES`); the interpreter cannot go on
 * (an error); it has no memory left; nothing of the program runs any more.
 */
const OWN_KINDS = ['begun', 'large', 'trap', 'limit', 'idle'] as const;
export type WordKind = ProgramWordKind | (typeof OWN_KINDS)[number];

const BY_NAME: ReadonlyMap<string, WordKind> = new Map(
  [...PROGRAM_KINDS, ...OWN_KINDS].map((kind): [string, WordKind] => [kind, kind]),
);
const OF_PROGRAMS: ReadonlySet<string> = new Set(PROGRAM_KINDS);

/** The kinds that are answered: a program hears at once if such a word is too long. */
const ASKING: ReadonlySet<string> = new Set(['call', 'search', 'describe']);

/** A word in the bytes of its line: b[from, to) is its text. A newline follows. */
export interface SaidWord {
  readonly run: number;
  readonly kind: WordKind;
  readonly b: Buffer;
  readonly from: number;
  readonly to: number;
}

const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;
const LONGEST_RUN = 9;
const LONGEST_KIND = 8;

/** Reads the line b[start, end); undefined for what no process says. */
export function readWord(b: Buffer, start: number, end: number): SaidWord | undefined {
  let run = 0;
  let p = start;
  for (; p < end && p - start <= LONGEST_RUN; p++) {
    const digit = b[p] ?? 0;
    if (digit < ZERO || digit > NINE) break;
    run = run * 10 + digit - ZERO;
  }
  if (p === start || b[p] !== SPACE) return undefined;
  const kindFrom = ++p;
  while (p < end && p - kindFrom <= LONGEST_KIND && b[p] !== SPACE) p++;
  const kind = BY_NAME.get(b.latin1Slice(kindFrom, p));
  return kind === undefined || b[p] !== SPACE ? undefined : { run, kind, b, from: p + 1, to: end };
}

/** The most bytes that a word may have, for a program that may print and return so much. */
export function mostWordBytes(maxOutputBytes: number): number {
  return 1024 * 1024 + 2 * maxOutputBytes; // what is returned is JSON, and longer than what it says
}

/** The fate of a word: it was said, and is answered or the last one; or it was not said. */
export type Saying = 'said' | 'asked' | 'last' | 'too-long';

/** Says the words of one run, in the process. */
export class Speaker {
  readonly #run: number;
  readonly #mostBytes: number;
  readonly #write: (line: string) => void;

  constructor(run: number, mostBytes: number, write: (line: string) => void) {
    this.#run = run;
    this.#mostBytes = mostBytes;
    this.#write = write;
  }

  say(kind: WordKind, text = ''): void {
    this.#write(`${this.#run} ${kind} ${text}\n`);
  }

  /** Says a word of the program, whatever it has made of it. Behind `last` it may say nothing more. */
  sayForProgram(kind: string, text: string): Saying {
    if (!OF_PROGRAMS.has(kind) || text.includes('\n')) return this.#sayLast('trap', '{"message":"nonsense"}');
    const bytes = text.length * 3 <= this.#mostBytes ? 0 : Buffer.byteLength(text);
    if (bytes > this.#mostBytes) return ASKING.has(kind) ? 'too-long' : this.#sayLast('large', `${kind} ${bytes}`);
    this.say(kind as WordKind, text);
    if (ASKING.has(kind)) return 'asked';
    return kind === 'returned' || kind === 'threw' ? 'last' : 'said';
  }

  #sayLast(kind: WordKind, text: string): Saying {
    this.say(kind, text);
    return 'last';
  }
}
