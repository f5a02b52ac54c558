import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FlushTurn, Outbox } from '../../../src/wire/outbox.ts';
import { ManualTurn, RecordingSink } from '../../support/recording-sink.ts';

function setUp(outboxes = 1): { turn: ManualTurn; boxes: { sink: RecordingSink; outbox: Outbox }[] } {
  const turn = new ManualTurn();
  const shared = new FlushTurn(turn.defer);
  const boxes = Array.from({ length: outboxes }, () => {
    const sink = new RecordingSink();
    return { sink, outbox: new Outbox(sink, shared) };
  });
  return { turn, boxes };
}

function one(): { turn: ManualTurn; sink: RecordingSink; outbox: Outbox } {
  const { turn, boxes } = setUp();
  const [box] = boxes;
  if (box === undefined) throw new Error('there is one');
  return { turn, ...box };
}

type Step =
  | { readonly do: 'latin1' | 'utf8' | 'bytes'; readonly box: number; readonly length: number; readonly seed: number }
  | {
      readonly do: 'end' | 'flush' | 'drop' | 'block' | 'unblock' | 'take' | 'close';
      readonly box: number;
      readonly length: number;
      readonly seed: number;
    }
  | { readonly do: 'turn'; readonly box: number; readonly length: number; readonly seed: number };

const length = fc.oneof(
  { weight: 10, arbitrary: fc.integer({ min: 0, max: 200 }) },
  { weight: 6, arbitrary: fc.integer({ min: 1000, max: 4095 }) },
  { weight: 3, arbitrary: fc.constantFrom(8190, 8191, 8192, 8193, 1024, 4096, 64_512, 65_535, 65_536, 65_537) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 150_000 }) },
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    do: fc.constantFrom<Step['do']>(
      ...([
        'latin1',
        'latin1',
        'utf8',
        'bytes',
        'bytes',
        'end',
        'end',
        'end',
        'turn',
        'turn',
        'flush',
        'drop',
        'block',
        'unblock',
        'take',
      ] as const),
    ),
    box: fc.nat(),
    length,
    seed: fc.nat({ max: 200 }),
  }),
  { maxLength: 120, size: 'max' },
);

const latin1Text = (size: number, seed: number): string => String.fromCharCode(0x21 + (seed % 0xd0)).repeat(size);
const utf8Text = (size: number, seed: number): string =>
  ['a', 'é', '日', '😀'][seed % 4]?.repeat(Math.ceil(size / 3)) ?? '';

/** Does a step on an outbox; returns the bytes that it should add. */
function append(outbox: Outbox, step: Step): Buffer {
  switch (step.do) {
    case 'latin1': {
      const text = latin1Text(step.length, step.seed);
      outbox.latin1(text);
      return Buffer.from(text, 'latin1');
    }
    case 'utf8': {
      const text = utf8Text(step.length, step.seed);
      outbox.utf8(text);
      return Buffer.from(text);
    }
    case 'bytes': {
      const around = Buffer.alloc(step.length + 20, step.seed);
      outbox.bytes(around, 7, 7 + step.length);
      return around.subarray(7, 7 + step.length);
    }
    case 'end':
      outbox.endFrame();
      return Buffer.from('\n');
    default:
      return Buffer.alloc(0);
  }
}

