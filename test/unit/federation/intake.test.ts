// Messages of other hosts in their turns: nobody who floods stands in front of the others, and what waits is bounded.

import { expect, test } from 'vitest';
import type { ReceivedMessage } from '../../../src/federation/bus.ts';
import { Intake, type IntakeWork } from '../../../src/federation/intake.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';

/** A message of `user host text`. */
function message(words: string, bytes = 0): ReceivedMessage {
  return { subject: words, headers: {}, data: Buffer.alloc(bytes), isUnheard: false };
}

/** An intake in a turn that has no time left, unless `isEarly`. Each message takes an eighth of a turn. */
function world({ isEarly = false } = {}) {
  let nowMs = 0;
  let later: (() => void)[] = [];
  const pacer = new ReadPacer({ now: () => nowMs, defer: (task) => later.push(task) });
  const served: string[] = [];
  const datas: Uint8Array[] = [];
  const refused: string[] = [];
  const faults: unknown[] = [];
  const intake = new Intake({ pacer, failed: (fault) => faults.push(fault) });
  const work: IntakeWork = {
    serve: ({ subject, data }) => {
      datas.push(data);
      nowMs += 0.125;
      served.push(subject);
      if (subject.endsWith('faulty')) throw new Error(subject);
    },
    senderOf: ({ subject }) => {
      const [user = '', host = ''] = subject.split(' ');
      return { user, host };
    },
    isInVain: ({ subject }) => subject.endsWith('in vain'),
    refuse: ({ subject }) => refused.push(subject),
  };
  /** Plays the connection: reads messages in one turn. */
  const read = (...messages: ReceivedMessage[]): void =>
    pacer.reader().work(() => {
      if (!isEarly) nowMs += 0.625;
      for (const one of messages) intake.take(one, work);
    });
  const turn = (): void => {
    const tasks = later;
    later = [];
    for (const task of tasks) task();
  };
  return { intake, read, turn, served, refused, faults, datas };
}

function countsIn(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

const many = (count: number, words: string): ReceivedMessage[] => Array.from({ length: count }, () => message(words));

test('a message is served at once while there is time, and waits for later turns when there is none', () => {
  const { intake, read, turn, served } = world({ isEarly: true });
  read(...many(20, 'ann laptop'));
  const atOnce = served.length;
  expect(atOnce).toBe(4);
  expect(intake.waiting.count).toBe(20 - atOnce);
  for (let i = 0; i < 3; i++) turn();
  expect([served.length, intake.waiting]).toEqual([20, { count: 0, bytes: 0 }]);
});

test('one message of another host does not stand behind a flood', () => {
  const { read, turn, served } = world();
  read(...many(2000, 'ann evil'), message('ann laptop'));
  turn();
  expect(served.slice(0, 2)).toEqual(['ann evil', 'ann laptop']);
});

test('a user with many hosts has no more turns than one with a single host', () => {
  const { read, turn, served } = world();
  read(...Array.from({ length: 100 }, (_, i) => message(`eve host-${i}`)), ...many(100, 'ann laptop'));
  for (let i = 0; i < 4; i++) turn();
  expect(countsIn(served.map((words) => words.split(' ')[0] ?? ''))).toEqual({ eve: 16, ann: 16 });
});

test('the messages of one host keep their order', () => {
  const { read, turn, served } = world();
  read(...Array.from({ length: 30 }, (_, i) => message(`ann laptop ${i}`)), message('ann desk'));
  read(...Array.from({ length: 10 }, (_, i) => message(`ann laptop ${30 + i}`)));
  for (let i = 0; i < 9; i++) turn();
  const own = served.filter((words) => words.startsWith('ann laptop'));
  expect(own).toEqual(Array.from({ length: 40 }, (_, i) => `ann laptop ${i}`));
});

test('a fault over one message costs no other', () => {
  const { read, turn, served, faults } = world();
  read(message('ann faulty'), message('ann laptop'));
  turn();
  expect(served).toEqual(['ann faulty', 'ann laptop']);
  expect(faults).toEqual([new Error('ann faulty')]);
});

test('whoever floods, and however many they are, there is room for one more', () => {
  const { intake, read, turn, refused } = world();
  read(...many(10_000, 'ann evil'));
  expect(intake.waiting.count).toBe(Math.ceil(8192 / 3));
  read(message('ann laptop'), message('bob desk'));
  expect(new Set(refused)).toEqual(new Set(['ann evil']));
  const flood = (user: string, hosts: number): void => {
    for (let host = 0; host < hosts; host++) read(...many(1000, `${user} evil-${host}`));
    refused.length = 0;
  };
  flood('ann', 4);
  read(message('ann desk'));
  expect(refused).toEqual([]);
  for (let user = 0; user < 3; user++) {
    flood(`user-${user}`, 4);
    read(message(`new-${user} laptop`));
    expect(refused).toEqual([]);
  }
  for (let user = 0; user < 40; user++) flood(`user-${user}`, 40);
  expect(intake.waiting.count).toBeLessThanOrEqual(8192);
  turn();
  read(...many(100, 'ann evil'), message('zoe laptop'));
  expect(refused).not.toContain('zoe laptop');
});

test('what would be refused in its turn does not wait for it', () => {
  const { intake, read, refused } = world();
  read(message('ann laptop'), message('ann laptop in vain'));
  expect([intake.waiting.count, refused]).toEqual([1, ['ann laptop in vain']]);
});

test('what waits is bounded in bytes', () => {
  const { intake, read, refused } = world();
  read(...Array.from({ length: 100 }, () => message('ann evil', 256 * 1024)));
  expect(intake.waiting.bytes).toBeGreaterThan(10 * 1024 * 1024);
  expect(intake.waiting.bytes).toBeLessThan(11 * 1024 * 1024);
  for (let user = 0; user < 20; user++)
    read(...Array.from({ length: 100 }, () => message(`user-${user} evil`, 256 * 1024)));
  expect(intake.waiting.bytes).toBeLessThan(32 * 1024 * 1024);
  refused.length = 0;
  read({ ...message('eve laptop'), headBytes: 32 * 1024 });
  expect(refused).toEqual([]);
});

test('a message that waits holds on to no more than its own bytes', () => {
  const { read, turn, datas } = world();
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const whole = Buffer.alloc(64 * 1024, 'y');
  read({ ...message('ann laptop'), data: chunk.subarray(10, 20) }, { ...message('ann laptop'), data: whole });
  turn();
  expect(datas.map(String)).toEqual(['x'.repeat(10), whole.toString()]);
  expect(datas[0]?.buffer.byteLength).toBeLessThan(64 * 1024);
  expect(datas[1]).toBe(whole);
});

test('what waits when the daemon leaves is not served, and nothing more is taken', () => {
  const { intake, read, turn, served, refused } = world();
  read(...many(3, 'ann laptop'));
  intake.close();
  read(message('ann laptop'));
  turn();
  expect([served, refused]).toEqual([[], ['ann laptop']]);
});
