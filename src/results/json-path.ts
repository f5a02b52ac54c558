// Extracts the values at a path from JSON that arrives in pieces. It reads each character once, and keeps only some
// names of what it skips, for the answer if nothing is found. Invalid JSON has no values.

/** A step into an object or list; `*` goes into all members. */
export type PathStep = string | number | typeof EACH;
export const EACH = Symbol('each');

const MOST_STEPS = 64;
const STEP = /\.?\[(\d{1,9})\]|\.?\[\*\]|\.?\["((?:[^"\\]|\\.)*)"\]|\.?\['([^'\\]*)'\]|\.([^.[\]]+)/y;

/** Parses a path such as `items[3].name`, `$.items[*].id` or `["a.b"]`; undefined if it is invalid. */
export function parsedPath(text: string): PathStep[] | undefined {
  const trimmed = text.trim();
  const path = trimmed.startsWith('$') ? trimmed.slice(1) : trimmed;
  const source = path === '' || path.startsWith('[') || path.startsWith('.') ? path : `.${path}`;
  const steps: PathStep[] = [];
  STEP.lastIndex = 0;
  for (let at = 0; at < source.length; at = STEP.lastIndex) {
    const match = STEP.exec(source);
    if (match === null || steps.length === MOST_STEPS) return undefined;
    const step = stepOf(match);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return steps;
}

function stepOf([whole, index, quoted, plain, name]: readonly (string | undefined)[]): PathStep | undefined {
  if (index !== undefined) return Number(index);
  if (quoted !== undefined) return jsonText(`"${quoted}"`);
  if (plain !== undefined) return plain;
  if (whole?.endsWith('[*]') === true || name === '*') return EACH;
  return name;
}

function jsonText(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** An object or list along the path. */
interface Container {
  readonly isList: boolean;
  readonly step: PathStep;
  /** The index of the current member; in an object -1 before its name. */
  index: number;
  /** The number of values that have begun. */
  count: number;
  isMeant: boolean;
  hasMatched: boolean;
  names: string[];
}

/** The place where a path ended without a value: how many steps matched, and what is there instead. */
export interface DeadEnd {
  readonly steps: number;
  readonly names: readonly string[];
  /** The length of a list; undefined for an object. */
  readonly length: number | undefined;
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const ENDS_TEXT = /["\\]/g;
const ENDS_INSIDE = /["[\]{}]/g;
const MOST_NAMES = 20;
const LONGEST_KEY = 4096;

export class PathReader {
  readonly #steps: readonly PathStep[];
  readonly #isMany: boolean;
  readonly #open: Container[] = [];
  /** Open brackets of a value that is skipped or extracted. */
  #depth = 0;
  #isTaking = false;
  #found = 0;
  /** The text extracted from the current piece. */
  #out = '';
  #inString = false;
  #isEscaped = false;
  /** The name being read; undefined outside of one. */
  #key: string | undefined;
  #isScalar = false;
  #deadEnd: DeadEnd | undefined;

  constructor(steps: readonly PathStep[]) {
    this.#steps = steps;
    this.#isMany = steps.includes(EACH);
  }

  /** True once nothing more can be found. */
  get isDone(): boolean {
    return !this.#isMany && this.#found > 0 && !this.#isTaking;
  }

  get found(): number {
    return this.#found;
  }

  /** How far the path led, if nothing was found. */
  get deadEnd(): DeadEnd {
    return this.#deadEnd ?? { steps: 0, names: [], length: undefined };
  }

  /** Reads a piece; returns the extracted text. Several values form a list, whose end the caller writes. */
  read(text: string): string {
    this.#out = '';
    let taken = this.#isTaking ? 0 : -1;
    for (let i = 0; i < text.length && !this.isDone; i++) {
      i = this.#skipped(text, i);
      if (i === text.length) break;
      const was = this.#isTaking;
      const ends = this.#character(text.charCodeAt(i), text.charAt(i));
      if (!was && this.#isTaking) taken = i;
      if (ends === undefined || !was) continue;
      this.#out += text.slice(taken, i + (ends === 'here' ? 1 : 0));
      taken = -1;
      this.#isTaking = false;
      if (ends === 'before') i--; // a number ends at the character after it
    }
    if (this.#isTaking && taken >= 0) this.#out += text.slice(taken);
    return this.#out;
  }

  /** The next character that may end the skipped part. */
  #skipped(text: string, from: number): number {
    if (this.#isEscaped || this.#key !== undefined || (!this.#inString && this.#depth === 0)) return from;
    const ends = this.#inString ? ENDS_TEXT : ENDS_INSIDE;
    ends.lastIndex = from;
    return ends.exec(text)?.index ?? text.length;
  }

  /** Handles one character. Tells where an extracted value ends. */
  #character(c: number, text: string): 'here' | 'before' | undefined {
    if (this.#inString) return this.#inText(c, text);
    if (this.#isScalar) {
      if (c !== COMMA && c !== CLOSE_LIST && c !== CLOSE_OBJECT && c > 0x20) return undefined;
      this.#isScalar = false;
      if (this.#isTaking && this.#depth === 0) return 'before';
    }
    if (this.#depth > 0) return this.#inside(c);
    switch (c) {
      case COMMA:
        this.#next();
        return undefined;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        this.#close();
        return undefined;
      case COLON:
        return undefined;
      default:
        if (c > 0x20) this.#begin(c);
        return undefined;
    }
  }

  /** Inside a skipped or extracted value, only its end matters. */
  #inside(c: number): 'here' | undefined {
    if (c === QUOTE) this.#inString = true;
    else if (c === OPEN_LIST || c === OPEN_OBJECT) this.#depth++;
    else if (c === CLOSE_LIST || c === CLOSE_OBJECT) {
      this.#depth--;
      if (this.#depth === 0 && this.#isTaking) return 'here';
    }
    return undefined;
  }

  #inText(c: number, text: string): 'here' | undefined {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (c === BACKSLASH) this.#isEscaped = true;
    else if (c === QUOTE) {
      this.#inString = false;
      if (this.#key !== undefined) this.#named(this.#key);
      else if (this.#isTaking && this.#depth === 0) return 'here';
      return undefined;
    }
    if (this.#key !== undefined && this.#key.length <= LONGEST_KEY) this.#key += text;
    return undefined;
  }

  /** Called when a name of an object along the path has ended. */
  #named(raw: string): void {
    const container = this.#open.at(-1);
    this.#key = undefined;
    if (container === undefined) return;
    const name = raw.length > LONGEST_KEY ? undefined : raw.includes('\\') ? jsonText(`"${raw}"`) : raw;
    if (name !== undefined && container.names.length < MOST_NAMES) container.names.push(name.slice(0, 64));
    container.isMeant = container.step === EACH || container.step === name || String(container.step) === name;
    container.index = 0; // its value comes next
  }

  #next(): void {
    const container = this.#open.at(-1);
    if (container === undefined) return;
    if (container.isList) this.#goTo(container, container.index + 1);
    else container.index = -1;
  }

  #goTo(container: Container, index: number): void {
    container.index = index;
    container.isMeant = container.step === EACH || Number(container.step) === index;
  }

  /** Begins a value or a name. */
  #begin(c: number): void {
    const container = this.#open.at(-1);
    if (container !== undefined && !container.isList && container.index < 0) {
      if (c === QUOTE) this.#inString = true;
      if (c === QUOTE) this.#key = '';
      return;
    }
    const isMeant = container === undefined ? this.#found === 0 && this.#deadEnd === undefined : container.isMeant;
    const isWanted = isMeant && this.#open.length === this.#steps.length;
    if (container !== undefined) container.count++;
    if (container !== undefined && isMeant) container.hasMatched = true;
    if (isWanted) this.#take();
    if (c === QUOTE) this.#inString = true;
    else if (c !== OPEN_LIST && c !== OPEN_OBJECT) this.#isScalar = true;
    else if (isMeant && !isWanted) this.#enter(c === OPEN_LIST);
    else this.#depth = 1;
    if (isMeant && !isWanted && c !== OPEN_LIST && c !== OPEN_OBJECT) this.#note(this.#open.length, [], undefined);
  }

  #take(): void {
    if (this.#isMany) this.#out += this.#found === 0 ? '[' : ',\n';
    this.#found++;
    this.#isTaking = true;
  }

  #enter(isList: boolean): void {
    const step: PathStep = this.#steps[this.#open.length] ?? EACH;
    const container: Container = { isList, step, index: -1, count: 0, isMeant: false, hasMatched: false, names: [] };
    this.#open.push(container);
    if (isList) this.#goTo(container, 0);
  }

  #close(): void {
    const container = this.#open.pop();
    if (container === undefined) return;
    const { hasMatched, isList, count, names } = container;
    if (!hasMatched) this.#note(this.#open.length, names, isList ? count : undefined);
  }

  #note(steps: number, names: readonly string[], length: number | undefined): void {
    if (this.#deadEnd === undefined || steps > this.#deadEnd.steps) this.#deadEnd = { steps, names, length };
  }
}
