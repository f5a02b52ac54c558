// The last part of a process's stderr, in constant memory, and the lines that tell a person why the process ended. It
// never shows a secret, even if the text begins or ends inside one. It outlives the process, and must not keep it
// alive.

import type { StdioServer } from '../model/server-definition.ts';
import { ByteRing } from '../util/byte-ring.ts';
import { type NamedSecret, secretsInArguments } from '../util/given-secrets.ts';
import { KNOWN_TOKEN } from '../util/secret-signs.ts';

const STDERR_BYTES = 16 * 1024;
const LAST_WORDS_LINES = 12;
const TOO_LONG = '[the last line is too long to be kept]\n';
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** A range of the text that a process wrote, without secrets. */
export interface KeptOutput {
  readonly pid: number | null;
  readonly running: boolean;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export class ServerOutput {
  readonly #ring = new ByteRing(STDERR_BYTES);
  /** The values of the process's variables, and secrets in its arguments. */
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

  /** Notes that the process has ended and all its output was read. */
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

  /**
   * The text after byte `position`, as far as it is kept. With `isFollowed` it has whole lines only, because more may
   * come.
   */
  after(position: number, isFollowed = false): KeptOutput {
    const { written } = this.#ring;
    const asked = position > written ? 0 : position;
    const bytes = this.#ring.since(Math.max(0, asked - 1));
    const oldest = written - bytes.length;
    // A line without its beginning may start inside a secret.
    const head = asked === 0 && oldest === 0 ? 0 : behindLine(bytes);
    const isOpen = isFollowed && !this.#isOver;
    // Without a newline, nobody can tell where a secret begins.
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

  /** The text up to the line where an incomplete secret begins. That line may itself begin inside another secret. */
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

/** Adds each line of multi-line secrets, because the kept text may hold only some of them. */
function withLines(secrets: readonly NamedSecret[]): NamedSecret[] {
  return secrets.flatMap(([name, value]): NamedSecret[] => {
    const lines = value.split(/[\r\n]+/).map((line) => line.trim());
    return [
      [name, value],
      ...lines.flatMap((line): NamedSecret[] => (line.length < SHORTEST_LINE || line === value ? [] : [[name, line]])),
    ];
  });
}

/** The index of the first whole line. */
function behindLine(bytes: Buffer): number {
  const ends = [NEWLINE, RETURN].map((end) => bytes.indexOf(end)).filter((at) => at >= 0);
  return ends.length === 0 ? bytes.length : Math.min(...ends) + 1;
}

/** Shorter parts of a secret reveal nothing, and occur in many texts by chance. */
const SHORTEST_PART = 4;

/** A secret that is cut off at the start or end of the text. */
interface TornSecret {
  readonly name: string;
  /** The index where it ends, at the start of a text; or where it begins, at the end. */
  readonly at: number;
}

/** The cut-off secret at the start of a text that begins with a line. */
function secretAtStart(text: string, secrets: readonly NamedSecret[]): TornSecret | undefined {
  const part = longestPart(
    secrets,
    text.length,
    (value, length) => text.startsWith(value.slice(-length)) && /^$|[\r\n]$/.test(value.slice(0, -length)),
  );
  return part && { name: part.name, at: part.length };
}

/** The beginnings of secrets at the end of a text, one after another. */
function secretAtEnd(text: string, secrets: readonly NamedSecret[], least = SHORTEST_PART): TornSecret | undefined {
  const part = longestPart(secrets, text.length, (value, length) => text.endsWith(value.slice(0, length)), least);
  if (part === undefined) return undefined;
  const at = text.length - part.length;
  return secretAtEnd(text.slice(0, at), secrets, least) ?? { name: part.name, at };
}

/** The longest part of a secret. Whole secrets count too, because another one may seem to begin inside. */
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

/** Lines that a runtime always prints: stack frames, versions, carets. */
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

/** npm prints a table; its first line with words is the message. */
function isErrorOfNpm(line: string): boolean {
  return /^npm (?:error|ERR!) (?!(?:code|errno|syscall|path|dest|command|cwd) )/i.test(line);
}

/** Shorter values, such as `1` or `on`, do not count as secrets: hiding them would make a text unreadable. */
const SHORTEST_SECRET = 4;

/** Replaces each secret value in a text by its name in brackets. */
export function redactEach(text: string, named: readonly (readonly [name: string, value: string])[]): string {
  const secrets = named.filter(([, value]) => value.length >= SHORTEST_SECRET);
  secrets.sort(([, a], [, b]) => b.length - a.length); // one value may be a part of another
  return secrets.reduce((safe, [name, value]) => safe.replaceAll(value, () => `[${name}]`), text);
}