describe('an outbox', () => {
  test('writes the same bytes in the same order, whatever is done to others that share its turn', () => {
    fc.assert(
      fc.property(steps, (schedule) => {
        const { turn, boxes } = setUp(4);
        // Two of them are sockets, whose blocks are filled again, and two keep all that they are given.
        for (const { sink } of boxes.slice(0, 2)) sink.letsGo = true;
        const expected: Buffer[][] = boxes.map(() => []);
        for (const step of schedule) {
          const index = step.box % boxes.length;
          const box = boxes[index];
          if (box === undefined) continue;
          expected[index]?.push(append(box.outbox, step));
          if (step.do === 'turn') turn.end();
          if (step.do === 'flush') box.outbox.flush();
          if (step.do === 'drop') box.outbox.turn.dropShelf();
          if (step.do === 'block') box.sink.isBlocked = true;
          if (step.do === 'unblock') box.sink.isBlocked = false;
          if (step.do === 'take') {
            box.sink.take(step.length * 100);
            if (box.sink.writableLength === 0) box.outbox.drained();
          }
          const appended = Buffer.concat(expected[index] ?? []).length;
          const unwritten = appended - box.sink.bytes.length;
          expect(box.outbox.queuedBytes).toBe(unwritten + box.sink.writableLength);
          expect(box.outbox.takenBytes).toBe(appended - unwritten - box.sink.writableLength);
        }
        for (const { outbox } of boxes) outbox.endFrame();
        turn.end();
        for (const { sink } of boxes) sink.take(sink.writableLength);
        for (const [i, { sink }] of boxes.entries()) {
          expect(sink.bytes.equals(Buffer.concat([...(expected[i] ?? []), Buffer.from('\n')]))).toBe(true);
          expect(sink.isIntact).toBe(true);
          expect(sink.corks).toBe(0);
        }
      }),
      { numRuns: 250 },
    );
  });

  test('writes everything of a turn at once', () => {
    const { turn, sink, outbox } = one();
    for (let i = 0; i < 100; i++) {
      outbox.utf8(`{"id":${i}}`);
      outbox.endFrame();
    }
    expect(sink.flushes).toBe(0);
    turn.end();
    expect({ flushes: sink.flushes, writes: sink.writes, asked: turn.asked }).toEqual({
      flushes: 1,
      writes: 1,
      asked: 1,
    });
    expect(sink.text).toBe(Array.from({ length: 100 }, (_, i) => `{"id":${i}}\n`).join(''));
  });

  test('leaves in one go also when it filled many blocks and passed large pieces on', () => {
    const { turn, sink, outbox } = one();
    outbox.latin1('first');
    outbox.endFrame();
    for (let i = 0; i < 40; i++) {
      outbox.latin1('s'.repeat(8000));
      outbox.bytes(Buffer.alloc(20_000, 'b'), 0, 20_000);
      outbox.endFrame();
    }
    turn.end();
    expect({ flushes: sink.flushes, corks: sink.corks, asked: turn.asked }).toEqual({ flushes: 1, corks: 0, asked: 1 });
    expect(sink.bytes.length).toBe(6 + 40 * 28_001);
  });

  test('asks for one flush a turn for all outboxes together, and for another one in the next turn', () => {
    const { turn, boxes } = setUp(5);
    for (let round = 1; round <= 3; round++) {
      for (const { outbox } of [...boxes, ...boxes]) {
        outbox.latin1('x');
        outbox.endFrame();
      }
      expect(turn.asked).toBe(round);
      turn.end();
      expect(boxes.map(({ sink }) => sink.flushes)).toEqual(boxes.map(() => round));
    }
  });

  test('keeps an unfinished frame until its end', () => {
    const { turn, sink, outbox } = one();
    outbox.latin1('half');
    turn.end();
    expect([sink.text, outbox.queuedBytes, turn.asked]).toEqual(['', 4, 0]);
    outbox.endFrame();
    turn.end();
    expect([sink.text, outbox.queuedBytes]).toEqual(['half\n', 0]);
  });

  test('passes a large piece on without a copy', () => {
    const turn = new ManualTurn();
    const written: Uint8Array[] = [];
    const sink = {
      write: (bytes: Uint8Array) => written.push(bytes) > 0,
      cork: () => undefined,
      uncork: () => undefined,
      writableLength: 0,
    };
    const outbox = new Outbox(sink, new FlushTurn(turn.defer));
    const large = Buffer.alloc(8192, 'x');
    outbox.bytes(large, 0, large.length);
    expect(written.map((bytes) => bytes.buffer)).toEqual([large.buffer]);
  });

  test('fills the same blocks again once a socket has taken them', () => {
    const { turn, sink, outbox } = one();
    sink.letsGo = true;
    const memories = new Set<ArrayBufferLike>();
    const write = sink.write.bind(sink);
    sink.write = (bytes) => {
      memories.add(bytes.buffer);
      return write(bytes);
    };
    for (let round = 0; round < 50; round++) {
      sink.isBlocked = round % 2 === 1;
      for (let i = 0; i < 30; i++) outbox.latin1('x'.repeat(4000));
      outbox.endFrame();
      turn.end();
      sink.take(sink.writableLength);
      outbox.drained();
    }
    expect(memories.size).toBe(8);
    expect(sink.isIntact).toBe(true);
  });

  test('takes new blocks after the shelf was dropped', () => {
    const { turn, sink, outbox } = one();
    sink.letsGo = true;
    const memories = new Set<ArrayBufferLike>();
    const write = sink.write.bind(sink);
    sink.write = (bytes) => {
      memories.add(bytes.buffer);
      return write(bytes);
    };
    const blocks = [1, 2, 3].map((round) => {
      for (let i = 0; i < 30; i++) outbox.latin1('x'.repeat(4000));
      outbox.endFrame();
      turn.end();
      outbox.drained();
      if (round === 2) outbox.turn.dropShelf();
      return memories.size;
    });
    expect(blocks).toEqual([8, 8, 16]);
    expect(sink.isIntact).toBe(true);
  });

  test('leaves the bytes alone that a slow socket has not taken', () => {
    const step = fc.record({ box: fc.nat({ max: 1 }), frames: fc.nat({ max: 9 }), taken: fc.nat({ max: 20_000 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (schedule) => {
        const { turn, boxes } = setUp(2);
        for (const { sink } of boxes) sink.isBlocked = sink.letsGo = true;
        for (const [round, { box, frames, taken }] of schedule.entries()) {
          const { sink, outbox } = boxes[box] ?? one();
          for (let i = 0; i < frames; i++) {
            outbox.latin1(String.fromCharCode(0x21 + round).repeat(1999));
            outbox.endFrame();
          }
          turn.end();
          sink.take(taken);
          if (sink.writableLength === 0) outbox.drained();
        }
        for (const { sink } of boxes) {
          sink.take(sink.writableLength);
          expect(sink.isIntact).toBe(true);
        }
      }),
    );
  });

  test('counts what a peer that blocks has taken, and what it has not', () => {
    const { turn, sink, outbox } = one();
    sink.isBlocked = true;
    outbox.latin1('x'.repeat(99));
    outbox.endFrame();
    expect([outbox.queuedBytes, outbox.takenBytes]).toEqual([100, 0]);
    turn.end();
    expect([outbox.queuedBytes, outbox.takenBytes]).toEqual([100, 0]);
    sink.take(30);
    expect([outbox.queuedBytes, outbox.takenBytes]).toEqual([70, 30]);
    outbox.latin1('yy');
    expect([outbox.queuedBytes, outbox.takenBytes]).toEqual([72, 30]);
    sink.take(70);
    expect([outbox.queuedBytes, outbox.takenBytes]).toEqual([2, 100]);
  });

  test('writes nothing after it was closed, whatever comes', () => {
    fc.assert(
      fc.property(steps, steps, (before, after) => {
        const { turn, boxes } = setUp(2);
        const [closed, living] = boxes;
        if (closed === undefined || living === undefined) return;
        for (const step of before) append(closed.outbox, step);
        const writes = closed.sink.writes;
        closed.outbox.close();
        const expected: Buffer[] = [];
        for (const step of after) {
          append(closed.outbox, step);
          expected.push(append(living.outbox, step));
          if (step.do === 'flush') closed.outbox.flush();
          if (step.do === 'turn') turn.end();
        }
        living.outbox.endFrame();
        closed.outbox.endFrame();
        turn.end();
        expect(closed.sink.writes).toBe(writes);
        expect(living.sink.bytes.equals(Buffer.concat([...expected, Buffer.from('\n')]))).toBe(true);
        expect(living.sink.isIntact && closed.sink.isIntact).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  test('may be closed in the middle of a turn without holding up the others', () => {
    const { turn, boxes } = setUp(3);
    for (const { outbox } of boxes) {
      outbox.latin1('x');
      outbox.endFrame();
    }
    boxes[1]?.outbox.close();
    turn.end();
    expect(boxes.map(({ sink }) => sink.text)).toEqual(['x\n', '', 'x\n']);
  });

  test('goes with the real turn of the loop where no other is given', async () => {
    const sink = new RecordingSink();
    const outbox = new Outbox(sink, new FlushTurn());
    outbox.latin1('x');
    outbox.endFrame();
    expect(sink.text).toBe('');
    await new Promise(setImmediate);
    expect(sink.text).toBe('x\n');
  });
});

test('an outbox that fails is closed, and the others of its turn are flushed all the same', () => {
  const turn = new ManualTurn();
  const errors: unknown[] = [];
  const shared = new FlushTurn(turn.defer, (error) => void errors.push(error));
  const sinks = [new RecordingSink(), new RecordingSink()];
  const [faulty, sound] = sinks;
  const boxes = sinks.map((sink) => new Outbox(sink, shared));
  if (faulty !== undefined)
    faulty.write = () => {
      throw new Error('injected');
    };
  for (const outbox of boxes) {
    outbox.latin1('frame');
    outbox.endFrame();
  }
  turn.end();
  expect(errors).toHaveLength(1);
  expect(sound?.text).toBe('frame\n');
  boxes[0]?.latin1('more');
  boxes[0]?.endFrame();
  turn.end();
  expect(errors).toHaveLength(1);
});
