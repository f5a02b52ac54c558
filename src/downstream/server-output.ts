// The last part of a process's stderr, in constant memory, and the lines of it that tell a person why the process ended. No secret
// comes out of here, also where the text begins or ends in the middle of one. It outlives the process and must not hold it.

import type { StdioServer } from '../model/server-definition.ts';
import { ByteRing } from '../util/byte-ring.ts';
import { type NamedSecret, secretsInArguments } from '../util/given-secrets.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';

const STDERR_BYTES = 16 * 1024;
const LAST_WORDS_LINES = 12;
const TOO_LONG = '[the last line is too long to be kept]\n';
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
  /** Values of the variables that the process was given, and secrets among its arguments. */
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

  /** Notes that the process has ended and all its output has been read. */
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

  /** The text behind byte `position`, as far as it is still held. `isFollowed` gives whole lines only, while more may come. */
  after(position: number, isFollowed = false): KeptOutput {
    const { written } = this.#ring;
    const asked = position > written ? 0 : position;
    const bytes = this.#ring.since(Math.max(0, asked - 1));
    const oldest = written - bytes.length;
    // A line without its beginning may start in the middle of a secret.
    const head = asked === 0 && oldest === 0 ? 0 : behindLine(bytes);
    const isOpen = isFollowed && !this.#isOver;
    // Nobody can say where a secret begins in it.
    if (asked === 0 && oldest > 0 && !isOpen && !bytes.includes(NEWLINE) && !bytes.includes(RETURN))
      return { pid: this.pid ?? null, running: !this.#isOver, from: oldest + head, to: written, text: TOO_LONG };
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

  /** The text up to the line in which an incomplete secret begins. That line may itself begin inside another secret. */
  #untorn(text: string): string {
    const torn = secretAtEnd(text, this.#secrets, 1);
    return torn === undefined ? text : this.#untorn(text.slice(0, text.slice(0, torn.at).lastIndexOf('\n') + 1));
  }

  #masked(text: string, isCut: boolean): string {
    const torn = isCut ? secretAtStart(text, this.#secrets) : undefined;
    return torn === undefined ? this.safe(text) : `[${torn.name}]${this.safe(text.slice(torn.at))}`;
  }
}

/** Shorter lines of a secret reveal nothing. */
const SHORTEST_LINE = 8;

/** Adds each line of a secret that has several: the kept text may hold only some of them. */
function withLines(secrets: readonly NamedSecret[]): NamedSecret[] {
  return secrets.flatMap(([name, value]): NamedSecret[] => {
    const lines = value.split(/[\r\n]+/).map((line) => line.trim());
    return [
      [name, value],
      ...lines.flatMap((line): NamedSecret[] => (line.length < SHORTEST_LINE || line === value ? [] : [[name, line]])),
    ];
  });
}

/** The index at which the first whole line begins. */
function behindLine(bytes: Buffer): number {
  const ends = [NEWLINE, RETURN].map((end) => bytes.indexOf(end)).filter((at) => at >= 0);
  return ends.length === 0 ? bytes.length : Math.min(...ends) + 1;
}

/** Shorter parts of a secret reveal nothing, and occur in many texts by accident. */
const SHORTEST_PART = 4;

/** A secret of which the text holds only a part, at its start or end. */
interface TornSecret {
  readonly name: string;
  /** The index at which it ends, at the start of a text; at which it begins, at the end of one. */
  readonly at: number;
}

/** The end of a secret at the start of a text that begins with a line. */
function secretAtStart(text: string, secrets: readonly NamedSecret[]): TornSecret | undefined {
  const part = longestPart(
    secrets,
    text.length,
    (value, length) => text.startsWith(value.slice(-length)) && /^$|[\r\n]$/.test(value.slice(0, -length)),
  );
  return part && { name: part.name, at: part.length };
}

/** The beginnings of secrets at the end of a text, one behind the other. */
function secretAtEnd(text: string, secrets: readonly NamedSecret[], least = SHORTEST_PART): TornSecret | undefined {
  const part = longestPart(secrets, text.length, (value, length) => text.endsWith(value.slice(0, length)), least);
  if (part === undefined) return undefined;
  const at = text.length - part.length;
  return secretAtEnd(text.slice(0, at), secrets, least) ?? { name: part.name, at };
}

/** The longest part of a secret. A whole one counts too, because another may seem to begin in the middle of it. */
function longestPart(
  secrets: readonly NamedSecret[],
  most: number,
  isThere: (value: string, length: number) => boolean,
  least = SHORTEST_PART,
): { readonly name: string; readonly length: number } | undefined {
  let found: { readonly name: string; readonly length: number } | undefined;
  for (const [name, value] of secrets)
    for (let length = Math.min(value.length, most); length >= least && length > (found?.length ?? 0); length--)
      if (isThere(value, length)) found = { name, length };
  return found;
}

/** Lines of the runtime that are the same whatever went wrong: stack frames, versions, carets. */
const NOISE =
  /^\s*$|^Node\.js v\d|^\s+at (?:.*\((?:node|internal):|(?:node|internal):|async node:)|^node:internal\/|^\s*\^+\s*$|^[\s\]})]+$/;

/** The last `most` lines, without noise. */
export function lastWords(stderr: string, most: number): string {
  return telling(stderr).slice(-most).join('\n');
}

/** The line that says why the program ended, else the last line, else ''. */
export function lastLine(stderr: string): string {
  const lines = telling(stderr);
  return (lines.findLast(isError) ?? lines.find(isErrorOfNpm) ?? lines.at(-1) ?? '').trim();
}

function telling(stderr: string): string[] {
  return stderr.split(/\r?\n/).filter((line) => !NOISE.test(line));
}

const NPM = /^npm (?:error|ERR!|warn|notice)/i;
const SOURCE = /^\s*(?:throw|raise|return|const|at|File)\b/;
const ERROR = /\b[A-Z]\w*(?:Error|Exception)\b|\bError\b|\berror:|\bERROR\b|\bfatal\b|\bpanic(?:ked)?\b/i;

function isError(line: string): boolean {
  return !NPM.test(line) && !SOURCE.test(line) && ERROR.test(line);
}

/** npm prints a table; its first line with words is the sentence. */
function isErrorOfNpm(line: string): boolean {
  return /^npm (?:error|ERR!) (?!(?:code|errno|syscall|path|dest|command|cwd) )/i.test(line);
}

/** Shorter values, such as `1` or `on`, are no secrets, and hiding them would make a text unreadable. */
const SHORTEST_SECRET = 4;

/** Replaces each secret value in a text by its name in brackets. */
export function redactEach(text: string, named: readonly (readonly [name: string, value: string])[]): string {
  const secrets = named.filter(([, value]) => value.length >= SHORTEST_SECRET);
  secrets.sort(([, a], [, b]) => b.length - a.length); // one value may be a part of another
  return secrets.reduce((safe, [name, value]) => safe.replaceAll(value, () => `[${name}]`), text);
}
