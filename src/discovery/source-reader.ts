// Reads the files of all locations, each only once, even if several clients share it. Text must be UTF-8, because
// guessing would make servers out of garbage. An unreadable or broken file is reported, and hides no other.

import { isUtf8 } from 'node:buffer';
import { MOST_CONFIG_BYTES } from '../local/regular-file.ts';
import { membersOf } from '../util/json-value.ts';
import { nextTurn } from '../util/next-turn.ts';
import { type Diagnostic, type DiagnosticCode, diagnostic, type Report } from './diagnostic.ts';
import { type Document, type DocumentReading, documentOf, type Syntax, SyntaxFault, type Writing } from './document.ts';
import type { DiscoveryHost } from './host.ts';
import type { Location } from './locations.ts';
import { type PathRules, pathsOf } from './machine.ts';
import type { Aspect, Aspects, Observation, SourceVisit } from './source-memory.ts';

/** A file that was found. */
export interface FoundFile {
  readonly location: Location;
  readonly path: string;
  /** The names that the pattern's stars matched. */
  readonly matched: readonly string[];
}

const FAILURES: Readonly<Record<string, DiagnosticCode>> = {
  EISDIR: 'not-a-file',
  NOT_A_FILE: 'not-a-file',
  EFBIG: 'too-large',
};
/** The maximum number of files read from a directory, in order of names. */
const MOST_FILES = 500;
const MOST_PROJECT_FILES = 50;

/** The time in which an editor should have written the rest of a file. */
const HALF_WRITTEN_MS = 200;

interface Asked extends Omit<Writing, 'text'> {
  /** The maximum size in bytes. */
  readonly most: number;
}

export type PauseBeforeRetry = (delayMs: number) => Promise<void>;

export class SourceReader {
  readonly #host: DiscoveryHost;
  readonly #path: PathRules;
  readonly #visit: SourceVisit;
  readonly #report: Report;
  readonly #pause: PauseBeforeRetry | undefined;
  readonly #readings = new Map<string, Promise<DocumentReading>>();
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(host: DiscoveryHost, visit: SourceVisit, report: Report, pause: PauseBeforeRetry | undefined) {
    this.#host = host;
    this.#path = pathsOf(host);
    this.#visit = visit;
    this.#report = report;
    this.#pause = pause;
  }

