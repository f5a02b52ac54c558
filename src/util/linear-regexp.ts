// A regular expression that is matched in time linear in the text, whatever the expression is: a set of states walks
// over the text once. It reads what JavaScript reads without flags, and refuses what cannot be matched this way.

/** The error for an expression that cannot be kept; it says why in words. */
export class RegexpRefused extends Error {}

const MOST_STATES = 20_000;

type Test = (code: number) => boolean;
type Edge = 'start' | 'end' | 'word' | 'no-word';

type Node =
  | { readonly kind: 'one'; readonly test: Test }
  | { readonly kind: 'edge'; readonly edge: Edge }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly branches: readonly Node[] }
  | { readonly kind: 'repeat'; readonly body: Node; readonly least: number; readonly most: number }
  | { readonly kind: 'look'; readonly body: Node; readonly isBehind: boolean; readonly isNegative: boolean };

export class LinearRegexp {
  readonly #tree: Node;
  readonly #states: number;
  /** Made for the first text: most expressions never need one. */
  #automaton: Automaton | undefined;

  /** Reads the expression. Throws RegexpRefused. */
  constructor(source: string) {
    this.#tree = new Reader(source).tree();
    this.#states = 1 + statesOf(this.#tree);
    if (this.#states > MOST_STATES) throw new RegexpRefused('it is too large');
  }

  /** True if the expression is found anywhere in the text, like `RegExp.test`. */
  test(text: string): boolean {
    this.#automaton ??= new Automaton(this.#tree);
    return this.#automaton.isFoundIn(text);
  }

  /** The most steps that `test` takes for a text of this length. */
  stepsFor(length: number): number {
    return this.#states * (length + 1);
  }

  /** The most steps of a backtracking engine, such as JavaScript's. */
  triesFor(length: number): number {
    return triesOf(this.#tree, length).tries;
  }
}

// --- reading ---

const HEX = /^[0-9A-Fa-f]+$/;
const CONTROLS: Readonly<Record<string, number>> = { f: 12, n: 10, r: 13, t: 9, v: 11, 0: 0 };
const CLASSES = new Set(['d', 'D', 's', 'S', 'w', 'W']);
const ENDS_OF_LINE = new Set([10, 13, 0x2028, 0x2029]);

class Reader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  tree(): Node {
    const tree = this.#choice();
    if (this.#at < this.#source.length) throw new RegexpRefused('a parenthesis is closed that was not opened');
    return tree;
  }

  #choice(): Node {
    const branches = [this.#sequence()];
    while (this.#takes('|')) branches.push(this.#sequence());
    return branches.length === 1 && branches[0] !== undefined ? branches[0] : { kind: 'choice', branches };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#source.length && !'|)'.includes(this.#source.charAt(this.#at))) parts.push(this.#term());
    return { kind: 'sequence', parts };
  }

  #term(): Node {
    const body = this.#atom();
    const counts = this.#quantifier();
    if (counts === undefined) return body;
    this.#takes('?'); // A lazy match finds another way, but finds one in the same texts.
    if (body.kind === 'edge' || (body.kind === 'look' && body.isBehind)) throw new RegexpRefused('nothing is repeated');
    return { kind: 'repeat', body, ...counts };
  }

  #quantifier(): { least: number; most: number } | undefined {
    if (this.#takes('*')) return { least: 0, most: Infinity };
    if (this.#takes('+')) return { least: 1, most: Infinity };
    if (this.#takes('?')) return { least: 0, most: 1 };
    const counted = this.#takesMatch(/\{(\d+)(,(\d*))?\}/y);
    if (counted === undefined) return undefined;
    const [, least = '', comma, most] = counted;
    const range = { least: Number(least), most: comma === undefined ? Number(least) : Number(most || Infinity) };
    if (range.most < range.least) throw new RegexpRefused('the numbers of a repetition are out of order');
    return range;
  }

  #atom(): Node {
    const letter = this.#source.charAt(this.#at);
    if (letter === '(') return this.#group();
    if (letter === '[') return this.#class();
    if (letter === '\\') return this.#escape();
    if ('*+?'.includes(letter)) throw new RegexpRefused('nothing is repeated');
    if (this.#takesMatch(/\{\d+(?:,\d*)?\}/y) !== undefined) throw new RegexpRefused('nothing is repeated');
    this.#at++;
    if (letter === '^') return { kind: 'edge', edge: 'start' };
    if (letter === '$') return { kind: 'edge', edge: 'end' };
    if (letter === '.') return { kind: 'one', test: (code) => !ENDS_OF_LINE.has(code) };
    return same(letter.charCodeAt(0));
  }

  #group(): Node {
    this.#at++;
    const isPlain = !this.#source.startsWith('?', this.#at);
    const [, kind] = this.#takesMatch(/\?(:|=|!|<=|<!|<[A-Za-z_$][\w$]*>)/y) ?? [];
    if (!isPlain && kind === undefined) throw new RegexpRefused('a group is of an unknown kind');
    const body = this.#choice();
    if (!this.#takes(')')) throw new RegexpRefused('a parenthesis is not closed');
    if (kind === undefined || kind === ':' || kind.endsWith('>')) return body;
    return { kind: 'look', body, isBehind: kind.startsWith('<'), isNegative: kind.endsWith('!') };
  }

  /** Reads a class. JavaScript itself tests its characters: one character takes it no time. */
  #class(): Node {
    const [text] = this.#takesMatch(/\[(?:[^\]\\]|\\.)*\]/sy) ?? [];
    if (text === undefined) throw new RegexpRefused('a bracket is not closed');
    const expression = new RegExp(`^${text}$`);
    return { kind: 'one', test: remembered((code) => expression.test(String.fromCharCode(code))) };
  }

  #escape(): Node {
    const letter = this.#source.charAt(this.#at + 1);
    if (letter === '') throw new RegexpRefused('a backslash is the last character');
    this.#at += 2;
    if (letter === 'b' || letter === 'B') return { kind: 'edge', edge: letter === 'b' ? 'word' : 'no-word' };
    if (CLASSES.has(letter)) {
      const expression = new RegExp(`^\\${letter}$`);
      return { kind: 'one', test: remembered((code) => expression.test(String.fromCharCode(code))) };
    }
    if (/[1-9]/.test(letter) || (letter === '0' && /\d/.test(this.#source.charAt(this.#at))))
      throw new RegexpRefused('a part may not be asked for again by its number');
    if (letter === 'k') throw new RegexpRefused('a part may not be asked for again by its name');
    return same(this.#codeOf(letter));
  }

  #codeOf(letter: string): number {
    const control = CONTROLS[letter];
    if (control !== undefined) return control;
    const digits = { x: 2, u: 4 }[letter];
    if (digits !== undefined) {
      const text = this.#source.slice(this.#at, this.#at + digits);
      if (text.length < digits || !HEX.test(text)) return letter.charCodeAt(0);
      this.#at += digits;
      return Number.parseInt(text, 16);
    }
    if (letter !== 'c') return letter.charCodeAt(0);
    const named = this.#source.charAt(this.#at);
    if (!/[A-Za-z]/.test(named)) {
      this.#at--; // The backslash stands for itself; the letter is read again.
      return 92;
    }
    this.#at++;
    return named.charCodeAt(0) % 32;
  }

  #takes(letter: string): boolean {
    const isThere = this.#source.startsWith(letter, this.#at);
    if (isThere) this.#at += letter.length;
    return isThere;
  }

  #takesMatch(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at;
    const match = sticky.exec(this.#source);
    if (match === null) return undefined;
    this.#at = sticky.lastIndex;
    return match;
  }
}

function same(wanted: number): Node {
  return { kind: 'one', test: (code) => code === wanted };
}

/** Remembers the answers for the letters of most names. */
function remembered(test: Test): Test {
  const low: (boolean | undefined)[] = [];
  return (code) => {
    const known = low[code] ?? test(code);
    if (code < 128) low[code] = known;
    return known;
  };
}

// --- the automaton ---

const ONE = 0;
const FORK = 1;
const EDGE = 2;
const LOOK = 3;
const LOOK_AWAY = 4;
const END = 5;

interface State {
  readonly kind: number;
  readonly next: number;
  /** The other way of a fork, or the number of the look. */
  other: number;
  /** The test of a character; `edge` is for edges. */
  readonly test?: Test;
  readonly edge?: Edge;
}

interface Walk {
  readonly start: number;
  readonly isBackward: boolean;
}

class Automaton {
  /** Inner looks come first, so that each is known before another one needs it. */
  readonly #looks: Walk[] = [];
  readonly #main: Walk;
  readonly #states: State[] = [];
  // The states again, laid out for the walk.
  readonly #kinds: Uint8Array;
  readonly #next: Int32Array;
  readonly #other: Int32Array;

  constructor(tree: Node) {
    this.#main = this.#walk(tree, false);
    this.#kinds = Uint8Array.from(this.#states, ({ kind }) => kind);
    this.#next = Int32Array.from(this.#states, ({ next }) => next);
    this.#other = Int32Array.from(this.#states, ({ other }) => other);
  }

  isFoundIn(text: string): boolean {
    const found: Uint8Array[] = [];
    for (const look of this.#looks) {
      const places = new Uint8Array(text.length + 1);
      this.#go(look, text, found, (place) => {
        places[place] = 1;
        return false;
      });
      found.push(places);
    }
    return this.#go(this.#main, text, found, () => true);
  }

  #walk(tree: Node, isBackward: boolean): Walk {
    const end = this.#add({ kind: END, next: 0, other: 0 });
    return { start: this.#emit(tree, end, isBackward), isBackward };
  }

  #add(state: State): number {
    return this.#states.push(state) - 1;
  }

  /** Adds the states of a node before `next`, and returns the first one. */
  #emit(node: Node, next: number, isBackward: boolean): number {
    switch (node.kind) {
      case 'one':
        return this.#add({ kind: ONE, next, other: 0, test: node.test });
      case 'edge':
        return this.#add({ kind: EDGE, next, other: 0, edge: node.edge });
      case 'sequence': {
        const inTurn = isBackward ? node.parts : node.parts.toReversed();
        return inTurn.reduce((after, part) => this.#emit(part, after, isBackward), next);
      }
      case 'choice':
        return node.branches
          .map((branch) => this.#emit(branch, next, isBackward))
          .reduce((one, other) => this.#add({ kind: FORK, next: one, other }));
      case 'repeat':
        return this.#emitRepeat(node, next, isBackward);
      case 'look': {
        // A look ahead of a place is found by walking towards that place from the end of the text.
        const look = this.#looks.push(this.#walk(node.body, !node.isBehind)) - 1;
        return this.#add({ kind: node.isNegative ? LOOK_AWAY : LOOK, next, other: look });
      }
    }
  }

  #emitRepeat({ body, least, most }: Node & { kind: 'repeat' }, next: number, isBackward: boolean): number {
    let start = next;
    if (most === Infinity) {
      const fork: State = { kind: FORK, next, other: next };
      start = this.#add(fork);
      fork.other = this.#emit(body, start, isBackward);
    } else
      for (let i = least; i < most; i++)
        start = this.#add({ kind: FORK, next, other: this.#emit(body, start, isBackward) });
    for (let i = 0; i < least; i++) start = this.#emit(body, start, isBackward);
    return start;
  }

  /** Begins at every place. Calls back at each place where it reaches the end, until told to stop. */
  #go(walk: Walk, text: string, found: readonly Uint8Array[], reached: (place: number) => boolean): boolean {
    const kinds = this.#kinds;
    const marks = new Int32Array(kinds.length).fill(-1);
    // Room for one entry per state that took a character, one more for each fork on the way, and the start.
    let waiting = new Int32Array(kinds.length + 1);
    let after = new Int32Array(kinds.length + 1);
    let count = 0;
    for (let turn = 0; turn <= text.length; turn++) {
      const place = walk.isBackward ? text.length - turn : turn;
      const code = text.charCodeAt(walk.isBackward ? place - 1 : place);
      let kept = 0;
      let isReached = false;
      waiting[count++] = walk.start;
      while (count > 0) {
        const state = waiting[--count] ?? 0;
        if (marks[state] === turn) continue;
        marks[state] = turn;
        const next = this.#next[state] ?? 0;
        const kind = kinds[state];
        if (kind === ONE) {
          if (turn < text.length && this.#states[state]?.test?.(code) === true) after[kept++] = next;
        } else if (kind === FORK) {
          waiting[count++] = next;
          waiting[count++] = this.#other[state] ?? 0;
        } else if (kind === END) isReached = true;
        else if (this.#passes(state, text, place, found)) waiting[count++] = next;
      }
      if (isReached && reached(place)) return true;
      [waiting, after] = [after, waiting];
      count = kept;
    }
    return false;
  }

  /** True if a state that takes no character lets the walk go on. */
  #passes(state: number, text: string, place: number, found: readonly Uint8Array[]): boolean {
    const kind = this.#kinds[state];
    if (kind === EDGE) return isAt(this.#states[state]?.edge ?? 'start', text, place);
    return (found[this.#other[state] ?? 0]?.[place] === 1) === (kind === LOOK);
  }
}

function isAt(edge: Edge, text: string, place: number): boolean {
  if (edge === 'start') return place === 0;
  if (edge === 'end') return place === text.length;
  const isEdge = isWordAt(text, place - 1) !== isWordAt(text, place);
  return isEdge === (edge === 'word');
}

function isWordAt(text: string, place: number): boolean {
  return /^\w$/.test(text.charAt(place));
}

// --- the cost ---

/** The number of states that match a node. */
function statesOf(node: Node): number {
  switch (node.kind) {
    case 'one':
    case 'edge':
      return 1;
    case 'look':
      return 2 + statesOf(node.body);
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + statesOf(part), 0);
    case 'choice':
      return node.branches.reduce((sum, branch) => sum + 1 + statesOf(branch), 0);
    case 'repeat':
      return (statesOf(node.body) + 1) * (node.most === Infinity ? node.least + 1 : node.most);
  }
}

interface Tries {
  /** The number of ways in which the node may match from one place. */
  readonly ways: number;
  /** The number of steps to try them all. */
  readonly tries: number;
  readonly isEmpty: boolean;
}

function triesOf(node: Node, length: number): Tries {
  switch (node.kind) {
    case 'one':
      return { ways: 1, tries: 1, isEmpty: false };
    case 'edge':
      return { ways: 1, tries: 1, isEmpty: true };
    case 'look':
      return { ways: 1, tries: 1 + triesOf(node.body, length).tries, isEmpty: true };
    case 'sequence':
      return node.parts.reduceRight(
        (after: Tries, part) => {
          const { ways, tries, isEmpty } = triesOf(part, length);
          return { ways: ways * after.ways, tries: tries + ways * after.tries, isEmpty: isEmpty && after.isEmpty };
        },
        { ways: 1, tries: 1, isEmpty: true },
      );
    case 'choice': {
      const each = node.branches.map((branch) => triesOf(branch, length));
      return {
        ways: each.reduce((sum, { ways }) => sum + ways, 0),
        tries: each.reduce((sum, { tries }) => sum + 1 + tries, 0),
        isEmpty: each.some(({ isEmpty }) => isEmpty),
      };
    }
    case 'repeat':
      return triesOfRepeat(node, length);
  }
}

function triesOfRepeat({ body, least, most }: Node & { kind: 'repeat' }, length: number): Tries {
  const { ways, tries, isEmpty } = triesOf(body, length);
  if (ways > 1 && most > 1) return { ways: Infinity, tries: Infinity, isEmpty: isEmpty || least === 0 };
  // A body that takes nothing ends a repetition.
  const turns = Math.min(most, isEmpty ? least + 1 : Math.max(length, least));
  const ends = most === 1 ? 1 + ways : turns + 1;
  return { ways: ends, tries: (turns + 1) * (tries + 1), isEmpty: isEmpty || least === 0 };
}
