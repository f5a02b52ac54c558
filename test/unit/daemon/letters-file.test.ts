// Letters from one daemon to the next: what is kept, what of a file is believed, and that nobody reads a letter twice.

import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Letter } from '../../../src/core/agents/mailbox.ts';
import { type KeptLetters, UNCLAIMED_MS } from '../../../src/core/agents/unclaimed-letters.ts';
import { LettersFile, lettersIn, lettersText } from '../../../src/daemon/letters-file.ts';
import { jsonLogger } from '../../../src/local/log-sink.ts';
import { CoreInMemory, type TestClient } from '../../support/core-in-memory.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const TIME = '2026-11-18T12:00:00.000Z';
const letter = (id: string, text: string): Letter => ({
  id,
  from: 'a',
  time: TIME,
  text,
  inReplyTo: undefined,
  hops: 0,
});
const KEPT: KeptLetters = {
  written: 3,
  mailboxes: [
    { clientId: 'b', sinceMs: 7, letters: [letter('m-1', 'one'), { ...letter('m-3', 'ü'), inReplyTo: 'm-0' }] },
  ],
};

function fileIn(dir: string) {
  const log: string[] = [];
  const path = join(dir, 'letters.json');
  return {
    path,
    log,
    file: new LettersFile(
      path,
      jsonLogger('info', (line) => void log.push(line)),
    ),
  };
}

