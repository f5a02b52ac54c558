// What one process of a server has written on stderr: the last of it, in constant memory, and nothing of what is a secret
// between it and us, also where only a part of that is there. It outlives the process, so it must not hold it.

import type { StdioServer } from '../model/server-definition.ts';
import { ByteRing } from '../util/byte-ring.ts';
import { type NamedSecret, secretsInArguments } from '../util/given-secrets.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';
import { redactEach } from './child-env.ts';
import { lastLine, lastWords } from './last-words.ts';
import { secretAtEnd, secretAtStart } from './torn-secrets.ts';

const STDERR_BYTES = 16 * 1024;
const LAST_WORDS_LINES = 12;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** The text that a process has written, from one byte to another, without secrets. */
export interface KeptOutput {
  readonly pid: number | null;
  readonly running: boolean;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export class ServerOutput {
  readonly #ring = new ByteRing(STDERR_BYTES);
  /** The values of the variables that it was given, and the secrets among its arguments. */
  readonly #secrets: readonly NamedSecret[];
  readonly pid: number | undefined;
  #isOver = false;

  constructor({ env, args }: Pick<StdioServer, 'env' | 'args'>, pid: number | undefined) {
    this.#secrets = withLines([...Object.entries(env), ...secretsInArguments(args)]);
    this.pid = pid;
  }

  push(chunk: Uint8Array): void {
    this.#ring.push(chunk);
  }

  /** The process has gone, and all that it wrote has been read. */
  end(): void {
    this.#isOver = true;
  }

  safe(text: string): string {
    return redactEach(text, this.#secrets).replace(KNOWN_TOKEN, '[secret]');
  }

  lastWords(): string {
    return lastWords(this.#said(), LAST_WORDS_LINES);
  }

  lastLine(): string {
    return lastLine(this.#said());
  }

  #said(): string {
    return this.after(0).text.replace(/[^\P{Cc}\n\t]/gu, '');
  }

  /** What is still held behind the first so many bytes. Who comes back for the rest gets whole lines as long as there may be more. */
  after(position: number, isFollowed = false): KeptOutput {
    const { written } = this.#ring;
    const asked = position > written ? 0 : position;
    const bytes = this.#ring.since(Math.max(0, asked - 1));
    const oldest = written - bytes.length;
    // A line whose beginning is not there may begin in the middle of a secret.
    const head = asked === 0 && oldest === 0 ? 0 : behindLine(bytes);
    const isOpen = isFollowed && !this.#isOver;
    const tail = Math.max(head, isOpen ? bytes.lastIndexOf(NEWLINE) + 1 : bytes.length);
    const text = bytes.toString('utf8', head, tail);
    const torn = secretAtEnd(text, this.#secrets, isOpen ? 1 : undefined);
    const told = this.#masked(text.slice(0, torn?.at), oldest + head > 0);
    const common = { pid: this.pid ?? null, running: !this.#isOver, from: oldest + head };
    if (torn === undefined || !isOpen)
      return { ...common, to: oldest + tail, text: torn === undefined ? told : `${told}[${torn.name}]` };
    const whole = this.#untorn(text);
    return {
      ...common,
      to: oldest + tail - Buffer.byteLength(text) + Buffer.byteLength(whole),
      text: this.#masked(whole, oldest + head > 0),
    };
  }

  /** Up to the line that a secret begins in which is not all there; that line may begin in another one. */
  #untorn(text: string): string {
    const torn = secretAtEnd(text, this.#secrets, 1);
    return torn === undefined ? text : this.#untorn(text.slice(0, text.slice(0, torn.at).lastIndexOf('\n') + 1));
  }

  #masked(text: string, isCut: boolean): string {
    const torn = isCut ? secretAtStart(text, this.#secrets) : undefined;
    return torn === undefined ? this.safe(text) : `[${torn.name}]${this.safe(text.slice(torn.at))}`;
  }
}

/** A shorter line of a secret tells nobody anything. */
const SHORTEST_LINE = 8;

/** Of a secret of several lines each is one: what is kept may have only some of them. */
function withLines(secrets: readonly NamedSecret[]): NamedSecret[] {
  return secrets.flatMap(([name, value]): NamedSecret[] => {
    const lines = value.split(/[\r\n]+/).map((line) => line.trim());
    return [
      [name, value],
      ...lines.flatMap((line): NamedSecret[] => (line.length < SHORTEST_LINE || line === value ? [] : [[name, line]])),
    ];
  });
}

/** Where the first whole line begins. */
function behindLine(bytes: Buffer): number {
  const ends = [NEWLINE, RETURN].map((end) => bytes.indexOf(end)).filter((at) => at >= 0);
  return ends.length === 0 ? bytes.length : Math.min(...ends) + 1;
}
