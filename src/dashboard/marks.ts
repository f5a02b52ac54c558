// The pieces of a text of others: what is seen as it stands, and a mark for what cannot be seen. Nothing of the text is lost, and the marks
// are few. No browser in it.

import { printable, seenPieces } from '../util/printable.ts';

/** Stands for so many of one character that cannot be seen. */
export interface Mark {
  readonly code: string;
  readonly times: number;
}

/** Each mark is an element of the page. What comes after these is spelled out in plain text. */
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
