import { describe, expect, test } from 'vitest';
import { joinedCapabilities, joinedInstructions } from '../../../src/core/joined-view.ts';
import { ServerProfile } from '../../../src/core/server-knowledge.ts';

const profileOf = (capabilities: unknown, instructions?: unknown): ServerProfile =>
  new ServerProfile({}, undefined, {
    initializeResult: Buffer.from(`${JSON.stringify({ capabilities, instructions })}\n`),
    learnedMs: 0,
  });

describe('the capabilities of a joined view', () => {
  test('are those of any of its servers, with lists that may change, and none that the bridge does not know', () => {
    const profiles = [
      profileOf({ tools: {}, resources: {}, experimental: { x: {} } }),
      profileOf({ resources: { subscribe: true }, logging: {} }),
    ];
    expect(joinedCapabilities(profiles)).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      logging: {},
    });
    expect(joinedCapabilities([profileOf({ resources: {} })])).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true },
    });
    expect(joinedCapabilities([profileOf({ tasks: {}, prompts: {}, completions: {} })])).toMatchObject({
      prompts: { listChanged: true },
      completions: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    });
  });

  test('leaves room for servers that are not known yet, also where there are none', () => {
    expect(Object.keys(joinedCapabilities([profileOf({}), undefined])).sort()).toEqual(
      ['completions', 'logging', 'prompts', 'resources', 'tasks', 'tools'].sort(),
    );
    expect(joinedCapabilities([])).toEqual({ tools: { listChanged: true } });
  });

  test('can be computed even if a server’s answer makes no sense', () => {
    for (const odd of [undefined, null, 7, 'tools', []]) expect(joinedCapabilities([profileOf(odd)])).toBeDefined();
    expect(joinedCapabilities([profileOf({ resources: null })])).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true },
    });
  });
});

describe('the instructions of a joined view', () => {
  test('are those of its servers, each under its alias; servers that have none get no heading', () => {
    const servers = [
      { alias: 'a', profile: profileOf({}, ' Ask politely.\n') },
      { alias: 'b', profile: profileOf({}) },
      { alias: 'c', profile: undefined },
      { alias: 'd', profile: profileOf({}, 7) },
      { alias: 'e', profile: profileOf({}, 'Be brief.') },
    ];
    expect(joinedInstructions(servers)).toBe('# a\n\nAsk politely.\n\n# e\n\nBe brief.');
    expect(joinedInstructions(servers.slice(1, 4))).toBeUndefined();
  });
});
