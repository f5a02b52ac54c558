// The file in which letters wait for the next daemon of the same socket. A daemon that goes in order writes it, whole; the
// next one removes it before it gives anything of it to anybody, so that no letter is read twice, whatever dies. Who has
// the lock of the socket's path is the only one that touches it.

import { dirname } from 'node:path';
import type { Letter } from '../core/agents/mailbox.ts';
import {
  countsOf,
  type KeptLetters,
  type KeptMailbox,
  MOST_UNCLAIMED_BYTES,
} from '../core/agents/unclaimed-letters.ts';
import { makeTree } from '../local/make-tree.ts';
import { putAsidePrivate, readPrivate, removePrivate, writePrivate } from '../local/private-file.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord } from '../util/json-value.ts';
import type { Logger } from '../util/logger.ts';

const VERSION = 1;
/** What stands around the mailboxes, at most. */
const FRAME_BYTES = 128;
const MOST_ID = 256;

export class LettersFile {
  readonly #path: string;
  readonly #logger: Logger;
  /** What stands there is another's still. */
  #isUnused = false;

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** What the daemon before has left, which is gone from there. What cannot be used counts as nothing, and is told. */
  takeIn(): KeptLetters | undefined {
    try {
      const text = readPrivate(this.#path, MOST_UNCLAIMED_BYTES);
      if (text === undefined) return undefined;
      const kept = lettersIn(text);
      removePrivate(this.#path);
      this.#tell('letters of the daemon before', kept.mailboxes);
      return kept;
    } catch (error) {
      this.#isUnused = true;
      this.#warn('letters of the daemon before cannot be used', error);
      return undefined;
    }
  }

  /** Never throws: a daemon that cannot keep them ends all the same. */
  keep(kept: KeptLetters): void {
    if (kept.written === 0) return;
    const { text, left } = lettersText(kept);
    try {
      makeTree(dirname(this.#path), 0o700);
      if (this.#isUnused) putAsidePrivate(this.#path, `${this.#path}.unused`);
      writePrivate(this.#path, text);
      this.#tell(
        'letters kept for the next daemon',
        kept.mailboxes.filter((mailbox) => !left.includes(mailbox)),
      );
    } catch (error) {
      this.#warn('letters cannot be kept for the next daemon', error);
    }
    if (left.length > 0) this.#logger.warn('letters are lost: too much waits to be read', countsOf(left));
  }

  #tell(what: string, mailboxes: readonly KeptMailbox[]): void {
    if (mailboxes.length > 0) this.#logger.info(what, countsOf(mailboxes));
  }

  #warn(what: string, error: unknown): void {
    const hint = error instanceof BridgeError ? error.hint : undefined;
    this.#logger.warn(what, { file: this.#path, error: messageOf(error), hint });
  }
}

/** Within its bound, smallest mailboxes first: a flood for one client does not cost others what is for them. */
export function lettersText(
  { written, mailboxes }: KeptLetters,
  mostBytes: number = MOST_UNCLAIMED_BYTES,
): { readonly text: string; readonly left: readonly KeptMailbox[] } {
  const sized = mailboxes.map((mailbox) => ({ mailbox, json: JSON.stringify(mailbox) }));
  const texts: string[] = [];
  const left: KeptMailbox[] = [];
  let room = mostBytes - FRAME_BYTES;
  for (const { mailbox, json } of sized.sort((a, b) => a.json.length - b.json.length)) {
    const bytes = Buffer.byteLength(json) + 1;
    if (bytes > room) left.push(mailbox);
    else {
      room -= bytes;
      texts.push(json);
    }
  }
  return { text: `{"version":${VERSION},"written":${written},"mailboxes":[${texts.join(',')}]}\n`, left };
}

/** Throws what is wrong with it: then nothing of it counts. */
export function lettersIn(text: string): KeptLetters {
  const content = contentOf(text);
  if (!isRecord(content)) throw unusable('it is no object');
  const { version, written, mailboxes } = content;
  if (version !== VERSION) throw unusable(`its version is ${JSON.stringify(version)?.slice(0, 32)}, not ${VERSION}`);
  if (!isCount(written) || !Array.isArray(mailboxes)) throw unusable('it is not what a daemon writes');
  const kept = mailboxes.map((one: unknown) => mailboxOf(one));
  if (new Set(kept.map(({ clientId }) => clientId)).size < kept.length) throw unusable('a client is in it twice');
  return { written, mailboxes: kept };
}

function contentOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    throw unusable('it is not JSON');
  }
}

function mailboxOf(value: unknown): KeptMailbox {
  if (!isRecord(value)) throw unusable('a mailbox is no object');
  const { clientId, sinceMs, letters } = value;
  if (!isId(clientId) || !isCount(sinceMs) || !Array.isArray(letters) || letters.length === 0)
    throw unusable('a mailbox is not what a daemon writes');
  return { clientId, sinceMs, letters: letters.map((one: unknown) => letterOf(one)) };
}

function letterOf(value: unknown): Letter {
  if (!isRecord(value)) throw unusable('a letter is no object');
  const { id, from, time, text, inReplyTo, hops } = value;
  const isSound = isId(id) && isId(from) && isId(time) && typeof text === 'string' && isCount(hops);
  if (!isSound || (inReplyTo !== undefined && !isId(inReplyTo))) throw unusable('a letter is not what a daemon writes');
  return { id, from, time, text, inReplyTo, hops };
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MOST_ID;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function unusable(why: string): BridgeError {
  return new BridgeError('FILE_UNUSABLE', `The letters in it are not read: ${why}`, {
    hint: 'A daemon of another version may have written it; else remove it.',
  });
}
