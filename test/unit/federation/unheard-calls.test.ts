// Calls whose caller is gone without a word: the bus says that nobody listens to their answers, and their owner ends them.

import { describe, expect, test } from 'vitest';
import { type Asked, FederationWorld, META } from '../../support/federation-world.ts';

/** An owner whose calls stay open, and a home that asks it. */
function openCalls() {
  const world = new FederationWorld();
  const open: Asked[] = [];
  const owner = world.owner('builder', (asked) => open.push(asked));
  const home = world.home('laptop');
  return { world, open, owner, home, graceMs: world.limits.resumeGraceMs };
}

const LISTEN = {
  ...{ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' },
  params: { notifications: { toolsListChanged: true }, _meta: META },
};

test('a call that only listens is not counted as work, and keeps its stream', () => {
  const { world, owner, home } = openCalls();
  const client = home.open('builder');
  client.write(LISTEN);
  world.advance(1000);
  const counts = (): number[] => [owner.owner.load.calls, owner.owner.workCount, owner.owner.listenCount];
  expect(counts()).toEqual([1, 0, 1]);
  client.call(2, {});
  world.advance(1000);
  expect(counts()).toEqual([2, 1, 1]);
  expect(owner.owner.load.streams).toBe(1);
});

describe('a run that is killed', () => {
  test('after it has said goodbye and begun one more stream leaves nothing, though the next run is there', () => {
    const { world, open, owner, home, graceMs } = openCalls();
    world.runs.delete('laptop');
    world.silent.add('laptop');
    owner.owner.hostLeft('laptop', 'run-laptop');
    home.open('builder').write(LISTEN);
    world.advance(1000);
    home.node.connect(false);
    world.silent.delete('laptop');
    world.runs.set('laptop', 'run-later');
    const later = world.home('laptop').open('builder');
    later.write(LISTEN);
    world.advance(graceMs + 12_000, 1000);
    expect(owner.owner.load).toEqual({ streams: 1, calls: 1 });
    expect(open.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
  });

  test('while its next run is there already leaves nothing', () => {
    const { world, open, owner, home, graceMs } = openCalls();
    owner.owner.hostLeft('laptop', 'run-laptop');
    world.runs.set('laptop', 'run-later');
    home.open('builder').call(1, {});
    world.advance(1000);
    home.node.connect(false);
    world.advance(graceMs + 12_000, 1000);
    expect(owner.owner.load).toEqual({ streams: 0, calls: 0 });
    expect(open.map(({ isCancelled }) => isCancelled)).toEqual([true]);
  });

  test('and never was on the list of hosts leaves nothing', () => {
    const { world, open, owner, graceMs } = openCalls();
    const invented = world.home('invented-1');
    invented.open('builder').write(LISTEN);
    world.advance(60_000, 1000);
    expect(owner.owner.load).toEqual({ streams: 1, calls: 1 });
    invented.node.connect(false);
    world.advance(graceMs + 12_000, 1000);
    expect(owner.owner.load).toEqual({ streams: 0, calls: 0 });
    expect(open.map(({ isCancelled }) => isCancelled)).toEqual([true]);
  });

  test('and gets news of its call all the time leaves nothing', () => {
    const { world, open, owner, home, graceMs } = openCalls();
    home.open('builder').call(1, {});
    world.advance(1000);
    home.node.connect(false);
    for (let i = 0; i < (graceMs + 12_000) / 1000; i++) {
      open[0]?.progress(i);
      world.advance(1000, 1000);
    }
    expect(owner.owner.load).toEqual({ streams: 0, calls: 0 });
  });

  test('in the middle of its request leaves nothing', () => {
    const { world, open, owner, home, graceMs } = openCalls();
    world.bus.fateOf = ({ headers }) => ({ isLost: headers['Mcp-Seq'] === '2' });
    home.open('builder').call(1, { text: 'x'.repeat(600_000) });
    home.node.connect(false);
    world.advance(graceMs + 12_000, 1000);
    expect(owner.owner.load.calls).toBe(0);
    expect(open).toEqual([]);
  });
});

test('a caller that neither counts nor is a host of the bridge, and goes, leaves no call', () => {
  const { world, open, owner, graceMs } = openCalls();
  const other = world.bus.node();
  const frames: string[] = [];
  other.subscribe('_INBOX.other.*', ({ headers }) => frames.push(headers['Mcp-Frame'] ?? ''));
  const params = { name: 'work', arguments: {}, _meta: META };
  const headers = { 'Mcp-Wire': '1', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'work' };
  other.publish({
    subject: 'mcp.v1.req.acme.ann.tools-at-builder.tools.call.work',
    reply: '_INBOX.other.1',
    headers: { ...headers, 'MCP-Protocol-Version': '2026-07-28' },
    data: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })),
  });
  world.advance(2 * graceMs, 1000);
  expect(new Set(frames)).toEqual(new Set(['ka']));
  expect(owner.owner.load.calls).toBe(1);
  other.connect(false);
  world.advance(graceMs + 12_000, 1000);
  expect(owner.owner.load.calls).toBe(0);
  expect(open.map(({ isCancelled }) => isCancelled)).toEqual([true]);
});

test.each([5000, 20_000, 29_000])('a home that was away for %i ms, again and again, keeps its calls', (awayMs) => {
  const { world, open, home } = openCalls();
  const connection = home.open('builder');
  connection.call(1, {});
  for (let i = 0; i < 5; i++) {
    world.advance(15_000, 1000);
    home.node.connect(false);
    world.advance(awayMs, 1000);
    home.node.connect(true);
  }
  world.advance(8000, 1000);
  open[0]?.answer({ text: 'late' });
  world.advance(2000);
  expect(connection.answersTo(1).map(({ result }) => result?.text)).toEqual(['late']);
  expect(open).toHaveLength(1);
});
