import { describe, expect, test } from 'vitest';
import { KnownServer, type ListPage, type ServerProfile } from '../../../src/core/server-knowledge.ts';
import type { ClientCapabilities } from '../../../src/protocol/initialize.ts';

const TTL_MS = 1000;
const HELLO = { initializeResult: Buffer.from('{"capabilities":{"tools":{},"resources":{}}}\n') };

/** Without roots, and for everybody. */
const ANYBODY = { rootsKey: undefined, owner: undefined };

const shared = (capabilities: ClientCapabilities): { capabilities: ClientCapabilities; owner: undefined } => ({
  capabilities,
  owner: undefined,
});

class World {
  nowMs = 0;
  changes = 0;
  readonly known = new KnownServer({ date: () => this.nowMs, ttlMs: TTL_MS, changed: () => void this.changes++ });

  /** What an instance that was offered this has shown, and has gone since. */
  seen(capabilities: ClientCapabilities, hello = HELLO): ServerProfile {
    const profile = this.known.opened(shared(capabilities), hello, '');
    this.known.closed(profile);
    return profile;
  }
}

const pages = (...tools: object[]): ListPage[] => [
  { cursor: undefined, result: Buffer.from(`${JSON.stringify({ tools })}\n`) },
];

describe('the knowledge of a server', () => {
  test('is nothing at first', () => {
    const { known } = new World();
    expect([known.profileFor(shared({})), known.asksBack, known.asksForRoots]).toEqual([undefined, false, false]);
  });

  test('holds while it runs, and so long after it has gone', () => {
    const world = new World();
    const profile = world.known.opened(shared({}), HELLO, '');
    world.nowMs = 50 * TTL_MS;
    expect(world.known.profileFor(shared({}))).toBe(profile);
    world.known.closed(profile);
    world.nowMs += TTL_MS - 1;
    expect(world.known.profileFor(shared({}))).toBe(profile);
    world.nowMs += 1;
    expect(world.known.profileFor(shared({}))).toBeUndefined();
  });

  test('does not hold for ever because the clock was set back', () => {
    const world = new World();
    world.nowMs = 90 * TTL_MS;
    world.seen({});
    world.nowMs = 5 * TTL_MS;
    expect(world.known.profileFor(shared({}))).toBeUndefined();
  });

  test('is kept beyond its time, for those who want the last state', () => {
    const world = new World();
    const [old, young] = [world.seen({ sampling: {} }), world.seen({})];
    world.known.learnList(old, 'tools', pages({ name: 'old' }), ANYBODY);
    world.nowMs = 10;
    world.known.learnList(young, 'tools', pages({ name: 'young' }), ANYBODY);
    world.nowMs = 5 * TTL_MS;
    expect([world.known.profileFor(shared({})), world.known.lastProfileFor(shared({}))]).toEqual([undefined, young]);
    expect(world.known.lastProfileFor(shared({ sampling: {} }))).toBe(old);
    expect(world.known.lastProfileFor(shared({ elicitation: {} }))).toBeUndefined();
    expect(world.known.lastTools).toBe(young.lists.get('tools'));
  });

  test('lets hear of each list of tools, and whether another instance may list others', () => {
    const heard: object[] = [];
    const toolsListed = (listed: readonly ListPage[], how: object): void => void heard.push([listed, how]);
    const known = new KnownServer({ date: () => 0, ttlMs: TTL_MS, changed: () => undefined, toolsListed });
    const profile = known.opened(shared({}), HELLO, '');
    const tools = pages({ name: 'a' });
    known.learnList(profile, 'prompts', tools, ANYBODY);
    known.learnList(profile, 'tools', tools, ANYBODY);
    known.opened(shared({ sampling: {} }), HELLO, '');
    known.learnList(profile, 'tools', tools, ANYBODY);
    for (const page of tools) known.toolsPassed(page);
    expect(heard).toEqual([
      [tools, { isWhole: true, isOnly: true }],
      [tools, { isWhole: true, isOnly: false }],
      [tools, { isWhole: false, isOnly: false }],
    ]);
  });

  test('holds while one of several instances runs', () => {
    const world = new World();
    const profile = world.known.opened(shared({}), HELLO, '');
    expect(world.known.opened(shared({}), HELLO, '')).toBe(profile);
    world.known.closed(profile);
    world.nowMs = 5 * TTL_MS;
    expect(world.known.profileFor(shared({}))).toBe(profile);
  });

  test('for a client is that of clients with equal capabilities, else of clients with more', () => {
    const world = new World();
    const able = world.seen({ sampling: {}, roots: {} });
    expect(world.known.profileFor(shared({ sampling: {} }))).toBe(able);
    expect(world.known.profileFor(shared({}))).toBe(able);
    expect(world.known.profileFor(shared({ elicitation: {} }))).toBeUndefined();
    const same = world.seen({ sampling: {} });
    expect(world.known.profileFor(shared({ sampling: {} }))).toBe(same);
    expect(world.known.profileFor(shared({ roots: {}, sampling: {} }))).toBe(able);
  });

  test('of a server that asks back is that of clients with equal capabilities', () => {
    const world = new World();
    world.seen({ sampling: {} });
    world.known.noteAsksBack();
    expect(world.known.profileFor(shared({}))).toBeUndefined();
    expect(world.known.suits({ sampling: {} }, {})).toBe(false);
    expect(world.known.suits({ sampling: {} }, { sampling: {} })).toBe(true);
    expect(world.known.profileFor(shared({ sampling: {} }))).toBeDefined();
  });

  test('is replaced when the server starts again; its old lists are forgotten if nobody relied on them', () => {
    const world = new World();
    const profile = world.seen({});
    world.known.learnList(profile, 'tools', pages({ name: 'a' }), ANYBODY);
    const hello = { initializeResult: Buffer.from('{"capabilities":{"prompts":{}}}\n') };
    expect(world.seen({}, hello)).toBe(profile);
    expect([profile.declares('tools'), profile.declares('prompts'), profile.lists.has('tools')]).toEqual([
      false,
      true,
      true,
    ]);
    world.nowMs = 10 * TTL_MS;
    world.seen({}, HELLO);
    expect(world.known.pagesFor(profile, 'tools', ANYBODY)).toBeUndefined();
    expect(world.known.learnList(profile, 'tools', pages({ name: 'a' }), ANYBODY)).toBe(true);
  });

  test('is new when a list differs in any byte, in its cursors or in the number of its pages', () => {
    const world = new World();
    const profile = world.known.opened(shared({}), HELLO, '');
    const [page] = pages({ name: 'a' }) as [ListPage];
    const learn = (list: ListPage[]) => world.known.learnList(profile, 'tools', list, ANYBODY);
    expect([learn([page]), learn([page]), learn(pages({ name: 'a' }))]).toEqual([true, false, false]);
    expect([learn(pages({ name: 'b' })), learn([page]), learn([page, { ...page, cursor: '1' }])]).toEqual([
      true,
      true,
      true,
    ]);
    expect([learn([page, { ...page, cursor: '2' }]), learn([])]).toEqual([true, true]);
  });

  test('keeps lists that may reveal roots for clients with the same roots, once the server has asked for roots', () => {
    const world = new World();
    const profile = world.known.opened(shared({}), HELLO, '');
    const list = pages({ name: 'a' });
    const of = (rootsKey: string | undefined) => ({ rootsKey, owner: undefined });
    world.known.learnList(profile, 'resources', list, ANYBODY);
    expect(world.known.pagesFor(profile, 'resources', of('"x"'))).toBe(list);
    world.known.noteAsksForRoots();
    expect(world.known.pagesFor(profile, 'resources', of('"x"'))).toBeUndefined();
    world.known.learnList(profile, 'resources', list, of('"x"'));
    expect(world.known.pagesFor(profile, 'resources', of('"x"'))).toBe(list);
    for (const other of ['"y"', '', undefined, 'in doubt', 'disagreed'])
      expect(world.known.pagesFor(profile, 'resources', of(other))).toBeUndefined();
    world.known.learnList(profile, 'tools', list, of('"x"'));
    expect(world.known.pagesFor(profile, 'tools', of('"y"'))).toBe(list);
  });

  test('is told to be kept when something is learnt, and not when it was known', () => {
    const world = new World();
    const told = (learn: () => void): number => {
      const before = world.changes;
      learn();
      return world.changes - before;
    };
    expect([told(() => world.known.noteAsksBack()), told(() => world.known.noteAsksBack())]).toEqual([1, 0]);
    expect([told(() => world.known.noteAsksForRoots()), told(() => world.known.noteAsksForRoots())]).toEqual([1, 0]);
  });

  test('is kept for 16 kinds of clients; kinds with a running instance do not make room', () => {
    const world = new World();
    const offersOf = (n: number): ClientCapabilities => ({ sampling: { [`x${n}`]: {} } });
    const running = world.known.opened(shared(offersOf(0)), HELLO, '');
    for (let n = 1; n < 100; n++) world.seen(offersOf(n));
    expect(world.known.profiles.length).toBe(16);
    expect(world.known.profileFor(shared(offersOf(0)))).toBe(running);
    expect(world.known.profileFor(shared(offersOf(99)))).toBeDefined();
    expect(world.known.profileFor(shared(offersOf(1)))).toBeUndefined();
  });
});

