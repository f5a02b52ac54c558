// The words of a process that runs programs, one line each: RUN KIND TEXT. The process writes run number and kind
// itself, and takes only the text from a program, so a program cannot imitate the process. The daemon trusts neither.

/** The kinds whose text comes from a program. */
const PROGRAM_KINDS = ['call', 'search', 'describe', 'print', 'returned', 'threw'] as const;
export type ProgramWordKind = (typeof PROGRAM_KINDS)[number];

/**
 * The kinds of the process itself: a program begins; its word of this kind is too long (`KIND BYTES`); the interpreter
 * cannot continue (an error); memory ran out; nothing of the program runs any more.
 */
const OWN_KINDS = ['begun', 'large', 'trap', 'limit', 'idle'] as const;
export type WordKind = ProgramWordKind | (typeof OWN_KINDS)[number];

const BY_NAME: ReadonlyMap<string, WordKind> = new Map(
  [...PROGRAM_KINDS, ...OWN_KINDS].map((kind): [string, WordKind] => [kind, kind]),
);
const OF_PROGRAMS: ReadonlySet<string> = new Set(PROGRAM_KINDS);

/** The kinds that get an answer: a program learns at once if such a word is too long. */
const ASKING: ReadonlySet<string> = new Set(['call', 'search', 'describe']);

/** A word in its line's bytes: b[from, to) is its text. A newline follows. */
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

/** Parses the line b[start, end); undefined if it is no valid word. */
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

/** The maximum bytes of a word, for a program with this output limit. */
export function mostWordBytes(maxOutputBytes: number): number {
  return 1024 * 1024 + 2 * maxOutputBytes; // a returned value is JSON, and longer than what it encodes
}

/** The result for a word: sent; sent, and an answer follows; sent as the last one; or not sent. */
export type Saying = 'said' | 'asked' | 'last' | 'too-long';

/** Sends the words of one run, in the process. */
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

  /** Sends a word of the program, whatever it contains. Nothing may follow the last one. */
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
