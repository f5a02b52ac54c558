// Lines as bytes, one behind the other, until they are taken all at once. A line is written once, into a block that is used
// again: to put strings together, and encode them later, takes more than twice as long.

const BLOCK_BYTES = 288 * 1024;
/** The most bytes that a character takes in UTF-8. */
const MOST_BYTES = 3;

export class LineBuffer {
  /** Full ones, and lines that fit into none. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #block: Buffer | undefined;
  #used = 0;
  #spare: Buffer | undefined;
  lines = 0;

  get bytes(): number {
    return this.#pieceBytes + this.#used;
  }

  add(line: string): void {
    this.lines++;
    const most = line.length * MOST_BYTES;
    if (most > BLOCK_BYTES) return this.#addPiece(Buffer.from(line));
    if (this.#block === undefined || this.#used + most > BLOCK_BYTES) this.#turnPage();
    if (this.#block !== undefined) this.#used += this.#block.utf8Write(line, this.#used);
  }

  #turnPage(): void {
    this.#endBlock();
    this.#block = this.#spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#spare = undefined;
  }

  #addPiece(piece: Buffer): void {
    this.#endBlock();
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
  }

  #endBlock(): void {
    if (this.#block === undefined || this.#used === 0) return;
    this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#pieceBytes += this.#used;
    this.#block = undefined;
    this.#used = 0;
  }

  /** Everything, which is not to be changed before it is given back. */
  take(): Buffer {
    this.#endBlock();
    const [first, ...others] = this.#pieces;
    const taken = first === undefined ? EMPTY : others.length === 0 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.lines = 0;
    return taken;
  }

  /** Takes a buffer back that is not needed any more. */
  giveBack({ buffer, byteOffset }: Buffer): void {
    if (byteOffset === 0 && buffer.byteLength === BLOCK_BYTES) this.#spare = Buffer.from(buffer);
  }
}

const EMPTY = Buffer.alloc(0);