  /** The files at a location; those of a directory sorted by the bytes of their names. */
  async find(location: Location): Promise<FoundFile[]> {
    let found: FoundFile[] = [{ location, path: location.path, matched: [] }];
    for (const segment of location.pattern) {
      const next = await Promise.all(found.map((file) => this.#below(file, segment)));
      found = next.flat();
    }
    return found;
  }

  async #below(file: FoundFile, segment: string): Promise<FoundFile[]> {
    const path = this.#path;
    if (!segment.includes('*')) return [{ ...file, path: path.join(file.path, segment) }];
    const [before = '', after = ''] = segment.split('*');
    const names = (await this.list(file.path)).filter(
      (name) => name.length > before.length + after.length && name.startsWith(before) && name.endsWith(after),
    );
    const sorted = names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return this.fewOf(sorted, file.path, file.location.project !== undefined).map((name) => ({
      ...file,
      path: path.join(file.path, name),
      matched: [...file.matched, name.slice(before.length, name.length - after.length)],
    }));
  }

  /** The first names of a directory, up to the limit. */
  fewOf(names: readonly string[], dir: string, isOfProject: boolean): readonly string[] {
    const most = isOfProject ? MOST_PROJECT_FILES : MOST_FILES;
    if (names.length <= most) return names;
    const message = `${dir} holds more than ${most} names of this kind. The others are not looked at.`;
    this.#report(diagnostic('too-large', message, { path: dir }));
    return names.slice(0, most);
  }

  list(dir: string): Promise<readonly string[]> {
    const { join, sep } = this.#path;
    return this.#recall('names', join(dir, sep), async () => {
      try {
        const value = await this.#host.files.list(dir);
        return { value, diagnostics: [], isGood: value.length > 0 };
      } catch (error) {
        expectFileError(error);
        const message = `The directory ${dir} cannot be read: ${codeOf(error)}.`;
        const fault = diagnostic('unreadable', message, { path: dir });
        return isLoop(error) ? gone([], fault) : broken([], fault);
      }
    });
  }

  /** True if the directory lists the name; a directory that may not be read has no names. */
  isThere(path: string): Promise<boolean> {
    const { basename, dirname } = this.#path;
    return this.#recall('presence', path, async () => {
      const names = await this.#looked(this.#host.files.list(dirname(path)), []);
      return plain(names.includes(basename(path)));
    });
  }

  /** True if only this user can have written the file; false if its status cannot be read. */
  isPrivate(path: string): Promise<boolean> {
    const { files } = this.#host;
    return this.#recall('privacy', path, async () => {
      await this.realpath(path);
      return plain(await this.#looked(files.isPrivate?.(path) ?? Promise.resolve(true), false));
    });
  }

  realpath(path: string): Promise<string> {
    return this.#recall('realpath', path, async () => plain(await this.#looked(this.#host.files.realpath(path), path)));
  }

  /** Returns `otherwise` if the path cannot be read. An error that is not about the path fails the discovery. */
  async #looked<Found>(look: Promise<Found>, otherwise: Found): Promise<Found> {
    try {
      return await look;
    } catch (error) {
      expectPathError(error);
      return otherwise;
    }
  }

  /** Reads and parses a file; for a project's file the size limit is lower. */
  read(path: string, syntax: Syntax, isOfProject = false): Promise<DocumentReading> {
    const known = this.#readings.get(path);
    if (known !== undefined) return known;
    const most = isOfProject ? MOST_PROJECT_BYTES : MOST_CONFIG_BYTES;
    const reading = this.#recall(
      syntax,
      path,
      () => this.#readFile({ path, syntax, most }),
      (origin) => readingOf(origin as Origin, path, syntax),
    );
    this.#readings.set(path, reading);
    return reading;
  }

  async parse(text: string, path: string, syntax: Syntax): Promise<DocumentReading> {
    try {
      const document = await documentOf({ text, path, syntax }, this.#report);
      return { kind: 'document', realpath: path, document };
    } catch (error) {
      this.#report(faultOf(path, error));
      return { kind: 'unusable', path };
    }
  }

  /** The text of a file that another file refers to; undefined, with a report, if there is none. */
  async readText(path: string, isOfProject = false): Promise<string | undefined> {
    const { value, diagnostics } = await this.#textAt(path, isOfProject);
    for (const found of diagnostics) this.#report(found);
    return value;
  }

  #textAt(path: string, isOfProject: boolean): Promise<Observation<string | undefined>> {
    const most = isOfProject ? MOST_PROJECT_BYTES : MOST_CONFIG_BYTES;
    const missing = diagnostic('missing-file', `${path} is referred to, and cannot be read.`, { path });
    const observe = async (): Promise<Observation<string | undefined>> => {
      try {
        const bytes = await this.#bytesOf(path, most);
        if (bytes === undefined) return { value: undefined, diagnostics: [missing], isGood: false };
        await this.realpath(path);
        return { value: textOf(bytes, path, () => undefined, most), diagnostics: [], isGood: true };
      } catch (error) {
        return isGone(error) ? gone(undefined, missing) : broken(undefined, missing);
      }
    };
    const revive = (origin: unknown): Promise<string | undefined> =>
      Promise.resolve(typeof origin === 'string' ? origin : undefined);
    return this.#visit.recall('text', path, { observe, revive });
  }

  /** The text of a file that may be missing, or be something else. */
  async peek(path: string, isOfProject = false): Promise<string | undefined> {
    const { value } = await this.#textAt(path, isOfProject);
    return value;
  }

  async #recall<Name extends Aspect>(
    aspect: Name,
    path: string,
    observe: () => Promise<Observation<Aspects[Name]>>,
    revive = (origin: unknown): Promise<Aspects[Name]> => Promise.resolve(origin as Aspects[Name]),
  ): Promise<Aspects[Name]> {
    const { value, diagnostics } = await this.#visit.recall(aspect, path, { observe, revive });
    for (const found of diagnostics) this.#report(found);
    return value;
  }

  async #readFile({ path, syntax, most }: Asked): Promise<Observation<DocumentReading>> {
    const diagnostics: Diagnostic[] = [];
    const report = (found: Diagnostic): void => void diagnostics.push(found);
    try {
      const bytes = await this.#bytesOf(path, most);
      if (bytes === undefined) return { value: { kind: 'absent' }, diagnostics, isGood: false };
      const realpath = await this.realpath(path);
      const { text, document } = await this.#documentIn(
        textOf(bytes, path, report, most),
        { path, syntax, most },
        report,
      );
      const origin: Origin = { text, realpath };
      return { value: { kind: 'document', realpath, document }, diagnostics, isGood: true, origin };
    } catch (error) {
      const unusable = { kind: 'unusable', path } as const;
      const fault = faultOf(path, error);
      // An empty file is invalid JSON, but valid in the other formats.
      if (isGone(error) || (fault.code === 'empty' && syntax !== 'json'))
        return { value: unusable, diagnostics: [...diagnostics, fault], isGood: false };
      return { ...broken(unusable, fault), diagnostics };
    }
  }

  async #documentIn(text: string, place: Asked, report: Report): Promise<{ text: string; document: Document }> {
    await this.#turn();
    try {
      return { text, document: await documentOf({ text, ...place }, report) };
    } catch (error) {
      const later = await this.#textLater(place, text);
      if (later === undefined) throw error;
      return { text: later, document: await documentOf({ text: later, ...place }, report) };
    }
  }

  /** Reads a broken file again after a pause, if it has changed. */
  async #textLater({ path, most }: Asked, before: string): Promise<string | undefined> {
    if (this.#pause === undefined) return undefined;
    await this.#pause(HALF_WRITTEN_MS);
    const bytes = await this.#bytesOf(path, most).catch(() => undefined); // then the first fault is reported
    const text = bytes && textIn(bytes, path, most);
    return text === before ? undefined : text;
  }

  /** Runs one parser at a time, and lets other work run in between. */
  #turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(nextTurn);
    return this.#lastTurn;
  }

  async #bytesOf(path: string, most: number): Promise<Uint8Array | undefined> {
    try {
      return await this.#host.files.read(path, most);
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
      expectFileError(error);
      throw refusal(path, error, most);
    }
  }
}