describe('a tool that does no harm twice', () => {
  const isSafe = (nameText: string, ...tools: object[]): boolean => {
    const world = new World();
    const profile = world.known.opened(shared({}), HELLO, '');
    world.known.learnList(profile, 'tools', pages(...tools), ANYBODY);
    return profile.isSafe(Buffer.from(nameText).toString('latin1'));
  };

  test('is one that the server says so of', () => {
    expect(isSafe('"a"', { name: 'a', annotations: { readOnlyHint: true } })).toBe(true);
    expect(isSafe('"é"', { name: 'é', annotations: { idempotentHint: true, readOnlyHint: false } })).toBe(true);
  });

  test.each([
    [{ name: 'a' }],
    [{ name: 'a', annotations: null }],
    [{ name: 'a', annotations: { readOnlyHint: 'true', idempotentHint: 1 } }],
    [{ name: 'b', annotations: { readOnlyHint: true } }],
    [{ annotations: { readOnlyHint: true } }],
    [{ name: 'a', annotations: { destructiveHint: false } }],
  ])('is none without clear annotations: %j', (tool) => {
    expect(isSafe('"a"', tool)).toBe(false);
  });

  test('is none while the list is not known, or is no list', () => {
    const world = new World();
    const profile = world.known.opened(shared({}), HELLO, '');
    expect(profile.isSafe('"a"')).toBe(false);
    for (const odd of ['{"tools":{}}', '{"tools":[null,7]}', '{}']) {
      world.known.learnList(profile, 'tools', [{ cursor: undefined, result: Buffer.from(`${odd}\n`) }], ANYBODY);
      expect(profile.isSafe('"a"')).toBe(false);
    }
  });
});
