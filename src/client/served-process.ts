// A stdio server that is offered to the bridge, over one connection after the other. The server is initialized once, by
// the first; what it is asked over one never reaches another: ids and progress tokens say over which connection they came.

import type { Readable, Writable } from 'node:stream';
import { changedFrame } from '../wire/changed-frame.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { type Frame, FrameSplitter } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import type { DialledLink } from './registered-link.ts';
import { marked, unmarked } from './turn-ids.ts';

const MAX_FRAME_BYTES = 512 * 1024 * 1024 - 1024;
const BRIDGE_GONE = '"error":{"code":-32603,"message":"The bridge has gone before it answered"}';

const read = new Envelope();

export class AttachedServer {
  readonly #stdin: Writable;
  readonly #stdout: Readable;
  #link: DialledLink | undefined;
  /** How many connections there have been. */
  #turn = 0;
  /** The server's answer to `initialize`, and under which id it is expected. */
  #hello: string | undefined;
  #helloId: string | undefined;
  /** What the server was asked over this connection, and what it has asked; by their ids towards it, as spelled. */
  readonly #asked = new Set<string>();
  readonly #questions = new Set<string>();

  constructor(stdin: Writable, stdout: Readable) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    const splitter = new FrameSplitter(MAX_FRAME_BYTES, {
      frame: (b, start, end) => this.#fromServer({ b, start, end }),
      overflowed: () => undefined,
      badFrame: () => undefined, // what is no message goes to nobody
    });
    stdout.on('data', (chunk: Buffer) => splitter.push(chunk));
    stdin.on('drain', () => this.#link?.socket.resume());
    stdin.on('error', () => undefined); // its end is heard of where it runs
  }

  /** Serves over this link; resolves when that is closed. */
  serve(link: DialledLink): Promise<void> {
    this.#link = link;
    this.#turn++;
    link.socket.on('drain', () => this.#stdout.resume());
    return new Promise((resolve) => {
      link.listen({
        frame: (frame) => this.#fromBridge(link, frame),
        closed: () => {
          this.#lost();
          resolve();
        },
      });
    });
  }

  /** Nobody waits for what was asked, and nobody answers what the server has asked. */
  #lost(): void {
    this.#link = undefined;
    this.#stdout.resume();
    for (const id of this.#asked)
      if (id !== this.#helloId)
        this.#say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
    for (const id of this.#questions) this.#say(`{"jsonrpc":"2.0","id":${id},${BRIDGE_GONE}}`);
    this.#asked.clear();
    this.#questions.clear();
  }

  // --- towards the server ---

  #fromBridge(link: DialledLink, frame: Frame): void {
    const { b, start, end } = frame;
    if (!read.scan(b, start, end, DEEPEST)) return;
    const method = read.has(Field.method) ? String(read.decode(b, Field.method)) : '';
    if (read.kind === 'response') {
      this.#questions.delete(read.raw(b, Field.id));
      return this.#pass(frame);
    }
    if (read.kind === 'request') return this.#request(link, method, frame);
    if (link.takes(method, () => read.decode(b, Field.params))) return;
    if (method === 'notifications/initialized' && this.#turn > 1 && this.#hello !== undefined) return;
    if (method === 'notifications/cancelled' && read.has(Field.requestId)) {
      const id = this.#marked(read.raw(b, Field.requestId));
      return this.#pass(changedFrame(frame, read.span(Field.requestId), id));
    }
    this.#pass(frame);
  }

  #request(link: DialledLink, method: string, frame: Frame): void {
    const idText = read.raw(frame.b, Field.id);
    if (method === 'initialize') {
      if (this.#hello !== undefined)
        return void link.socket.write(`{"jsonrpc":"2.0","id":${idText},"result":${this.#hello}}\n`);
      this.#helloId = this.#marked(idText);
    }
    const id = this.#marked(idText);
    this.#asked.add(id);
    // From the back to the front, so that the places before stay where they are.
    const changes = [{ span: read.span(Field.id), text: id }];
    if (read.has(Field.metaProgressToken)) {
      const token = this.#marked(read.raw(frame.b, Field.metaProgressToken));
      changes.push({ span: read.span(Field.metaProgressToken), text: token });
    }
    this.#pass(withChanges(frame, changes));
  }

  #marked(text: string): string {
    return marked(this.#turn, text);
  }

  // --- towards the bridge ---

  #fromServer(frame: Frame): void {
    const { b, start, end } = frame;
    if (!read.scan(b, start, end, DEEPEST)) return;
    if (read.kind === 'response') return this.#answer(frame);
    if (read.kind === 'request') return this.#question(frame);
    if (!read.has(Field.progressToken)) return this.#tell(frame);
    const token = this.#ownText(read.raw(b, Field.progressToken));
    if (token !== undefined) this.#tell(changedFrame(frame, read.span(Field.progressToken), token));
  }

  #answer(frame: Frame): void {
    const { b } = frame;
    const id = read.raw(b, Field.id);
    if (id === this.#helloId) {
      this.#helloId = undefined;
      if (read.has(Field.result)) this.#hello = b.toString('utf8', read.from(Field.result), read.to(Field.result));
    }
    const isAsked = this.#asked.delete(id);
    const own = this.#ownText(id);
    if (isAsked && own !== undefined) this.#tell(changedFrame(frame, read.span(Field.id), own));
  }

  #question(frame: Frame): void {
    const id = read.raw(frame.b, Field.id);
    if (this.#link === undefined) return this.#say(`{"jsonrpc":"2.0","id":${id},${BRIDGE_GONE}}`);
    this.#questions.add(id);
    this.#tell(frame);
  }

  /** What was asked over this connection, as it was spelled there. */
  #ownText(text: string): string | undefined {
    return unmarked(this.#turn, text);
  }

  // --- bytes ---

  #pass({ b, start, end }: Frame): void {
    if (!this.#stdin.write(withNewline(b, start, end))) this.#link?.socket.pause();
  }

  #tell({ b, start, end }: Frame): void {
    if (this.#link?.socket.write(withNewline(b, start, end)) === false) this.#stdout.pause();
  }

  #say(line: string): void {
    this.#stdin.write(`${line}\n`);
  }
}

function withChanges(frame: Frame, changes: { readonly span: { from: number; to: number }; readonly text: string }[]) {
  let changed = frame;
  for (const { span, text } of changes.sort((a, b) => b.span.from - a.span.from)) {
    const shift = changed.start - frame.start;
    changed = changedFrame(changed, { from: span.from + shift, to: span.to + shift }, text);
  }
  return changed;
}

function withNewline(b: Buffer, start: number, end: number): Buffer {
  return b[end] === 0x0a ? b.subarray(start, end + 1) : Buffer.concat([b.subarray(start, end), Buffer.from('\n')]);
}
