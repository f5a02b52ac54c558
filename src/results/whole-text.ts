// The text of a kept result as `read_result` counts it: the texts of all parts, joined by newlines. An offset is a
// position in the server's bytes, so any page is found without decoding the text before it.

import type { Span } from '../wire/json-members.ts';
import type { ContentPart } from './content.ts';
import { BETWEEN, widthOf } from './cutting.ts';
import { boundaryIn, characterIn, decodedText, lineEndIn, placeOfUnit } from './json-text.ts';

/** The size of a piece that is decoded at a time: some tenths of a millisecond. */
const PIECE_BYTES = 64 * 1024;
/** The minimum page: a character has at most 12 bytes, so a page is never empty. */
const LEAST_PAGE = 16;

/** Some text, with its own position and that of the next text. */
export interface TextPiece {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** A line, or a piece of a very long one. */
export interface TextLine extends TextPiece {
  /** The length of the beginning that repeats the end of the previous piece. */
  readonly repeated: number;
}

/**
 * Longer lines come in pieces. Each begins with the end of the previous one, so that no match between two is missed.
 */
const LONGEST_LINE = 16 * 1024;
const OVERLAP = 4096;
const LINE_END = Buffer.from('\\n');

/** A part with its position in the whole text. */
interface PlacedPart {
  readonly part: ContentPart;
  readonly from: number;
  readonly to: number;
}

export class WholeText {
  readonly #b: Buffer;
  readonly #parts: readonly PlacedPart[];
  /** The length of the text. */
  readonly size: number;