describe('the file of letters', () => {
  test('is private, is gone once it was taken in, and has what was kept', () => {
    const { path, file, log } = fileIn(join(temporaryDir(), 'not', 'there', 'yet'));
    expect(file.takeIn()).toBeUndefined();
    file.keep(KEPT);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(file.takeIn()).toEqual(KEPT);
    expect([existsSync(path), file.takeIn()]).toEqual([false, undefined]);
    expect(log).toEqual([
      expect.stringMatching(/"letters kept for the next daemon","letters":2,"clients":1\}/),
      expect.stringMatching(/"letters of the daemon before","letters":2,"clients":1\}/),
    ]);
  });

  test('is not written where nobody has ever written a letter; the numbers go on where one has', () => {
    const { path, file } = fileIn(temporaryDir());
    file.keep({ written: 0, mailboxes: [] });
    expect(existsSync(path)).toBe(false);
    file.keep({ written: 9, mailboxes: [] });
    expect(file.takeIn()).toEqual({ written: 9, mailboxes: [] });
  });

  const whole = lettersText(KEPT).text;
  const with_ = (change: object): string => JSON.stringify({ ...(JSON.parse(whole) as object), ...change });
  test.each<[string, string]>([
    ['torn', whole.slice(0, -20)],
    ['empty', ''],
    ['no object', '[1]'],
    ['of the future', with_({ version: 2, mailboxes: {} })],
    ['of no version', with_({ version: undefined })],
    ['without a count', with_({ written: -1 })],
    ['without mailboxes', with_({ mailboxes: null })],
    ['with a mailbox that is none', with_({ mailboxes: [null] })],
    ['with a mailbox of nobody', with_({ mailboxes: [{ ...KEPT.mailboxes[0], clientId: 5 }] })],
    ['with a mailbox of no time', with_({ mailboxes: [{ ...KEPT.mailboxes[0], sinceMs: 'now' }] })],
    ['with an empty mailbox', with_({ mailboxes: [{ ...KEPT.mailboxes[0], letters: [] }] })],
    ['with one client twice', with_({ mailboxes: [KEPT.mailboxes[0], KEPT.mailboxes[0]] })],
    ['with a letter that is none', with_({ mailboxes: [{ ...KEPT.mailboxes[0], letters: ['m-1'] }] })],
    [
      'with a letter of nobody',
      with_({ mailboxes: [{ ...KEPT.mailboxes[0], letters: [{ ...letter('m', 'x'), from: 1 }] }] }),
    ],
    [
      'with a letter that answers a number',
      with_({ mailboxes: [{ ...KEPT.mailboxes[0], letters: [{ ...letter('m', 'x'), inReplyTo: 1 }] }] }),
    ],
    ['larger than any that is written', `${whole}${' '.repeat(16 * 1024 * 1024)}`],
  ])('that is %s counts as none, is left where it is, and is told', (_, text) => {
    const { path, file, log } = fileIn(temporaryDir());
    writeFileSync(path, text, { mode: 0o600 });
    expect(file.takeIn()).toBeUndefined();
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(log).toEqual([expect.stringContaining('letters of the daemon before cannot be used')]);
    expect(log[0]).toContain('"hint"');
  });

  test.each<[string, (path: string) => void]>([
    ['a link', (path) => symlinkSync('/dev/null', path)],
    [
      'readable by others',
      (path) => {
        writeFileSync(path, whole);
        chmodSync(path, 0o644);
      },
    ],
  ])('that is %s is neither read nor replaced, and both are told', (_, make) => {
    const { path, file, log } = fileIn(temporaryDir());
    make(path);
    expect(file.takeIn()).toBeUndefined();
    file.keep(KEPT);
    expect(log).toEqual([
      expect.stringContaining('letters of the daemon before cannot be used'),
      expect.stringContaining('letters cannot be kept for the next daemon'),
    ]);
  });

  test('has a bound; what is lost to it is told, and is what the fullest mailboxes held', () => {
    const big = { clientId: 'flooded', sinceMs: 1, letters: [letter('m-9', '\u0001'.repeat(2 ** 20))] };
    const kept = {
      written: 9,
      mailboxes: [...Array.from({ length: 4 }, (_, n) => ({ ...big, clientId: `${n}` })), ...KEPT.mailboxes],
    };
    const { path, file, log } = fileIn(temporaryDir());
    file.keep(kept);
    expect(statSync(path).size).toBeLessThanOrEqual(16 * 1024 * 1024);
    expect(log.map((line) => (JSON.parse(line) as { letters: number }).letters)).toEqual([4, 2]);
    expect(file.takeIn()?.mailboxes.map(({ clientId }) => clientId)).toEqual(['b', '0', '1']);
  });

  test('holds whatever letters say, and never more than it may', () => {
    const id = fc.string({ minLength: 1, maxLength: 128 });
    const letters = fc.array(
      fc.record({
        id,
        from: id,
        time: fc.constant(TIME),
        text: fc.string({ unit: 'binary' }),
        inReplyTo: fc.option(id, { nil: undefined }),
        hops: fc.nat(),
      }),
      { minLength: 1, maxLength: 5 },
    );
    const mailboxes = fc.uniqueArray(fc.record({ clientId: id, sinceMs: fc.nat(), letters }), {
      selector: ({ clientId }) => clientId,
    });
    fc.assert(
      fc.property(
        fc.record({ written: fc.maxSafeNat(), mailboxes }),
        fc.integer({ min: 200, max: 4000 }),
        (kept, most) => {
          const { text, left } = lettersText(kept, most);
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(most);
          const back = lettersIn(text);
          const sorted = (list: KeptLetters['mailboxes']) =>
            [...list].sort((a, b) => (a.clientId < b.clientId ? -1 : 1));
          const wellFormed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
          expect(wellFormed(sorted([...back.mailboxes, ...left]))).toEqual(wellFormed(sorted(kept.mailboxes)));
          expect(back.written).toBe(kept.written);
        },
      ),
    );
  });
});

const NAMES = ['a', 'b', 'c'] as const;
const MOST_LETTERS = 4;

type Step =
  | { readonly kind: 'come' | 'leave'; readonly who: number }
  | { readonly kind: 'write'; readonly who: number; readonly to: number }
  | { readonly kind: 'read'; readonly who: number; readonly most: number }
  | { readonly kind: 'restart' | 'kill' }
  | { readonly kind: 'pass'; readonly hours: number };

const who = fc.nat(NAMES.length - 1);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('come' as const), who }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), who }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('write' as const), who, to: who }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('read' as const), who, most: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 3, arbitrary: fc.constant({ kind: 'restart' } as const) },
    { weight: 1, arbitrary: fc.constant({ kind: 'kill' } as const) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), hours: fc.nat(30) }) },
  ),
  { maxLength: 60 },
);

/** One daemon after the other, beside what each client should find, kept in lists. */
class House {
  core = this.#next(0);
  readonly #mail = new Map<string, string[]>();
  readonly #there = new Map<string, TestClient>();
  readonly #awayMs = new Map<string, number>();
  #asked = 0;
  #hours = 0;

