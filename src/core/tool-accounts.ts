// Counts how much each tool has answered: bytes, and roughly the tokens that a model reads. Counting a call takes some
// dozens of nanoseconds and allocates nothing. Names come from clients, so their number per server is limited.

import type { ToolAnswers } from '../model/tool-answers.ts';
import { byteAt } from '../wire/json-grammar.ts';

/** The number of tools per server that are counted separately. All further ones are counted together. */
const MOST_TOOLS = 2000;
const LONGEST_NAME = 256;
const BYTES_OF_TOKEN = 4;
/** Shorter answers cannot hold an image. */
const SHORT = 2048;
const BEGINNING = 96;
const BEGINS_WITH_DATA = /^\{\s*"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"(?:image|audio)"/;

const [ANSWERS, BYTES, LARGEST, PASSED, TOKENS, CUT] = [0, 1, 2, 3, 4, 5];

/**
 * Estimates the tokens that a model reads of b[from, to), a result: one for four bytes. An answer that begins with an
 * image or a sound counts none, because its bytes are not read.
 */
function tokensIn(b: Buffer, from: number, to: number): number {
  const length = to - from;
  if (length > SHORT && BEGINS_WITH_DATA.test(b.toString('latin1', from, from + BEGINNING))) return 0;
  return Math.ceil(length / BYTES_OF_TOKEN);
}

/** The account of one tool. */
export class ToolAccount {
  /** The name as JSON in latin1. */
  readonly nameText: string;
  readonly #sums = new Float64Array(6);

  constructor(nameText: string) {
    this.nameText = nameText;
  }

  /** True if this account belongs to the tool named by b[from, to). */
  is(b: Buffer, from: number, to: number): boolean {
    const { nameText } = this;
    if (nameText.length !== to - from) return false;
    for (let i = 0; i < nameText.length; i++) if (nameText.charCodeAt(i) !== byteAt(b, from + i)) return false;
    return true;
  }

  /** Counts an answer of `bytes` bytes; b[from, to) is the part passed on. */
  answered(bytes: number, b: Buffer, from: number, to: number): void {
    const sums = this.#sums;
    this.#add(ANSWERS, 1);
    this.#add(BYTES, bytes);
    this.#add(PASSED, to - from);
    this.#add(TOKENS, tokensIn(b, from, to));
    if (to - from !== bytes) this.#add(CUT, 1);
    if (bytes > (sums[LARGEST] ?? 0)) sums[LARGEST] = bytes;
  }

  /** Counts an answer of `bytes` bytes that only a program got, not a model. */
  answeredProgram(bytes: number): void {
    this.#add(ANSWERS, 1);
    this.#add(BYTES, bytes);
    if (bytes > (this.#sums[LARGEST] ?? 0)) this.#sums[LARGEST] = bytes;
  }

  #add(place: number, amount: number): void {
    this.#sums[place] = (this.#sums[place] ?? 0) + amount;
  }

  report(server: string): ToolAnswers {
    const at = (place: number): number => this.#sums[place] ?? 0;
    return {
      server,
      tool: this.nameText === '' ? '' : (JSON.parse(Buffer.from(this.nameText, 'latin1').toString()) as string),
      answers: at(ANSWERS),
      bytes: at(BYTES),
      largestBytes: at(LARGEST),
      passedBytes: at(PASSED),
      tokens: at(TOKENS),
      cut: at(CUT),
    };
  }
}

/** The accounts of one server's tools, made when they are called: there may be thousands of servers, most of them only looked at. */
export class ServerAccounts {
  #byHash: Map<number, ToolAccount> | undefined;
  #others: ToolAccount | undefined;

  /** All tools without an account of their own. */
  get others(): ToolAccount {
    this.#others ??= new ToolAccount('');
    return this.#others;
  }

  /** The account of the tool named by b[from, to), which is JSON. */
  of(b: Buffer, from: number, to: number): ToolAccount {
    if (to - from > LONGEST_NAME) return this.others;
    let hash = SEED;
    for (let p = from; p < to; p++) hash = mixed(hash, byteAt(b, p));
    const known = this.#byHash?.get(hash);
    if (known !== undefined) return known.is(b, from, to) ? known : this.others;
    return this.#new(hash, b.latin1Slice(from, to));
  }

  /** The account of a tool, named by JSON in latin1. */
  named(nameText: string): ToolAccount {
    if (nameText.length > LONGEST_NAME) return this.others;
    let hash = SEED;
    for (let i = 0; i < nameText.length; i++) hash = mixed(hash, nameText.charCodeAt(i));
    const known = this.#byHash?.get(hash);
    if (known !== undefined) return known.nameText === nameText ? known : this.others;
    return this.#new(hash, nameText);
  }

  #new(hash: number, nameText: string): ToolAccount {
    this.#byHash ??= new Map();
    if (this.#byHash.size >= MOST_TOOLS || !nameText.startsWith('"')) return this.others;
    const account = new ToolAccount(nameText);
    this.#byHash.set(hash, account);
    return account;
  }

  all(): Iterable<ToolAccount> {
    return [...(this.#byHash?.values() ?? []), ...(this.#others === undefined ? [] : [this.#others])];
  }
}

/** The accounts of all servers by name. Instances, and namesakes in other directories, are added up. */
export class ToolAccounts {
  readonly #byServer = new Map<string, ServerAccounts>();

  of(server: string): ServerAccounts {
    const known = this.#byServer.get(server);
    if (known !== undefined) return known;
    const accounts = new ServerAccounts();
    this.#byServer.set(server, accounts);
    return accounts;
  }

  /** The tools that have answered, most expensive for a model first. */
  report(): ToolAnswers[] {
    return [...this.#byServer]
      .flatMap(([server, accounts]) => Array.from(accounts.all(), (account) => account.report(server)))
      .filter(({ answers }) => answers > 0)
      .sort((one, other) => other.tokens - one.tokens || other.bytes - one.bytes);
  }
}

// FNV-1a.
const SEED = 0x811c9dc5 | 0;

function mixed(sum: number, more: number): number {
  return Math.imul(sum ^ more, 0x01000193);
}
