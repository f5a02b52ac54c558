// Splits a text from outside into visible pieces and marks for invisible characters. No text is lost, and the number of
// marks is limited. No browser in it.

import { printable, seenPieces } from '../util/printable.ts';

/** Stands for a run of one invisible character. */
export interface Mark {
  readonly code: string;
  readonly times: number;
}

/** The maximum number of marks, because each is an element. Further ones become plain text. */
const MOST_MARKS = 1000;

export function markedPieces(text: string, keepsLines: boolean): (string | Mark)[] {
  const pieces: (string | Mark)[] = [];
  let marks = 0;
  const put = (piece: string): void => {
    const last = pieces.at(-1);
    if (typeof last === 'string') pieces[pieces.length - 1] = last + piece;
    else pieces.push(piece);
  };
  const all = seenPieces(text);
  for (let i = 0; i < all.length; i++) {
    const { text: one = '', isUnseen = false } = all[i] ?? {};
    if (!isUnseen || (keepsLines && (one === '\n' || one === '\t'))) {
      put(one);
      continue;
    }
    let times = 1;
    for (; all[i + 1]?.text === one; i++) times++;
    if (marks++ < MOST_MARKS) pieces.push({ code: codeOf(one), times });
    else put(times === 1 ? printable(one) : `${printable(one)} ×${times} `);
  }
  return pieces;
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
}
