// What passes unread, against a twin that reads everything at once: after any order of requests, answers, confirmations and
// looks, both know the same requests as open. Bytes are cut into chunks at random.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OpenRequests } from '../../../src/client/open-requests.ts';
import { SessionStream } from '../../../src/client/session-stream.ts';
import { UnreadTraffic } from '../../../src/client/unread-traffic.ts';

/** Both ends of a session: the client's side under test, and a daemon and a twin that know all. */
class Session {
  readonly stream = new SessionStream();
  readonly requests = new OpenRequests();
  readonly traffic = new UnreadTraffic(this.stream, this.requests);
  /** By id: the frame, and the place where it ends. */
  readonly open = new Map<number | string, { readonly text: string; readonly place: number }>();
  /** Frames that one read of the client's bytes brought. */
  #chunk: string[] = [];

  constructor() {
    this.stream.begin();
    this.stream.agree('token');
  }

  request(id: number | string, padding: number, isPlain: boolean): void {
    if (this.open.has(id)) return;
    const text = isPlain
      ? `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"text":"${'x'.repeat(padding)}"}}`
      : `{"params":{"text":"${'x'.repeat(padding)}"}, "method":"tools/call" , "id":${JSON.stringify(id)},"jsonrpc":"2.0"}`;
    this.#say(text);
    this.open.set(id, { text, place: this.stream.sentBytes + this.#chunkBytes });
  }

  get #chunkBytes(): number {
    return Buffer.byteLength(this.#chunk.join(''));
  }

  #say(text: string): void {
    this.#chunk.push(`${text}\n`);
  }

  cancel(id: number | string): void {
    this.#say(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${JSON.stringify(id)},"reason":"x"}}`,
    );
    this.open.delete(id);
  }

  /** The client's chunk passes, in one piece or in two that divide a frame. */
  flush(cut: number): void {
    if (this.#chunk.length === 0) return;
    const bytes = Buffer.from(this.#chunk.join(''));
    this.#chunk = [];
    this.traffic.begin();
    const at = cut % bytes.length;
    if (at > 0) this.stream.sent(bytes.subarray(0, at));
    this.stream.sent(bytes.subarray(at));
    this.traffic.sent();
  }

  answer(id: number | string, how: 'result' | 'error' | 'behind' | 'head'): void {
    this.flush(0);
    if (!this.open.delete(id)) return;
    const idText = JSON.stringify(id);
    if (how === 'head') return this.traffic.answeredAs(idText, true);
    const line = {
      result: `{"jsonrpc":"2.0","id":${idText},"result":{"content":[]}}\n`,
      error: `{"jsonrpc":"2.0","id":${idText},"error":{"code":-32000,"message":"no"}}\n`,
      behind: `{"result":{ "id":17, "content":[]},"jsonrpc":"2.0","id":${idText}}\n`,
    }[how];
    const bytes = Buffer.from(`....${line}`);
    this.traffic.answered(bytes, 4, bytes.length);
    bytes.fill(0); // the block is read into again
  }

  /** The daemon confirms what it had read when so many requests of the client were still to come. */
  confirm(isPlain: boolean): void {
    this.flush(0);
    const { sentBytes } = this.stream;
    if (this.traffic.isEmpty) return void this.stream.acknowledged(sentBytes);
    if (isPlain) this.traffic.settle();
    else
      this.traffic.confirmed(
        sentBytes,
        [...this.open.values()].map(({ place }) => place),
      );
    this.stream.acknowledged(sentBytes);
  }

  /** The requests that the client's side finds open, in order, as frames. */
  found(): string[] {
    this.flush(0);
    this.traffic.settle();
    return this.requests.all().map(({ b, start, end, position }) => `${position} ${b.toString('utf8', start, end)}`);
  }

  /** The same by the twin. */
  known(): string[] {
    return [...this.open.values()]
      .sort((one, other) => one.place - other.place)
      .map((one) => `${one.place} ${one.text}`);
  }
}

const id = fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom('a', 'b', 'c'));
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('request' as const), id, fc.nat(300), fc.boolean()) },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constant('answer' as const), id, fc.constantFrom('result', 'error', 'behind', 'head')),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constant('cancel' as const), id) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('flush' as const), fc.nat(2000)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('confirm' as const), fc.boolean()) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('look' as const)) },
);

describe('traffic that passes unread', () => {
  test('leaves open exactly the requests that a twin finds which reads everything', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const session = new Session();
        for (const one of steps) {
          if (one[0] === 'request') session.request(one[1], one[2], one[3]);
          else if (one[0] === 'answer') session.answer(one[1], one[2] as 'result');
          else if (one[0] === 'cancel') session.cancel(one[1]);
          else if (one[0] === 'flush') session.flush(one[1]);
          else if (one[0] === 'confirm') session.confirm(one[1]);
          else expect(session.found()).toEqual(session.known());
        }
        expect(session.found()).toEqual(session.known());
      }),
      { numRuns: 600 },
    );
  });

  test('is read when a confirmation names a place where no frame ends, or a request that it cannot know', () => {
    for (const wrong of [[1], [1 << 20], [0]]) {
      const session = new Session();
      session.request(1, 20, true);
      session.request(2, 20, true);
      session.answer(1, 'result');
      session.traffic.confirmed(session.stream.sentBytes, wrong);
      expect(session.traffic.isEmpty).toBe(true);
      expect(session.found()).toEqual(session.known());
    }
  });

  test('is never more than can be kept: beyond that it is read', () => {
    const session = new Session();
    session.request('waits', 10, true);
    for (let n = 1; n < 6000; n++) {
      session.request(n, 600, true);
      session.answer(n, 'result');
    }
    expect(session.found()).toEqual(session.known());
    expect(session.known()).toHaveLength(1);
  });

  test('keeps a short request that waits long, though its memory is used again', () => {
    const session = new Session();
    session.request('waits', 10, true);
    const known = session.known();
    session.flush(0);
    const memory = session.stream.sentFrom(0)?.[0] as Buffer;
    session.confirm(false);
    expect(session.traffic.leave(memory.buffer)).toBe(true);
    memory.fill(0);
    expect(session.found()).toEqual(known);
  });
});
