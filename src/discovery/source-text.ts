// The text in the bytes of a config file: UTF-8 and nothing else, because a guess would make servers out of garbage.

import { isUtf8 } from 'node:buffer';
import { type DiagnosticCode, diagnostic, type Report } from './diagnostic.ts';

export const MOST_BYTES = 5 * 1024 * 1024;

/** Undefined, and reported, when there is nothing to read in it. */
export function textOf(bytes: Uint8Array, path: string, report: Report): string | undefined {
  const refuse = (code: DiagnosticCode, message: string): undefined =>
    report(diagnostic(code, message, { path })) as undefined;
  if (bytes.length > MOST_BYTES) return refuse('too-large', `${path} is larger than 5 MB. Nothing of it is used.`);
  const wide = wideEncodingOf(bytes);
  if (wide !== undefined) return refuse('encoding', `${path} is in ${wide}. Save it as UTF-8: nothing of it is used.`);
  if (!isUtf8(bytes)) return refuse('encoding', `${path} is not UTF-8. Save it as UTF-8: nothing of it is used.`);
  const decoded = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const text = decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
  if (text.trim() === '') return refuse('empty', `${path} is empty.`);
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