  /** A newline must follow the bytes in `b`. */
  constructor(b: Buffer, parts: readonly ContentPart[]) {
    this.#b = b;
    let at = 0;
    this.#parts = parts.map((part) => {
      const from = at;
      at += widthOf(part) + BETWEEN;
      return { part, from, to: at - BETWEEN };
    });
    this.size = Math.max(0, at - BETWEEN);
  }

  /** Yields the text from a position on in pieces, including the newlines between parts. */
  *pieces(from: number): Generator<TextPiece> {
    for (const [i, { part, from: begin, to: end }] of this.#parts.entries()) {
      if (from > end) continue;
      yield* this.#piecesOf(part, begin, Math.max(begin, from));
      if (i < this.#parts.length - 1) yield { text: '\n', from: end, to: end + BETWEEN };
    }
  }

  *#piecesOf(part: ContentPart, begin: number, from: number): Generator<TextPiece> {
    const { kind, read, label } = part;
    if (kind === 'data') {
      yield { text: label.slice(from - begin), from, to: begin + label.length };
      return;
    }
    const offset = begin - read.from;
    let p = this.#boundary(part, part.read.from, from - offset);
    while (p < read.to) {
      const to = this.#boundary(part, p, p + PIECE_BYTES);
      yield { text: this.#decoded(part, p, to), from: p + offset, to: to + offset };
      p = to;
    }
  }

  /**
   * Yields the lines from a position on. Runs of unwanted lines are yielded as one line without text. `wants` tests a
   * text with many lines; most of these have no wanted line, and testing each line takes ten times as long.
   */
  *lines(from: number, wants: (text: string) => boolean): Generator<TextLine> {
    for (const { part, from: begin, to: end } of this.#parts) {
      if (from > end) continue;
      if (part.kind === 'data') yield { text: part.label, from: begin, to: end, repeated: 0 };
      else yield* this.#linesOf(part, begin, Math.max(begin, from), wants);
    }
  }

  *#linesOf(part: ContentPart, begin: number, from: number, wants: (text: string) => boolean): Generator<TextLine> {
    const { read } = part;
    const offset = begin - read.from;
    let wantedUntil = 0;
    let p = this.#boundary(part, part.read.from, from - offset);
    let repeated = 0;
    while (p < read.to) {
      if (repeated === 0 && part.kind === 'text' && p >= wantedUntil) {
        const to = this.#lastLineEnd(p, read);
        wantedUntil = Math.max(p + 1, to);
        if (to > p && !wants(this.#decoded(part, p, to))) {
          yield { text: '', from: p + offset, to: to + offset, repeated };
          p = to;
          continue;
        }
      }
      const lineEnd = part.kind === 'text' ? this.#lineEnd(p, Math.min(p + LONGEST_LINE, read.to), read) : undefined;
      const to = lineEnd ?? this.#boundary(part, p, p + LONGEST_LINE);
      yield { text: this.#decoded(part, p, to), from: p + offset, to: to + offset, repeated };
      if (lineEnd !== undefined || to === read.to) {
        repeated = 0;
        p = lineEnd === undefined ? to : to + LINE_END.length;
      } else {
        p = this.#boundary(part, p, to - OVERLAP);
        repeated = this.#decoded(part, p, to).length;
      }
    }
  }

  /** The position after the last line that ends shortly after `p`; `p` if none does. */
  #lastLineEnd(p: number, read: Span): number {
    const near = this.#b.subarray(p, Math.min(p + PIECE_BYTES, read.to));
    for (let n = near.lastIndexOf(LINE_END); n >= 0; n = n === 0 ? -1 : near.lastIndexOf(LINE_END, n - 1))
      if (boundaryIn(this.#b, p, p + n) === p + n && boundaryIn(this.#b, p, p + n + 1) === p + n)
        return p + n + LINE_END.length;
    return p;
  }

  /** The end of the line that contains `p`, if it is not after `most`. */
  #lineEnd(p: number, most: number, read: Span): number | undefined {
    const near = this.#b.subarray(p, Math.min(most + LINE_END.length, read.to));
    for (let n = near.indexOf(LINE_END); n >= 0; n = near.indexOf(LINE_END, n + 1))
      if (boundaryIn(this.#b, p, p + n) === p + n && boundaryIn(this.#b, p, p + n + 1) === p + n) return p + n;
    return undefined;
  }

  /** The position of a character in a line, given in UTF-16 units from its beginning. */
  offsetIn(line: TextPiece, units: number): number {
    const placed = this.#parts.find(({ from, to }) => from <= line.from && line.to <= to);
    if (placed === undefined || placed.part.kind === 'data') return line.from;
    const offset = placed.from - placed.part.read.from;
    const from = line.from - offset;
    if (placed.part.kind === 'text') return placeOfUnit(this.#b, from, units) + offset;
    return from + Buffer.byteLength(line.text.slice(0, units)) + offset;
  }

  /** The text from a position on, with at most `limit` bytes; ends with a line if possible. */
  page(from: number, limit: number): TextPiece {
    let text = '';
    let to = Math.min(from, this.size);
    let start: number | undefined;
    const most = to + Math.max(LEAST_PAGE, limit);
    for (const piece of this.pieces(to)) {
      start ??= piece.from;
      if (piece.to > most) {
        const { text: last, to: end } = this.#cut(piece, most);
        return { text: text + last, from: start, to: end };
      }
      text += piece.text;
      to = piece.to;
    }
    return { text, from: start ?? to, to };
  }

  /** The beginning of a piece up to a position. */
  #cut(piece: TextPiece, most: number): TextPiece {
    const placed = this.#parts.find(({ from, to }) => from <= piece.from && piece.to <= to);
    if (placed === undefined || placed.part.kind === 'data') return { text: '', from: piece.from, to: piece.from };
    const { part, from: begin } = placed;
    const { read } = part;
    const offset = begin - read.from;
    const p = piece.from - offset;
    const at = most - offset;
    const to = part.kind === 'text' ? lineEndIn(this.#b, p, at) : this.#boundary(part, p, at);
    return { text: this.#decoded(part, p, to), from: piece.from, to: to + offset };
  }

  /**
   * The last position up to `at` where a part's bytes may be cut. `from` must be such a position; a near one is faster.
   */
  #boundary({ kind, read }: ContentPart, from: number, at: number): number {
    if (at >= read.to) return read.to;
    if (kind === 'text') return boundaryIn(this.#b, from, at);
    return characterIn(this.#b, from, at);
  }

  #decoded({ kind }: ContentPart, from: number, to: number): string {
    return kind === 'text' ? decodedText(this.#b, from, to) : this.#b.toString('utf8', from, to);
  }
}
