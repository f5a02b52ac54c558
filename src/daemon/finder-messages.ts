// What the daemon and the process that looks for servers say to each other: JSON, a line each, on the pipes between them
// and nowhere else, as there are secrets in it.

import type { Readable, Writable } from 'node:stream';
import type { FindAnswer, FindRequest } from '../discovery/finding.ts';
import type { KeptChange } from '../discovery/kept-sources.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';

export type ToFinder =
  /** What earlier processes have kept. */
  | { readonly what: 'remember'; readonly kept: readonly (readonly [key: string, packed: string])[] }
  | { readonly what: 'find'; readonly id: number; readonly request: FindRequest }
  /** The paths that it asked about under this number are watched. */
  | { readonly what: 'watching'; readonly turn: number }
  | { readonly what: 'changed'; readonly paths: readonly string[] }
  | { readonly what: 'refresh'; readonly everything: boolean }
  | { readonly what: 'leave'; readonly dir: string }
  /** Whoever is asked answers with `settled`. */
  | { readonly what: 'settle'; readonly dirs: readonly string[] };

export type FromFinder =
  /** It is not of this daemon's version, and does nothing. */
  | { readonly what: 'other-version'; readonly version: string }
  /** It reads them once they are watched. */
  | { readonly what: 'asked'; readonly turn: number; readonly paths: readonly string[] }
  | {
      readonly what: 'found';
      readonly id: number;
      readonly answer: FindAnswer;
      /** The paths that it depends on. */
      readonly paths: readonly string[];
      readonly kept: readonly KeptChange[];
    }
  | { readonly what: 'failed'; readonly id: number; readonly message: string }
  /** All paths that count. */
  | { readonly what: 'settled'; readonly paths: readonly string[]; readonly kept: readonly KeptChange[] };

export function send(stream: Writable, message: ToFinder | FromFinder): void {
  stream.write(`${JSON.stringify(message)}\n`);
}

/** Both are of one build, so what comes is what was sent. */
export function receive<Message extends ToFinder | FromFinder>(stream: Readable, heard: (message: Message) => void) {
  const splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
    frame: (b, start, end) => heard(JSON.parse(b.toString('utf8', start, end)) as Message),
    overflowed: () => undefined,
    badFrame: () => undefined,
  });
  stream.on('data', (chunk: Buffer) => splitter.push(chunk));
}
