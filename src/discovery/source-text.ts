// The text in the bytes of a config file: UTF-8 and nothing else, because a guess would make servers out of garbage.

import { isUtf8 } from 'node:buffer';
import { MOST_CONFIG_BYTES } from '../local/regular-file.ts';
import { type Diagnostic, type DiagnosticCode, diagnostic, type Report } from './diagnostic.ts';

/** Of a file that a project brings: whoever wrote it must not keep everybody else waiting for its parser. */
export const MOST_PROJECT_BYTES = 256 * 1024;

export function sizeWords(bytes: number): string {
  return bytes < 1024 * 1024 ? `${bytes / 1024} KB` : `${bytes / 1024 / 1024} MB`;
}

/** How the message about a file ends where nothing of it was read before. */
export const LOST = 'Nothing of it is used.';

/** There is something, and nothing to read in it. */
export class SourceFault extends Error {
  override readonly name = 'SourceFault';
  readonly diagnostic: Diagnostic;
  /** What was there is there no more: nothing that was read before counts. */
  readonly isGone: boolean;

  constructor(code: DiagnosticCode, message: string, path: string, isGone = false) {
    super(message);
    this.isGone = isGone;
    this.diagnostic = diagnostic(code, message, { path });
  }
}

/** Throws a SourceFault when that is no text, or none at all. */
export function textOf(bytes: Uint8Array, path: string, report: Report, most = MOST_CONFIG_BYTES): string {
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
  // Without a mark, the zero bytes of the first two letters tell.
  if (bytes.length >= 4 && (first === 0) !== (second === 0) && (third === 0) !== (fourth === 0)) return 'UTF-16';
  return undefined;
}
