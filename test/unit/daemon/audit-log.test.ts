// The lines that a record of calls consists of.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_AUDIT } from '../../../src/config/audit-settings.ts';
import { AuditLog } from '../../../src/daemon/audit-log.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { lineSafe } from '../../../src/util/printable.ts';
import { CoreInMemory, type TestClient } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function audited() {
  const path = join(temporaryDir(), 'audit.jsonl');
  const clock = new FakeClock();
  const day = { ms: Date.UTC(2026, 10, 18, 17, 59, 59, 999) };
  const date = (): number => day.ms + clock.now();
  const log = new AuditLog({ settings: DEFAULT_AUDIT, path, clock, date, logger: silent });
  const core = new CoreInMemory({ audit: log });
  const lines = async (): Promise<Record<string, unknown>[]> => {
    await log.close();
    return readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { core, clock, day, lines };
}

test('a line says when the call came in, and how long it took', async () => {
  const { core, clock, day, lines } = audited();
  const client = await core.ready();
  client.call(1);
  client.call(2);
  await core.settle();
  const [first, second] = core.server().requests;
  core.server().answer(first);
  clock.advance(1234);
  day.ms += 3_600_000; // somebody sets the clock
  client.call(3);
  core.server().answer(second);
  await core.settle();
  core.server().answer(core.server().requests.at(-1));
  expect((await lines()).map(({ time, durationMs }) => [time, durationMs])).toEqual([
    ['2026-11-18T17:59:59.999Z', 0],
    ['2026-11-18T18:59:59.999Z', 1234],
    ['2026-11-18T19:00:01.233Z', 0],
  ]);
});

test('a line says which user has connected, and the process that the client states', async () => {
  const { core, lines } = audited();
  for (const meta of [{ 'mcp-bridge/pid': 4711 }, {}]) {
    const client = await core.ready({ _meta: meta });
    client.call(1);
    await core.settle();
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
  }
  expect((await lines()).map(({ uid, pid }) => [uid, pid])).toEqual([
    [1000, 4711],
    [1000, null],
  ]);
});

test('a line names the token with which a client has come, where there is one', async () => {
  const { core, lines } = audited();
  for (const options of [{ grant: { id: 'a', name: 'laptop' } }, {}]) {
    const client = await core.ready({}, options);
    client.call(1);
    await core.settle();
    core.server().answer(core.server().requests.at(-1));
    await core.settle();
  }
  const [first, second] = await lines();
  expect(first).toMatchObject({ token: 'laptop', uid: 1000 });
  expect(second).not.toHaveProperty('token');
});

describe('a line names the era', () => {
  const PREFIX = 'io.modelcontextprotocol/';
  const WHO = {
    [`${PREFIX}protocolVersion`]: '2026-07-28',
    [`${PREFIX}clientInfo`]: { name: 'fresh', version: '1' },
    [`${PREFIX}clientCapabilities`]: { elicitation: {} },
  };
  const ask = (client: TestClient, id: number, more: object = {}): void =>
    client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'tool', _meta: WHO, ...more } });
  const turn = async (core: CoreInMemory): Promise<void> => {
    await core.settle();
    await core.pass(5);
  };

  test.each([ERA_2025, ERA_2026])('of the client, and of its server, which speaks $versions.0', async (era) => {
    const { core, lines } = audited();
    core.server().era = era;
    const clients = [await core.ready({ protocolVersion: '2025-11-25' }), core.connect()];
    clients[0]?.call(1);
    if (clients[1] !== undefined) ask(clients[1], 1);
    await core.settle();
    for (const instance of core.server().instances) instance.answer(instance.requests[0]);
    if (era === ERA_2026) core.server().answer(core.server().requests[1]); // it has one instance for both
    await core.settle();
    const server = era.versions[0];
    expect((await lines()).map((line) => [line.protocolVersion, line.serverProtocolVersion])).toEqual([
      ['2025-11-25', server],
      ['2026-07-28', server],
    ]);
  });

  test('of requests that continue calls with questions, and marks them (G3)', async () => {
    const { core, lines } = audited();
    const client = core.connect();
    ask(client, 1);
    await core.settle();
    const question = { message: '?', requestedSchema: { type: 'object', properties: {} } };
    core.server().say({ jsonrpc: '2.0', id: 's1', method: 'elicitation/create', params: question });
    await turn(core);
    const requestState = client.answersTo(1)[0]?.result?.requestState;
    ask(client, 2, { requestState, inputResponses: { q1: { action: 'accept', content: {} } } });
    await turn(core);
    core.server().answer(core.server().requests[0]);
    ask(client, 3, { requestState: 'forged' });
    await turn(core);
    expect((await lines()).map(({ outcome, code, continued }) => [outcome, code, continued])).toEqual([
      ['asked', undefined, undefined],
      ['ok', undefined, true],
      ['refused', 'RETRY_REFUSED', true],
    ]);
  });

  test('of calls with several rounds of questions at a server of 2026, under the rules of each (G3)', async () => {
    const { core, lines } = audited();
    core.server().era = ERA_2026;
    const client = core.connect();
    ask(client, 1);
    ask(client, 2, { requestState: 'of-the-server', inputResponses: {} });
    await core.settle();
    for (const request of core.server().requests) core.server().answer(request);
    await core.settle();
    expect((await lines()).map(({ outcome, continued }) => [outcome, continued])).toEqual([
      ['ok', undefined],
      ['ok', true],
    ]);
  });
});

test('connections under one id are told apart, and names that are long are cut', async () => {
  const { core, lines } = audited();
  const meta = { _meta: { 'mcp-bridge/clientId': 'me', 'mcp-bridge/view': 'discover' } };
  for (let n = 0; n < 2; n++) {
    const client = await core.ready(meta);
    for (let id = 1; id <= 250; id++)
      client.say({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: `${'n'.repeat(id * 2)}` } });
    await core.settle();
    client.link.destroy();
    await core.settle();
  }
  const all = await lines();
  expect(all.map(({ client, connection }) => `${client as string} ${connection as number}`)).toEqual([
    ...Array<string>(250).fill('me 1'),
    ...Array<string>(250).fill('me 2'),
  ]);
  expect(all.slice(0, 250).map(({ tool }) => tool)).toEqual(
    Array.from({ length: 250 }, (_, i) => (i < 128 ? 'n'.repeat(i * 2 + 2) : `${'n'.repeat(256)}…`)),
  );
});

describe('a text that may be shown on a terminal', () => {
  test('has the same value, and nothing in it that moves the cursor', () => {
    const texts = fc.string({
      unit: fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\u202e', '\u009b', '\u007f', '\ud800', '\u{e0001}', '\\', '"'),
      ),
    });
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: false }),
        texts,
        fc.constantFrom(undefined, '\t', 2),
        (value, text, space) => {
          const json = JSON.stringify({ value, [text]: text }, undefined, space);
          const safe = lineSafe(json);
          expect(JSON.parse(safe)).toEqual(JSON.parse(json));
          expect(safe).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
        },
      ),
    );
  });
});
