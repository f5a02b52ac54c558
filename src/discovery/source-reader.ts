// Reads the files of all locations, each once however many clients share it. A file that cannot be read or parsed is
// reported, and hides no other.

import { membersOf } from '../util/json-value.ts';
import { type DiagnosticCode, diagnostic, type Report } from './diagnostic.ts';
import { type Document, documentOf, type Syntax } from './document.ts';
import type { DiscoveryHost } from './host.ts';
import { SyntaxFault } from './json-document.ts';
import type { Location } from './locations.ts';
import type { Machine } from './machine.ts';
import { textOf } from './source-text.ts';

/** A file as it was found. */
export interface FoundFile {
  readonly location: Location;
  readonly path: string;
  /** What the stars of a pattern stood for. */
  readonly matched: readonly string[];
}

export type Reading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable'; readonly path: string }
  | { readonly kind: 'document'; readonly realpath: string; readonly document: Document };

const FAILURES: Readonly<Record<string, DiagnosticCode>> = {
  EISDIR: 'not-a-file',
  NOT_A_FILE: 'not-a-file',
  EFBIG: 'too-large',
};
/** How long an editor may take to write the rest of a file. */
const HALF_WRITTEN_MS = 200;

export type Pause = (delayMs: number) => Promise<void>;

export class SourceReader {
  readonly #host: DiscoveryHost;
  readonly #machine: Machine;
  readonly #report: Report;
  readonly #pause: Pause | undefined;
  readonly #readings = new Map<string, Promise<Reading>>();

  constructor(host: DiscoveryHost, machine: Machine, report: Report, pause: Pause | undefined) {
    this.#host = host;
    this.#machine = machine;
    this.#report = report;
    this.#pause = pause;
  }

  /** The files that a location stands for, those of a directory in the order of the bytes of their names. */
  async find(location: Location): Promise<FoundFile[]> {
    let found: FoundFile[] = [{ location, path: location.path, matched: [] }];
    for (const segment of location.pattern) {
      const next = await Promise.all(found.map((file) => this.#below(file, segment)));
      found = next.flat();
    }
    return found;
  }

  async #below(file: FoundFile, segment: string): Promise<FoundFile[]> {
    const { path } = this.#machine;
    if (!segment.includes('*')) return [{ ...file, path: path.join(file.path, segment) }];
    const [before = '', after = ''] = segment.split('*');
    const names = (await this.list(file.path)).filter(
      (name) => name.length > before.length + after.length && name.startsWith(before) && name.endsWith(after),
    );
    return names
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map((name) => ({
        ...file,
        path: path.join(file.path, name),
        matched: [...file.matched, name.slice(before.length, name.length - after.length)],
      }));
  }

  async list(dir: string): Promise<readonly string[]> {
    try {
      return await this.#host.files.list(dir);
    } catch (error) {
      this.#report(diagnostic('unreadable', `The directory ${dir} cannot be read: ${codeOf(error)}.`, { path: dir }));
      return [];
    }
  }

  read(path: string, syntax: Syntax): Promise<Reading> {
    const known = this.#readings.get(path);
    if (known !== undefined) return known;
    const reading = this.#readFile(path, syntax);
    this.#readings.set(path, reading);
    return reading;
  }

  async parse(text: string, path: string, syntax: Syntax): Promise<Reading> {
    try {
      const document = await documentOf({ text, path, syntax }, this.#report);
      return { kind: 'document', realpath: path, document };
    } catch (error) {
      return this.#broken(path, error);
    }
  }

  /** The text of a file that another one refers to; undefined, and reported, when there is none. */
  async readText(path: string): Promise<string | undefined> {
    const bytes = await this.#bytesOf(path).catch(() => undefined);
    const text = bytes && textOf(bytes, path, () => undefined);
    if (text === undefined)
      this.#report(diagnostic('missing-file', `${path} is referred to, and cannot be read.`, { path }));
    return text;
  }

  async #readFile(path: string, syntax: Syntax): Promise<Reading> {
    let bytes: Uint8Array | undefined;
    try {
      bytes = await this.#bytesOf(path);
    } catch (error) {
      return this.#refused(path, error);
    }
    if (bytes === undefined) return { kind: 'absent' };
    const text = textOf(bytes, path, this.#report);
    if (text === undefined) return { kind: 'unusable', path };
    const document = await this.#parsed(text, path, syntax);
    if (document === undefined) return { kind: 'unusable', path };
    return { kind: 'document', realpath: await this.realpath(path), document };
  }

  async #parsed(text: string, path: string, syntax: Syntax): Promise<Document | undefined> {
    try {
      return await documentOf({ text, path, syntax }, this.#report);
    } catch (error) {
      const again = await this.#textLater(path, text);
      if (again === undefined) this.#broken(path, error);
      return again === undefined ? undefined : this.#parsedAtLast(again, path, syntax);
    }
  }

  async #parsedAtLast(text: string, path: string, syntax: Syntax): Promise<Document | undefined> {
    const reading = await this.parse(text, path, syntax);
    return reading.kind === 'document' ? reading.document : undefined;
  }

  /** What a broken file says a moment later, if that is something else. */
  async #textLater(path: string, before: string): Promise<string | undefined> {
    if (this.#pause === undefined) return undefined;
    await this.#pause(HALF_WRITTEN_MS);
    const bytes = await this.#bytesOf(path).catch(() => undefined);
    const text = bytes && textOf(bytes, path, () => undefined);
    return text === before ? undefined : text;
  }

  async #bytesOf(path: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#host.files.read(path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
      throw error;
    }
  }

  async realpath(path: string): Promise<string> {
    return this.#host.files.realpath(path).catch(() => path);
  }

  #broken(path: string, error: unknown): Reading {
    const place = error instanceof SyntaxFault ? `${path}:${error.line}:${error.column}: ${error.message}` : path;
    this.#report(diagnostic('parse', `${place}. Mend the file: nothing of it is used.`, { path }));
    return { kind: 'unusable', path };
  }

  #refused(path: string, error: unknown): Reading {
    const code = FAILURES[codeOf(error)] ?? 'unreadable';
    const problem = { 'not-a-file': 'is not a file', 'too-large': 'is larger than 5 MB' }[code as string];
    this.#report(
      diagnostic(code, `${path} ${problem ?? `cannot be read: ${codeOf(error)}`}. It is left out.`, { path }),
    );
    return { kind: 'unusable', path };
  }
}

function codeOf(error: unknown): string {
  const { code } = membersOf(error);
  return typeof code === 'string' ? code : 'unknown error';
}
