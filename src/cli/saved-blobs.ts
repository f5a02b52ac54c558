// `--out`: writes images, audio and files of an answer, or its text, to files or stdout. We choose the file names; the
// server's names are ignored.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { type Blob, blobLine, sizeOf } from './render/call-result.ts';
import { printable } from './render/table.ts';
import { wrongUsage } from './tool-session.ts';

const ENDINGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'application/gzip': 'gz',
    'application/json': 'json',
    'application/pdf': 'pdf',
    'application/zip': 'zip',
    'audio/mpeg': 'mp3',
    'audio/ogg': 'ogg',
    'audio/wav': 'wav',
    'image/gif': 'gif',
    'image/jpeg': 'jpg',
    'image/png': 'png',
    'image/svg+xml': 'svg',
    'image/webp': 'webp',
    'text/csv': 'csv',
    'text/html': 'html',
    'text/plain': 'txt',
  }),
);

export const STDOUT = '-';

/** Checks the target before the call, so that the answer is not lost because a directory is missing. */
export function checkOut(out: string | undefined, cwd: string): void {
  if (out === undefined) return;
  if (typeof out !== 'string' || out === '') throw wrongUsage('call', '--out must name a file or a directory, or be -');
  if (out === STDOUT) return;
  const dir = dirname(resolve(cwd, out));
  if (!isDirectory(dir)) throw wrongUsage('call', `--out: there is no directory ${dir}`);
}

/** Saves one to `out`, unless that is a directory; several into the directory. Returns a line about each. */
export function saveBlobs(blobs: readonly Blob[], out: string, cwd: string): string[] {
  const path = resolve(cwd, out);
  const goesInto = blobs.length > 1 || namesDirectory(out, path);
  const hint = blobs.length > 1 ? 'There are several, so --out must be a directory.' : '--out says where it goes.';
  return blobs.map((blob, i) => {
    const file = goesInto ? join(path, `${i + 1}.${ENDINGS.get(blob.mimeType) ?? 'bin'}`) : path;
    write(file, blob.bytes, hint);
    return `${blobLine(blob)}, is now ${printable(file)}`;
  });
}

/** Saves to `out`, or into that directory as a new file. Returns a line about it. */
export function saveText(text: string, out: string, cwd: string): string {
  const path = resolve(cwd, out);
  const file = namesDirectory(out, path) ? join(path, '1.txt') : path;
  const bytes = Buffer.from(text);
  write(file, bytes, '--out says where it goes.');
  return `text, ${sizeOf(bytes.length)}, is now ${printable(file)}`;
}

function write(file: string, bytes: Buffer, hint: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  } catch (error) {
    const why = systemCode(error) ?? 'unknown error';
    throw new BridgeError('FILE_UNUSABLE', `Cannot write ${file}: ${why}`, { hint, cause: error });
  }
}

function namesDirectory(out: string, path: string): boolean {
  return out.endsWith('/') || isDirectory(path);
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