/** The text of a document, and the real path of its file. */
interface Origin {
  readonly text: string;
  readonly realpath: string;
}

async function readingOf({ text, realpath }: Origin, path: string, syntax: Syntax): Promise<DocumentReading> {
  const document = await documentOf({ text, path, syntax }, () => undefined);
  return { kind: 'document', realpath, document };
}

function plain<Value>(value: Value): Observation<Value> {
  return { value, diagnostics: [], isGood: false };
}

function broken<Value>(value: Value, fault: Diagnostic): Observation<Value> {
  return { value, diagnostics: [], isGood: false, fault };
}

/** Handles a broken link like a missing file, but reports it. */
function gone<Value>(value: Value, fault: Diagnostic): Observation<Value> {
  return { value, diagnostics: [fault], isGood: false };
}

function isGone(error: unknown): boolean {
  return error instanceof SourceFault && error.isGone;
}

/** True for circular links: they lead nowhere, and waiting does not help. */
function isLoop(error: unknown): boolean {
  return codeOf(error) === 'ELOOP';
}

function textIn(bytes: Uint8Array, path: string, most: number): string | undefined {
  try {
    return textOf(bytes, path, () => undefined, most);
  } catch (error) {
    if (error instanceof SourceFault) return undefined;
    throw error;
  }
}

