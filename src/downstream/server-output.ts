// What one process of a server has written on stderr: the last of it, in constant memory, and nothing of what is a secret
// between it and us, also where only a part of that is there. It outlives the process, so it must not hold it.

import type { StdioServer } from '../model/server-definition.ts';
import { ByteRing } from '../util/byte-ring.ts';
import { type NamedSecret, secretsInArguments } from '../util/given-secrets.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';

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

// Secrets of which a text has only a part, as it begins or ends in the middle of them: what is kept of a stream does.

/** A shorter part tells nobody anything, and stands in many texts by accident. */
const SHORTEST_PART = 4;

interface TornSecret {
  readonly name: string;
  /** Where it ends, at the start of a text; where it begins, at the end of one. */
  readonly at: number;
}

/** The end of a secret that the text, which begins with a line, begins with. */
function secretAtStart(text: string, secrets: readonly NamedSecret[]): TornSecret | undefined {
  const part = longestPart(
    secrets,
    text.length,
    (value, length) => text.startsWith(value.slice(-length)) && /^$|[\r\n]$/.test(value.slice(0, -length)),
  );
  return part && { name: part.name, at: part.length };
}

/** The beginnings of secrets that the text ends with, one behind the other. */
function secretAtEnd(text: string, secrets: readonly NamedSecret[], least = SHORTEST_PART): TornSecret | undefined {
  const part = longestPart(secrets, text.length, (value, length) => text.endsWith(value.slice(0, length)), least);
  if (part === undefined) return undefined;
  const at = text.length - part.length;
  return secretAtEnd(text.slice(0, at), secrets, least) ?? { name: part.name, at };
}

/** All of one is a part too: another one may seem to begin in the middle of it. */
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

// What a program has said on stderr before its end, cut down to what tells a person why. Programs say much besides: the
// stack, the source around it, their version, where their log is.

/** Lines of the runtime's own, which are the same whatever went wrong. */
const NOISE =
  /^\s*$|^Node\.js v\d|^\s+at (?:.*\((?:node|internal):|(?:node|internal):|async node:)|^node:internal\/|^\s*\^+\s*$|^[\s\]})]+$/;

/** Whole lines, without those that say nothing; the last so many. */
export function lastWords(stderr: string, most: number): string {
  return telling(stderr).slice(-most).join('\n');
}

/** The one line that says why, or at least the last one; '' if there is none. */
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

/** npm tells it as a table, of which the first line with words is the sentence. */
function isErrorOfNpm(line: string): boolean {
  return /^npm (?:error|ERR!) (?!(?:code|errno|syscall|path|dest|command|cwd) )/i.test(line);
}

/** Shorter values, such as `1` or `on`, are no secrets, and would make a text unreadable. */
const SHORTEST_SECRET = 4;

/** Takes the values that are secrets out of a text; each leaves its name behind. */
export function redactEach(text: string, named: readonly (readonly [name: string, value: string])[]): string {
  const secrets = named.filter(([, value]) => value.length >= SHORTEST_SECRET);
  secrets.sort(([, a], [, b]) => b.length - a.length); // one value may be a part of another
  return secrets.reduce((safe, [name, value]) => safe.replaceAll(value, () => `[${name}]`), text);
}
