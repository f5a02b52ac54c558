// Letters whose reader goes before it has read them: they wait for it, and are read once.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Letter, UNCLAIMED_MS, UnclaimedLetters } from '../../../src/messaging/letters.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { ResumingClient, wireInMemory } from '../../support/resuming-client.ts';

const MIB = 1024 * 1024;
const GRACE_MS = 31_000;
const metaOf = (id: string | undefined, view = 'all'): Record<string, unknown> => ({
  'mcp-bridge/view': view,
  ...(id === undefined ? {} : { 'mcp-bridge/clientId': id }),
});

function textsIn(answer: Message | undefined): string[] {
  const [content] = (answer?.result?.content ?? []) as { text: string }[];
  return (JSON.parse(content?.text ?? '') as { messages: { text: string }[] }).messages.map(({ text }) => text);
}

class Post {
  core = Post.#begin();
  #asked = 0;

  static #begin(): CoreInMemory {
    return new CoreInMemory({
      liveness: { pingPeriodMs: Number.POSITIVE_INFINITY },
      agents: {
        isEnabled: true,
        maxPerSecond: 1e6,
        maxMessageBytes: 8 * MIB,
        mailbox: { maxMessages: 100, maxBytes: 8 * MIB },
      },
    });
  }

  client(id: string | undefined, view?: string): Promise<TestClient> {
    return this.core.ready({ _meta: metaOf(id, view) });
  }
  /** One that `connect` stands for: it may lose its connection and come back. */
  resuming(id: string | undefined): Promise<ResumingClient> {
    return ResumingClient.ready(wireInMemory(this.core), metaOf(id));
  }

  async write(to: string, ...texts: string[]): Promise<void> {
    const writer = await this.client('writer');
    for (const text of texts) {
      const id = ++this.#asked;
      this.core.clock.advance(1);
      writer.say({ jsonrpc: '2.0', id, method: 'bridge/post', params: { to, text } });
      await this.core.settle();
      expect(writer.answersTo(id)).toMatchObject([{ result: { to } }]);
    }
    await this.end(writer);
  }
  async read(reader: TestClient | ResumingClient, args: object = {}): Promise<string[]> {
    const id = this.begin(reader, args);
    await this.core.settle();
    return textsIn(reader.answersTo(id)[0]);
  }
  begin(reader: TestClient | ResumingClient, args: object): number {
    const id = ++this.#asked;
    reader.say({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'read_messages', arguments: args },
    });
    return id;
  }
  async end(client: TestClient): Promise<void> {
    client.link.endByPeer();
    await this.core.settle();
  }
  async lose(...clients: ResumingClient[]): Promise<void> {
    for (const client of clients) client.drop();
    await this.core.settle();
  }
  waiting(): Record<string, string[]> {
    return Object.fromEntries(
      this.core.messaging.unread().map(({ clientId, letters }) => [clientId, letters.map(({ text }) => text)]),
    );
  }
}

test('who closes before it has read them has them when it comes again, once and in their order', async () => {
  const post = new Post();
  const ann = await post.client('ann');
  await post.write('ann', 'one', 'two', 'three');
  expect(await post.read(ann, { limit: 1 })).toEqual(['one']);
  await post.end(ann);
  const again = await post.client('ann');
  await post.write('ann', 'four');
  await post.end(again);
  const last = await post.client('ann');
  expect(await post.read(last)).toEqual(['two', 'three', 'four']);
  await post.end(last);
  expect(await post.read(await post.client('ann'))).toEqual([]);
});

test('who comes again after it was given up has them', async () => {
  const post = new Post();
  const lost = await post.resuming('ann');
  await post.write('ann', 'one');
  await post.lose(lost);
  await post.write('ann', 'while it is away');
  await post.core.pass(GRACE_MS);
  const ann = await post.client('ann');
  expect(await post.read(ann)).toEqual(['one', 'while it is away']);
});

