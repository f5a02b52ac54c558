// Who may come under which name, and who of them is seen: by the config, by what a person has decided, and by policy.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { validate } from '../../../src/config/schema.ts';
import { Counters } from '../../../src/core/counters.ts';
import { Events } from '../../../src/core/events.ts';
import { DialIns } from '../../../src/daemon/dial-ins.ts';
import { OPEN_POLICY, type OwnPolicy, refusalOfDialIn } from '../../../src/discovery/policy.ts';
import { type ListName, rulesIn } from '../../../src/discovery/policy-rules.ts';
import { DialInDecisions } from '../../../src/local/dial-in-decisions.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { FlushTurn } from '../../../src/wire/outbox.ts';
import { ReadPacer } from '../../../src/wire/read-pacer.ts';
import { TestLink } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'mcpd-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const PROGRAM = { program: 'p', version: '1' };

function deskWith(file: object, defined: readonly string[] = []) {
  const tasks: (() => void)[] = [];
  const warnings: string[] = [];
  const decisions = new DialInDecisions({}, home);
  let changes = 0;
  const events = new Events(() => undefined);
  const counters = new Counters(events);
  const { config } = validate(file, (path) => path);
  const quiet = { debug: () => undefined, info: () => undefined, error: () => undefined };
  const dialIns = new DialIns({
    configured: () => config.dialIn,
    decisions,
    refusalOf: (name) => refusalUnder(config.discovery.policy, name),
    isDefined: (name) => defined.includes(name),
    changed: () => void changes++,
    maxDialIns: DEFAULT_LIMITS.maxDialIns,
    events,
    clock: new FakeClock(),
    pacer: new ReadPacer(),
    logger: { ...quiet, warn: (_, fields) => void warnings.push(String(fields?.fault)) },
  });
  const link = (): TestLink => new TestLink((task) => void tasks.push(task), new FlushTurn(), 1024);
  const settle = async (): Promise<void> => {
    for (const task of tasks.splice(0)) task();
    await new Promise(setImmediate);
  };
  return { dialIns, counters, decisions, link, settle, warnings, changes: () => changes };
}

/** As discovery reads the policy of the bridge. */
function refusalUnder(policy: OwnPolicy, name: string): string | undefined {
  const rules = (list: ListName) =>
    rulesIn(policy[list], list, { file: 'F', report: () => undefined, closes: true, env: () => undefined });
  const read = { ...OPEN_POLICY, allowed: rules('allowedMcpServers'), denied: rules('deniedMcpServers') ?? [] };
  const decision = refusalOfDialIn(name, [read]);
  return decision?.isAllowed === false ? decision.reason : undefined;
}

const dirty = { mcpServers: { own: { command: 'c' } }, dialIn: { ide: { description: 'd', timeoutMs: 7 } } };

