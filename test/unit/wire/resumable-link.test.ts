// A resumable link against the slowest peer that there is: it keeps everything, and every byte either way arrives, or is
// lost, as the test says. Whatever drops where, each message comes once and in order, or going on is refused.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Frame, FrameSplitter } from '../../../src/wire/frame-splitter.ts';
import type { Carrier, CarrierHandler, LinkHandler } from '../../../src/wire/link.ts';
import { type ByteSink, FlushTurn, Outbox } from '../../../src/wire/outbox.ts';
import { ResumableLink } from '../../../src/wire/resumable-link.ts';
import { ManualTurn } from '../../support/recording-sink.ts';
import { runs } from '../../support/runs.ts';

/** A connection of which the test moves every byte. */
class ByHand implements Carrier, ByteSink {
  readonly outbox: Outbox;
  #handler: LinkHandler | undefined;
  #counter: CarrierHandler | undefined;
  #splitter: FrameSplitter | undefined;
  /** On its way to the peer. */
  down: Buffer = Buffer.alloc(0);
  isClosed = false;

  constructor(turn: FlushTurn) {
    this.outbox = new Outbox(this, turn);
  }
  start(handler: LinkHandler): void {
    this.#handler = handler;
    this.#splitter = new FrameSplitter(1 << 20, handler);
  }
  handTo(handler: CarrierHandler, { b, end }: Frame): number {
    this.#handler = handler;
    this.#counter = handler;
    this.#splitter?.handTo(handler);
    return this.#splitter?.bytesBehind(b, end) ?? 0;
  }
  get heldBytes(): number {
    return this.#splitter?.heldBytes ?? 0;
  }
  /** These have come from the peer. */
  up(bytes: Buffer): void {
    if (this.isClosed || bytes.length === 0) return;
    const counter = this.#counter;
    this.#splitter?.push(Buffer.from(bytes));
    counter?.read(bytes.length);
  }
  break(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#handler?.closed();
  }
  pause(): void {
    this.#handler?.drained();
  }
  resume(): void {
    this.#handler?.drained();
  }
  end(): void {
    this.isClosed = true;
  }
  destroy(): void {
    this.isClosed = true;
  }
  write(bytes: Uint8Array): boolean {
    if (!this.isClosed) this.down = Buffer.concat([this.down, bytes]);
    return true;
  }
  cork(): void {
    expect(this.outbox).toBeDefined();
  }
  uncork(): void {
    expect(this.outbox).toBeDefined();
  }
  get writableLength(): number {
    return 0;
  }
}

const linesOf = (bytes: Buffer): string[] => bytes.toString('latin1').split('\n').slice(0, -1);
const isNotice = (line: string): boolean => line.includes('bridge/received');
const receivedIn = (line: string): number => (JSON.parse(line) as { params: { bytes: number } }).params.bytes;

class World {
  readonly #turn = new ManualTurn();
  readonly #flushes = new FlushTurn(this.#turn.defer);
  link: ResumableLink | undefined;
  carrier: ByHand;
  drops = 0;
  // The daemon's side.
  readonly said: string[] = [];
  readonly heard: string[] = [];
  // The peer's side: everything that it has ever sent or got behind the handshake.
  sent: Buffer = Buffer.alloc(0);
  got: Buffer = Buffer.alloc(0);
  /** What of `sent` is on its way, or has come. */
  #uploaded = 0;
  #handshake: Buffer = Buffer.alloc(0);
  #isGreeted = false;
  #count = 0;