  #next(startMs: number): CoreInMemory {
    const core = new CoreInMemory({
      liveness: { pingPeriodMs: Number.POSITIVE_INFINITY },
      agents: { isEnabled: true, maxPerSecond: 1e6, mailbox: { maxMessages: MOST_LETTERS, maxBytes: 1e6 } },
    });
    core.clock.advance(startMs);
    return core;
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'come':
        return this.#come(NAMES[step.who] ?? '');
      case 'leave':
        return this.#leave(NAMES[step.who] ?? '');
      case 'write':
        return this.#write(NAMES[step.who] ?? '', NAMES[step.to] ?? '');
      case 'read':
        return this.#read(NAMES[step.who] ?? '', step.most);
      case 'restart':
        return this.#restart();
      case 'kill':
        this.#mail.clear();
        return this.#begin();
      case 'pass':
        this.core.clock.advance(step.hours * 3_600_000);
        this.#hours += step.hours;
        return this.core.settle();
    }
  }

  async #come(name: string): Promise<void> {
    if (this.#there.has(name)) return;
    const meta = { 'mcp-bridge/clientId': name, 'mcp-bridge/view': 'all' };
    this.#there.set(name, await this.core.ready({ _meta: meta }));
    const away = this.#awayMs.get(name);
    if (away !== undefined && this.#nowMs - away >= UNCLAIMED_MS) this.#mail.delete(name);
    this.#awayMs.delete(name);
  }
  async #leave(name: string): Promise<void> {
    const client = this.#there.get(name);
    if (client === undefined) return;
    client.link.end();
    client.link.destroy();
    this.#there.delete(name);
    this.#awayMs.set(name, this.#nowMs);
    await this.core.settle();
  }
  async #write(from: string, to: string): Promise<void> {
    const sender = this.#there.get(from);
    if (sender === undefined || from === to) return;
    const text = `letter ${++this.#asked}`;
    sender.say({ jsonrpc: '2.0', id: this.#asked, method: 'bridge/post', params: { to, text } });
    await this.core.settle();
    const waiting = this.#mail.get(to) ?? [];
    const isTaken = this.#there.has(to) && waiting.length < MOST_LETTERS;
    expect(sender.answersTo(this.#asked).map(({ error }) => error === undefined)).toEqual([isTaken]);
    if (isTaken) this.#mail.set(to, [...waiting, text]);
  }
  async #read(name: string, most: number): Promise<void> {
    const reader = this.#there.get(name);
    if (reader === undefined) return;
    const id = ++this.#asked;
    reader.say({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'read_messages', arguments: { limit: most } },
    });
    await this.core.settle();
    const [answer] = reader.answersTo(id);
    const content = answer?.result?.content as { text: string }[] | undefined;
    const { messages, left } = JSON.parse(content?.[0]?.text ?? '') as { messages: { text: string }[]; left: number };
    const waiting = this.#mail.get(name) ?? [];
    expect([messages.map(({ text }) => text), left]).toEqual([
      waiting.slice(0, most),
      Math.max(0, waiting.length - most),
    ]);
    this.#mail.set(name, waiting.slice(most));
  }
  async #restart(): Promise<void> {
    await this.core.manager.drain();
    const { text } = lettersText(this.core.agents.leaveBehind());
    for (const name of this.#there.keys()) this.#awayMs.set(name, this.#nowMs);
    const closed = this.core.manager.close('restart');
    await this.core.settle();
    await closed;
    this.#begin();
    this.core.agents.takeIn(lettersIn(text));
  }
  #begin(): void {
    const { clock } = this.core;
    this.#there.clear();
    this.core = this.#next(clock.now());
  }
  get #nowMs(): number {
    return this.#hours * 3_600_000;
  }
}

test('over restarts in order each letter is read once and in its turn; after a kill none is read twice', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const house = new House();
      for (const step of script) await house.step(step);
      for (const name of NAMES.keys()) {
        await house.step({ kind: 'come', who: name });
        await house.step({ kind: 'read', who: name, most: 100 });
      }
    }),
    { numRuns: 150 },
  );
});