describe('a name', () => {
  test('is offered if the config has it', () => {
    const { dialIns, link, changes } = deskWith(dirty);
    expect(dialIns.admit('ide')).toBe('offered');
    dialIns.take('ide', link(), PROGRAM);
    expect([...dialIns.of().values()]).toMatchObject([
      { name: 'ide', transport: 'dial-in', description: 'd', timeoutMs: 7, sharing: 'shared' },
    ]);
    expect(changes()).toBe(1);
  });

  test('waits until it is approved, and disappears when it is rejected or its program goes', async () => {
    const { dialIns, decisions, link, settle, changes } = deskWith({});
    expect(dialIns.admit('notes')).toBe('waiting');
    const end = link();
    dialIns.take('notes', end, PROGRAM);
    expect([dialIns.of().size, changes()]).toEqual([0, 0]);
    await decisions.decide(['notes'], 'approved');
    dialIns.refresh();
    expect([...dialIns.of().keys()]).toEqual(['notes']);
    await decisions.decide(['notes'], 'rejected');
    dialIns.refresh();
    expect(dialIns.of().size).toBe(0);
    await decisions.decide(['notes'], 'approved');
    dialIns.refresh();
    end.destroy();
    await settle();
    expect([dialIns.of().size, dialIns.report(), changes()]).toEqual([0, [], 4]);
    expect(dialIns.admit('notes')).toBe('offered');
  });

  test('gets each decision about it once while it is connected, and the reason when the daemon goes', async () => {
    const { dialIns, decisions, link, settle } = deskWith({});
    const end = link();
    dialIns.take('notes', end, PROGRAM);
    const decide = async (decision: 'approved' | 'rejected'): Promise<void> => {
      await decisions.decide(['notes'], decision);
      dialIns.refresh();
      dialIns.refresh();
    };
    await decide('approved');
    await decide('approved');
    await decide('rejected');
    dialIns.tellLeaving('restart');
    const late = link();
    dialIns.take('late', late, PROGRAM);
    await settle();
    expect(late.lines).toEqual([expect.stringContaining('"reason":"restart"')]);
    expect(end.lines.map((line) => JSON.parse(line) as object)).toEqual([
      { jsonrpc: '2.0', method: 'bridge/serverState', params: { state: 'offered' } },
      { jsonrpc: '2.0', method: 'bridge/serverState', params: { state: 'rejected' } },
      { jsonrpc: '2.0', method: 'bridge/leaving', params: { reason: 'restart' } },
    ]);
  });

  test.each([
    [{ deniedMcpServers: [{ serverName: 'ide' }] }, 'blocked'],
    [{ deniedMcpServers: [{ serverName: 'id*' }] }, 'blocked'],
    [{ deniedMcpServers: [{ serverName: '*x*' }] }, 'offered'],
    [{ allowedMcpServers: [{ serverName: 'ide' }, { serverUrl: 'https://x.example/*' }] }, 'offered'],
    [{ allowedMcpServers: [] }, 'blocked'],
    [{ allowedMcpServers: [{ serverName: 'other' }, { serverCommand: ['ide'] }] }, 'blocked'],
    [{ allowedMcpServers: [{ serverName: 'ide' }] }, 'offered'],
    [{ deniedMcpServers: [{ serverName: 'other' }] }, 'offered'],
  ])('under the policy %j is %s', (policy, state) => {
    expect(deskWith({ ...dirty, policy }).dialIns.admit('ide')).toBe(state);
  });

  test('of a defined or connected server cannot be taken', () => {
    const { dialIns, link } = deskWith(dirty, ['own']);
    dialIns.take('ide', link(), PROGRAM);
    for (const [name, message] of [
      ['own', 'A server own is defined already'],
      ['ide', 'A server ide is connected already (p 1)'],
    ] as const)
      expect(() => dialIns.admit(name)).toThrow(expect.objectContaining({ code: 'SERVER_EXISTS', message }));
    expect(dialIns.report()).toMatchObject([{ name: 'ide', program: 'p', version: '1', state: 'offered' }]);
  });

  test('is useless to an instance if its server is missing, or another instance has it', () => {
    const { dialIns, link } = deskWith(dirty);
    const absent = expect.objectContaining({ code: 'SERVER_NOT_CONNECTED', server: 'ide' });
    expect(() => dialIns.open({ name: 'ide' })).toThrow(absent);
    dialIns.take('ide', link(), PROGRAM);
    expect(dialIns.open({ name: 'ide' }).pid).toBeUndefined();
    expect(() => dialIns.open({ name: 'ide' })).toThrow(absent);
  });
});

test('so many may be connected and no more', () => {
  const { dialIns, counters, link } = deskWith({});
  const { maxDialIns } = DEFAULT_LIMITS;
  for (let n = 0; n < maxDialIns; n++) {
    dialIns.admit(`s${n}`);
    dialIns.take(`s${n}`, link(), PROGRAM);
  }
  expect(counters.dialInsRefused).toBe(0);
  expect(() => dialIns.admit('one-more')).toThrow('256 servers already');
  expect(counters.dialInsRefused).toBe(1);
});

test.each(['', 'x', '[]', '{"version":2,"decisions":{}}', '{"version":1,"decisions":{"notes":"yes"}}'])(
  'a file of decisions that is %j approves nothing, and is not written over',
  async (text) => {
    const { dialIns, decisions, warnings } = deskWith({});
    await decisions.decide(['notes'], 'approved');
    writeFileSync(decisions.path, text);
    expect(dialIns.admit('notes')).toBe('waiting');
    expect(warnings).toEqual([expect.stringContaining(decisions.path)]);
    await expect(decisions.decide(['other'], 'approved')).rejects.toMatchObject({ code: 'FILE_UNUSABLE' });
  },
);

test('a faulty entry in the config is reported', () => {
  const { config, faults } = validate(
    {
      mcpServers: { own: { command: 'c' } },
      dialIn: { own: {}, a: 7, b: { timeoutMs: 0 }, c: { command: 'x' }, d: {} },
    },
    (path) => path,
  );
  expect(faults).toEqual([
    'dialIn.own is in mcpServers too',
    'dialIn.a must be an object',
    'dialIn.b.timeoutMs must be a whole number from 1 up',
    'dialIn.c.command is not known',
  ]);
  expect(config.dialIn.map(({ name }) => name)).toEqual(['c', 'd']);
});