  constructor(mostKept: number) {
    this.carrier = new ByHand(this.#flushes);
    const { carrier } = this;
    carrier.start({
      frame: (b, start, end) => {
        this.link = new ResumableLink(carrier, { b, start, end }, { handler: this.#handler(), mostKept });
        this.link.outbox.latin1('hello');
        this.link.outbox.endFrame();
        this.link.keep();
      },
      ...this.#nothing(),
    });
  }
  #nothing() {
    const not = (): void => undefined;
    return { overflowed: not, badFrame: not, ended: not, closed: not, drained: not };
  }
  #handler() {
    return {
      ...this.#nothing(),
      frame: (b: Buffer, start: number, end: number) => {
        const line = b.toString('latin1', start, end);
        if (!isNotice(line)) this.heard.push(line);
        else expect(this.link?.acknowledge(receivedIn(line))).toBe(true);
      },
      dropped: () => void this.drops++,
      heard: () => undefined,
      grown: () => undefined,
    };
  }

  /** The first bytes of the peer, cut anywhere; what it says behind them may come along. */
  greet(cut: number): void {
    const first = Buffer.concat([Buffer.from('initialize\n'), this.sent]);
    this.carrier.up(first.subarray(0, cut));
    this.carrier.up(first.subarray(cut));
    this.#uploaded = this.sent.length;
    this.turn();
  }
  say(bytes: number, times: number): void {
    for (let i = 0; i < times; i++) {
      const text = `d${++this.#count}-${'x'.repeat(bytes)}`;
      this.said.push(text);
      this.link?.outbox.latin1(text);
      this.link?.outbox.endFrame();
    }
  }
  turn(): void {
    this.#turn.end();
  }
  send(bytes: number, times: number): void {
    const texts: string[] = [];
    for (let i = 0; i < times; i++) texts.push(`p${++this.#count}-${'y'.repeat(bytes)}${i % 3 === 1 ? '\r' : ''}\n`);
    if (bytes === 0) texts.push('\n');
    this.sent = Buffer.concat([this.sent, Buffer.from(texts.join(''))]);
  }
  /** So many bytes of what is on its way come in. */
  upload(bytes: number): void {
    if (!this.#isGreeted || this.carrier.isClosed) return;
    const to = Math.min(this.sent.length, this.#uploaded + bytes);
    this.carrier.up(this.sent.subarray(this.#uploaded, to));
    this.#uploaded = to;
  }
  download(bytes: number): void {
    if (this.carrier.isClosed) return; // what was on its way is lost
    const come = this.carrier.down.subarray(0, bytes);
    this.carrier.down = this.carrier.down.subarray(come.length);
    if (this.#isGreeted) this.got = Buffer.concat([this.got, come]);
    else {
      this.#handshake = Buffer.concat([this.#handshake, come]);
      const end = this.#handshake.indexOf(10);
      if (end < 0) return;
      this.#onGreeting(this.#handshake.toString('latin1', 0, end));
      this.got = Buffer.concat([this.got, this.#handshake.subarray(end + 1)]);
    }
  }
  #onGreeting(line: string): void {
    this.#isGreeted = true;
    if (line !== 'hello') this.#uploaded = Number(line);
  }
  acknowledge(): void {
    const bytes = this.got.lastIndexOf(10) + 1;
    const notice = `{"method":"bridge/received","params":{"bytes":${bytes}}}\n`;
    this.sent = Buffer.concat([this.sent, Buffer.from(notice)]);
  }
  #forgetUnfinished(): void {
    this.got = this.got.subarray(0, this.got.lastIndexOf(10) + 1);
    this.#handshake = Buffer.alloc(0);
    this.#isGreeted = false;
  }
  drop(): void {
    this.#forgetUnfinished();
    this.carrier.break();
  }
  /** Comes back, also while the daemon takes the old connection for alive; why not, if it must not. */
  resume(cut: number): string | undefined {
    this.#forgetUnfinished();
    const carrier = new ByHand(this.#flushes);
    let why: string | undefined;
    carrier.start({
      ...this.#nothing(),
      frame: (b, start, end) => {
        const { link } = this;
        if (link === undefined) return;
        const received = Number(b.toString('latin1', start, end));
        why = link.whyNotFrom(received);
        if (why !== undefined) return;
        carrier.outbox.latin1(`${link.receivedBytes}`);
        carrier.outbox.endFrame();
        link.goOn(carrier, { b, start, end }, received);
      },
    });
    const first = Buffer.from(`${this.got.length}\n`);
    carrier.up(first.subarray(0, cut));
    carrier.up(first.subarray(cut));
    if (why === undefined) this.carrier = carrier;
    return why;
  }

  check(): void {
    this.turn();
    this.download(1 << 30);
    this.upload(1 << 30);
    this.turn();
    this.download(1 << 30);
    const got = linesOf(this.got);
    expect(got.filter((line) => !isNotice(line))).toEqual(this.said);
    for (const line of got.filter(isNotice)) expect(receivedIn(line)).toBeLessThanOrEqual(this.sent.length);
    const sent = linesOf(this.sent).map((line) => line.replace('\r', ''));
    expect(this.heard).toEqual(sent.filter((line) => line !== '' && !isNotice(line)));
    expect(this.link?.receivedBytes).toBe(this.sent.length);
  }
}

const action = fc.constantFrom('say' as const, 'send' as const);
const bytes = fc.oneof(fc.nat(40), fc.nat(2000), fc.constant(1 << 30));
const step = fc.oneof(
  fc.tuple(action, fc.nat(30), fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(300))),
  fc.tuple(action, fc.constantFrom(5000, 20_000), fc.constant(1)),
  fc.tuple(fc.constantFrom('upload' as const, 'download' as const), bytes, fc.constant(0)),
  fc.tuple(fc.constantFrom('turn' as const, 'acknowledge' as const, 'drop' as const), fc.constant(0), fc.constant(0)),
  fc.tuple(fc.constant('resume' as const), fc.nat(8), fc.constant(0)),
);

describe('a link that can be resumed', () => {
  test('brings each message once and in order, wherever connections break', () => {
    fc.assert(
      fc.property(
        fc.nat(14),
        fc.nat(3),
        fc.constantFrom(0, 400, 1 << 30),
        fc.array(step, { maxLength: 60, size: 'max' }),
        (cut, early, mostKept, steps) => {
          const world = new World(mostKept);
          if (early > 0) world.send(early, early);
          world.greet(cut);
          for (const [what, n, times] of steps) {
            if (what === 'say' || what === 'send') world[what](n, times);
            else if (what === 'upload' || what === 'download') world[what](n);
            else if (what === 'resume') {
              const why = world.resume(n);
              const kept = world.link?.keptBytes ?? 0;
              // What was let go is what must be said; of all else nothing is missing.
              if (why !== undefined) {
                expect(why).toMatch(/is not kept any more$/);
                expect(kept).toBeGreaterThanOrEqual(mostKept);
                expect(mostKept).toBeLessThan(1 << 30);
                return;
              }
            } else world[what]();
          }
          if (world.resume(3) !== undefined) {
            expect(mostKept).toBeLessThan(1 << 30);
            return;
          }
          world.check();
          expect(world.link?.keptBytes).toBeLessThanOrEqual(Math.max(mostKept, 0) + (1 << 25));
        },
      ),
      { numRuns: runs(3000) },
    );
  });

  test('refuses what was never sent, what ends no message, and what it does not keep any more', () => {
    const world = new World(10);
    world.greet(3);
    world.say(20_000, 3);
    world.turn();
    const { link } = world;
    expect(link?.whyNotFrom(10_000_000)).toMatch(/^No more than \d+ bytes were sent/);
    expect(link?.whyNotFrom(0)).toMatch(/not kept any more$/);
    expect(link?.acknowledge(10_000_000)).toBe(false);
    const fresh = new World(1 << 20);
    fresh.greet(3);
    fresh.say(3, 1);
    expect(fresh.link?.whyNotFrom(2)).toBe('No message ends at byte 2');
    expect(fresh.link?.whyNotFrom(7)).toBe(undefined);
  });

  test('says that it has lost something only if nobody can have it', () => {
    const world = new World(100);
    world.greet(3);
    world.say(20_000, 2);
    world.turn();
    world.drop();
    expect(world.link?.hasLost).toBe(false); // it may all have come
    world.say(20_000, 3);
    world.turn();
    expect(world.link?.hasLost).toBe(true);
  });

  test('tells the other side now and then what has come', () => {
    const world = new World(1 << 20);
    world.greet(3);
    world.download(1 << 30);
    world.send(10, 300);
    world.upload(1 << 30);
    world.send(200_000, 2);
    world.upload(1 << 30);
    world.turn();
    world.download(1 << 30);
    const { sent } = world;
    expect(linesOf(world.got).map(receivedIn).at(-1)).toBe(sent.length);
    expect(linesOf(world.got).length).toBe(2);
  });
});
