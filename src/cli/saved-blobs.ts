// `--out`: images, audio and files of an answer, as files. Their names are ours: what a server calls them decides nothing.

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { type Blob, blobLine } from './call-result.ts';
import { printable } from './table.ts';
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

/** Before the call, so that its answer is not lost for want of a directory. */
export function checkOut(out: string | undefined, cwd: string): void {
  if (out === undefined) return;
  const dir = dirname(resolve(cwd, out));
  if (out === '') throw wrongUsage('call', '--out must name a file or a directory');
  if (!isDirectory(dir)) throw wrongUsage('call', `--out: there is no directory ${dir}`);
}

/** One goes to `out`, unless that is a directory; several go into it. Tells of each in a line. */
export function saveBlobs(blobs: readonly Blob[], out: string, cwd: string): string[] {
  const path = resolve(cwd, out);
  const goesInto = blobs.length > 1 || out.endsWith('/') || isDirectory(path);
  return blobs.map((blob, i) => {
    const file = goesInto ? join(path, `${i + 1}.${ENDINGS.get(blob.mimeType) ?? 'bin'}`) : path;
    try {
      if (goesInto) mkdirSync(path, { recursive: true });
      writeFileSync(file, blob.bytes);
    } catch (error) {
      const why = systemCode(error) ?? 'unknown error';
      throw new BridgeError('FILE_UNUSABLE', `Cannot write ${file}: ${why}`, {
        hint: blobs.length > 1 ? 'There are several, so --out must be a directory.' : '--out says where it goes.',
        cause: error,
      });
    }
    return `${blobLine(blob)}, is now ${printable(file)}`;
  });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