test('who comes again while it is not given up yet waits for them under another id', async () => {
  const post = new Post();
  const ann = await post.resuming('ann');
  await post.write('ann', 'one');
  await post.lose(ann);
  const again = await post.client('ann');
  await post.write('ann-2', 'two');
  expect(await post.read(again)).toEqual(['two']);
  const waiting = post.begin(again, { wait: 50 });
  await post.core.pass(GRACE_MS);
  expect(textsIn(again.answersTo(waiting)[0])).toEqual(['one']);
  await post.write('ann-2', 'three');
  await post.end(again);
  expect(await post.read(await post.client('ann'))).toEqual(['three']);
  expect(post.waiting()).toEqual({});
});

test('one that dies again and again has all of them in the end', async () => {
  const post = new Post();
  const first = await post.resuming('ann');
  await post.write('ann', 'one');
  await post.lose(first);
  const second = await post.resuming('ann');
  await post.write('ann-2', 'two');
  await post.lose(second);
  const third = await post.client('ann');
  await post.write('ann-3', 'three');
  await post.core.pass(GRACE_MS);
  expect((await post.read(third)).sort()).toEqual(['one', 'three', 'two']);
});

test('who only was away keeps its own, and who came meanwhile has none', async () => {
  const post = new Post();
  const ann = await post.resuming('ann');
  await post.write('ann', 'one');
  await post.lose(ann);
  const namesake = await post.client('ann');
  await ann.resume(wireInMemory(post.core));
  await post.core.pass(GRACE_MS);
  expect(await post.read(namesake)).toEqual([]);
  expect(await post.read(ann)).toEqual(['one']);
});

test('another agent of the same name that was there before has none of them', async () => {
  const post = new Post();
  const ann = await post.resuming('ann');
  const namesake = await post.client('ann');
  await post.write('ann', 'one');
  await post.write('ann-2', 'of the other');
  await post.lose(ann);
  const again = await post.client('ann');
  await post.core.pass(GRACE_MS);
  expect(await post.read(namesake)).toEqual(['of the other']);
  expect(await post.read(again)).toEqual(['one']);
});

test('two agents of one name that close keep theirs apart as long as one is there', async () => {
  const post = new Post();
  const [ann, namesake] = [await post.client('ann'), await post.client('ann')];
  await post.write('ann-2', 'of the other');
  await post.end(namesake);
  expect(post.waiting()).toEqual({ 'ann-2': ['of the other'] });
  await post.write('ann', 'one');
  await post.end(ann);
  expect(post.waiting()).toEqual({ ann: ['one'], 'ann-2': ['of the other'] });
});

test('who has no mailbox leaves them for the next one that has', async () => {
  const post = new Post();
  const ann = await post.client('ann');
  await post.write('ann', 'one');
  await post.end(ann);
  const without = await post.client('ann', 'server:memory');
  await post.end(without);
  expect(await post.read(await post.client('ann'))).toEqual(['one']);
});

test('under an id that was made up they wait only for who may ask for it again', async () => {
  const post = new Post();
  const client = await post.client(undefined);
  const [{ clientId: madeUp = '' } = {}] = post.core.manager.clients();
  expect(madeUp).toMatch(/^client-/);
  await post.write(madeUp, 'one');
  await post.end(client);
  expect(post.waiting()).toEqual({});

  const resuming = await post.resuming(undefined);
  const id = String(resuming.meta['mcp-bridge/clientId']);
  await post.write(id, 'two');
  await post.lose(resuming);
  await post.core.pass(GRACE_MS);
  expect(await post.read(await post.client(id))).toEqual(['two']);
});

test('they wait together with what has come for the same client since', async () => {
  const post = new Post();
  const [ann, bob] = [await post.resuming('ann'), await post.client('bob')];
  await post.write('ann', 'one');
  await post.write('bob', 'of bob');
  await post.end(bob);
  await post.lose(ann);
  const again = await post.client('ann');
  await post.write('ann-2', 'two');
  await post.end(again); // its letters are for whoever is ann next, and ann itself may still come back
  await ann.resume(wireInMemory(post.core));
  expect(post.waiting()).toEqual({ ann: ['one', 'two'], bob: ['of bob'] });
  await post.end(await post.client('bob'));
  expect(await post.read(await post.client('bob'))).toEqual(['of bob']);
});