function faultOf(path: string, error: unknown): Diagnostic {
  if (error instanceof SourceFault) return error.diagnostic;
  if (error instanceof SyntaxFault) {
    const place = `${path}:${error.line}:${error.column}: ${error.message}`;
    return diagnostic('parse', `${place}. Correct the file. ${LOST}`, { path });
  }
  throw error;
}

function refusal(path: string, error: unknown, most: number): SourceFault {
  const code = FAILURES[codeOf(error) ?? ''] ?? 'unreadable';
  const problem = { 'not-a-file': 'is not a file', 'too-large': `is larger than ${sizeWords(most)}` }[code as string];
  return new SourceFault(
    code,
    `${path} ${problem ?? `cannot be read: ${codeOf(error)}`}. ${LOST}`,
    path,
    isLoop(error),
  );
}

/** Errors of the machine, not of a path: too many open files, or no memory. */
const EXHAUSTED: readonly unknown[] = ['EMFILE', 'ENFILE', 'ENOMEM'];

function expectPathError(error: unknown): void {
  expectFileError(error);
  if (EXHAUSTED.includes(codeOf(error))) throw error;
}

/** Accepts errors of the file system. Any other error is ours, and must not be reported as the file's. */
function expectFileError(error: unknown): void {
  if (codeOf(error) === undefined) throw error;
}

function codeOf(error: unknown): string | undefined {
  const { code } = membersOf(error);
  return typeof code === 'string' ? code : undefined;
}

/** The size limit for a project's file: its author must not be able to occupy the parser for long. */
const MOST_PROJECT_BYTES = 256 * 1024;

function sizeWords(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes / 1024} KB` : `${bytes / 1024 / 1024} MB`;
}

/** The end of the message about a file if no earlier content is known. */
export const LOST = 'Nothing of it is used.';

/** A file that exists but cannot be read. */
class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly diagnostic: Diagnostic;
  /** True if the file has gone: then no earlier content is used. */
  readonly isGone: boolean;

  constructor(code: DiagnosticCode, message: string, path: string, isGone = false) {
    super(message);
    this.isGone = isGone;
    this.diagnostic = diagnostic(code, message, { path });
  }
}

/** Decodes the content. Throws a SourceFault if it is not text. */
function textOf(bytes: Uint8Array, path: string, report: Report, most = MOST_CONFIG_BYTES): string {
  const refuse = (code: DiagnosticCode, message: string): SourceFault => new SourceFault(code, message, path);
  if (bytes.length > most) throw refuse('too-large', `${path} is larger than ${sizeWords(most)}. ${LOST}`);
  const wide = wideEncodingOf(bytes);
  if (wide !== undefined) throw refuse('encoding', `${path} is in ${wide}. Save it as UTF-8. ${LOST}`);
  if (!isUtf8(bytes)) throw refuse('encoding', `${path} is not UTF-8. Save it as UTF-8. ${LOST}`);
  const decoded = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const text = decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
  if (text.trim() === '') throw refuse('empty', `${path} is empty.`);
  if (text !== decoded)
    report(diagnostic('bom', `${path} begins with a byte order mark, which some clients do not take.`, { path }));
  return text;
}

function wideEncodingOf(bytes: Uint8Array): string | undefined {
  const [first, second, third, fourth] = bytes;
  if (first === 0xff && second === 0xfe) return 'UTF-16';
  if (first === 0xfe && second === 0xff) return 'UTF-16';
  // Without a byte order mark, zero bytes in the first two letters show the encoding.
  if (bytes.length >= 4 && (first === 0) !== (second === 0) && (third === 0) !== (fourth === 0)) return 'UTF-16';
  return undefined;
}
