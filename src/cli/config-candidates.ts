// The config files that there are, and what each of them is for: `serve` takes more from a working directory
// than others do.

import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { type ConfigPlace, directoryFiles, findConfigFile, isProgram, userFiles } from '../config/config-file.ts';

export interface Candidate {
  readonly file: string;
  readonly origin: 'named' | 'directory' | 'user';
  readonly exists: boolean;
  /** True if any command reads anything of it. */
  readonly counts: boolean;
  /** True if only `serve`, and `start` after a yes, may run it. */
  readonly isForeignProgram: boolean;
  readonly reason: string;
}

/** In the order in which they are looked for. Throws if a named one is not there. */
export function candidatesIn(place: ConfigPlace): Candidate[] {
  if (place.named !== undefined) {
    const { file = '' } = findConfigFile(place);
    const counts = { exists: true, counts: true, isForeignProgram: false };
    return [{ file, origin: 'named', ...counts, reason: 'was named, so only this one is used' }];
  }
  const own = directoryFiles({ ...place, runsPrograms: true });
  const users = userFiles(place);
  const [inDirectory, ofUser] = [own, users].map((files) => files.find(existsSync));
  return [
    ...own.map((file) => candidate(file, 'directory', inDirectory, wordsForDirectory(file))),
    ...users.map((file) => candidate(file, 'user', ofUser, wordsForUser(inDirectory))),
  ];
}

function candidate(file: string, origin: Candidate['origin'], first: string | undefined, words: string): Candidate {
  const exists = existsSync(file);
  const counts = file === first;
  const passedOver = `is passed over: ${first === undefined ? '' : basename(first)} stands before it`;
  const reason = !exists ? 'is not there' : counts ? words : passedOver;
  return { file, origin, exists, counts, isForeignProgram: origin === 'directory' && isProgram(file), reason };
}

function wordsForDirectory(file: string): string {
  return isProgram(file)
    ? 'is a program: serve runs it here, start after a yes, nobody else does'
    : 'is used by serve here, and by start after a yes; others take mcpBridge.socketPath and client from it';
}

function wordsForUser(inDirectory: string | undefined): string {
  if (inDirectory === undefined) return 'is used';
  return `is used where ${basename(inDirectory)} is not: by the daemon that connect starts`;
}