test('they wait a day and no longer', async () => {
  const post = new Post();
  for (const [id, waitMs] of [
    ['ann', UNCLAIMED_MS - 1000],
    ['bob', UNCLAIMED_MS],
  ] as const) {
    const client = await post.client(id);
    await post.write(id, 'one');
    await post.end(client);
    post.core.clock.advance(waitMs);
    await post.core.settle();
  }
  expect(post.waiting()).toEqual({});
  const ann = await post.client('ann');
  await post.write('ann', 'two');
  await post.end(ann);
  post.core.clock.advance(UNCLAIMED_MS - 1000);
  expect(await post.read(await post.client('ann'))).toEqual(['two']);
});

test('a flood for clients that have ended costs the one that has most', async () => {
  const post = new Post();
  for (const [id, mib] of [
    ['ann', 5],
    ['bob', 7],
    ['eve', 6],
  ] as const) {
    const client = await post.client(id);
    await post.write(id, 'x'.repeat(mib * MIB));
    await post.end(client);
  }
  expect(Object.keys(post.waiting())).toEqual(['ann', 'eve']);
});

const letter = (n: number, length: number): Letter => ({
  id: `m-${n}`,
  from: 'a',
  time: new Date(n).toISOString(),
  text: 'x'.repeat(length),
  inReplyTo: undefined,
  hops: 0,
});

test('if too much waits, the largest mailbox is lost, and named', () => {
  const unclaimed = new UnclaimedLetters(4 * 256 + 40);
  unclaimed.add({ clientId: 'ann', sinceMs: 0, letters: [letter(1, 10), letter(2, 10)] });
  unclaimed.add({ clientId: 'bob', sinceMs: 1, letters: [letter(3, 10), letter(4, 10)] });
  expect(unclaimed.makeRoom(2)).toEqual([]);
  unclaimed.add({ clientId: 'bob', sinceMs: 2, letters: [letter(5, 1)] });
  expect(unclaimed.makeRoom(2)).toMatchObject([{ clientId: 'bob', letters: [{}, {}, {}] }]);
  expect(unclaimed.claim('bob', 2)).toEqual([]);
  expect(unclaimed.claim('ann', 2).map(({ id }) => id)).toEqual(['m-1', 'm-2']);
});

test('whatever comes and is asked for, no more waits than may, and each letter is had once at most', () => {
  const MOST = 2000;
  const step = fc.record({ who: fc.constantFrom('a', 'b', 'c'), length: fc.nat(900), isClaim: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const unclaimed = new UnclaimedLetters(MOST);
      const gone: string[] = [];
      for (const [n, { who, length, isClaim }] of steps.entries()) {
        if (isClaim) gone.push(...unclaimed.claim(who, n).map(({ id }) => id));
        else unclaimed.add({ clientId: who, sinceMs: n, letters: [letter(n, length)] });
        gone.push(...unclaimed.makeRoom(n).flatMap(({ letters }) => letters.map(({ id }) => id)));
        const waiting = unclaimed.all(n).flatMap(({ letters }) => letters);
        expect(waiting.reduce((sum, { text }) => sum + text.length + 256, 0)).toBeLessThanOrEqual(MOST);
      }
      const all = [...gone, ...unclaimed.all(steps.length).flatMap(({ letters }) => letters.map(({ id }) => id))];
      const written = steps.flatMap(({ isClaim }, n) => (isClaim ? [] : `m-${n}`));
      expect(all.sort()).toEqual(written.sort());
    }),
  );
});

const NAMES = ['a', 'b', 'c'] as const;
const MOST_LETTERS = 4;

type Step =
  | { readonly kind: 'come' | 'leave'; readonly who: number }
  | { readonly kind: 'write'; readonly who: number; readonly to: number }
  | { readonly kind: 'read'; readonly who: number; readonly most: number }
  | { readonly kind: 'end' }
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
    { weight: 2, arbitrary: fc.constant({ kind: 'end' } as const) },
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
      case 'end':
        return this.#end();
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
  /** The daemon ends, and another one starts. */
  async #end(): Promise<void> {
    await this.core.manager.drain();
    const closed = this.core.manager.close('restart');
    await this.core.settle();
    await closed;
    this.#mail.clear();
    this.#there.clear();
    this.core = this.#next(this.core.clock.now());
  }
  get #nowMs(): number {
    return this.#hours * 3_600_000;
  }
}

test('each letter is read once and in its turn, however often its reader comes and goes, until the daemon ends', async () => {
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
