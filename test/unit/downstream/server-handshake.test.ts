// How the era of a server is found out: every order in which answers can come, with a clock that the test turns.

import { describe, expect, test } from 'vitest';
import type { FoundEra } from '../../../src/core/server-knowledge.ts';
import {
  type HandshakePlan,
  planFor,
  probeWaitMs,
  ServerHandshake,
  type SettledHandshake,
} from '../../../src/downstream/server-handshake.ts';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { ERA_2026 } from '../../../src/protocol/era-2026.ts';
import { FlushTurn, Outbox } from '../../../src/wire/outbox.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ManualTurn, RecordingSink } from '../../support/recording-sink.ts';

const START_TIMEOUT_MS = 30_000;
const WAIT_MS = probeWaitMs(START_TIMEOUT_MS);

interface Sent {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const SERVER_INFO = { name: 'own', version: '7' };
const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true } },
  instructions: 'Ask.',
  ttlMs: 5,
  cacheScope: 'private',
  _meta: { 'io.modelcontextprotocol/serverInfo': SERVER_INFO },
};
const INITIALIZED = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: SERVER_INFO };
const UNKNOWN_METHOD = { code: -32601, message: 'Method not found' };
const unsupported = (...supported: string[]): object => ({ code: -32022, message: 'No', data: { supported } });

/** A server that says what the test has it say. */
class World {
  readonly clock = new FakeClock();
  readonly #sink = new RecordingSink();
  readonly #turn = new ManualTurn();
  readonly handshake: ServerHandshake;
  settled: SettledHandshake | undefined;

  constructor(plan: HandshakePlan = 'probe') {
    const outbox = new Outbox(this.#sink, new FlushTurn(this.#turn.defer));
    const nothing = (): void => undefined;
    const link = { outbox, start: nothing, pause: nothing, resume: nothing, end: nothing, destroy: nothing };
    this.handshake = new ServerHandshake({
      server: 's',
      connection: { link, safe: (text) => text.replace('secret', '[secret]') },
      maxDepth: 64,
      clock: this.clock,
      plan,
      startTimeoutMs: START_TIMEOUT_MS,
      capabilities: { roots: { listChanged: true }, tasks: {}, elicitation: {} },
      clientInfo: { name: 'c', version: '1' },
    });
    this.handshake.begin();
  }

  /** All messages of the bridge. */
  get sent(): Sent[] {
    this.#turn.end();
    return this.#sink.text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Sent]));
  }

  get methods(): string[] {
    return this.sent.map(({ method }) => method);
  }

  says(message: object): void {
    this.saysText(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  saysText(text: string): void {
    const line = Buffer.from(`${text}\n`);
    this.settled = this.handshake.take(line, 0, line.length - 1) ?? this.settled;
  }

  /** Answers the last request with this method, with a result or an error. */
  answers(method: string, answer: { readonly result?: unknown; readonly error?: unknown }): void {
    const { id } = this.sent.findLast((one) => one.method === method) ?? {};
    this.says({ id, ...answer });
  }

  waits(): void {
    this.clock.advance(WAIT_MS);
  }
}

const json = (bytes: Buffer | undefined): unknown => JSON.parse(String(bytes));

describe('a server that answers the probe', () => {
  test('with a DiscoverResult is of the era of 2026, and gets no `initialize`', () => {
    const world = new World();
    expect(world.methods).toEqual(['server/discover']);
    expect(world.sent[0]?.params).toEqual({
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { roots: {}, elicitation: {} },
      },
    });
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026, version: '2026-07-28', versions: ['2026-07-28'] });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2026, probe: 'answered' });
    expect(json(world.settled?.discoverResult)).toEqual(DISCOVERED);
    expect(json(world.settled?.initializeResult)).toEqual({
      protocolVersion: '2026-07-28',
      capabilities: { tools: { listChanged: true } },
      serverInfo: SERVER_INFO,
      instructions: 'Ask.',
    });
    world.waits();
    expect(world.methods).toEqual(['server/discover']);
    expect(world.clock.pending).toBe(0);
  });

  test('with -32601 gets `initialize` at once, on the same connection', () => {
    const world = new World();
    world.answers('server/discover', { error: UNKNOWN_METHOD });
    expect(world.methods).toEqual(['server/discover', 'initialize']);
    world.answers('initialize', { result: INITIALIZED });
    expect(world.methods.at(-1)).toBe('notifications/initialized');
    expect(world.settled).toMatchObject({ era: ERA_2025, version: '2025-06-18', discoverResult: undefined });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2025, probe: 'answered' });
    expect(world.clock.pending).toBe(0);
  });

  test.each([
    ['an empty result', { result: {} }],
    ['a result that lists no versions', { result: { ...DISCOVERED, supportedVersions: [] } }],
    ['a result whose versions are no texts', { result: { ...DISCOVERED, supportedVersions: [1] } }],
    ['a text', { result: 'ok' }],
    ['any other error', { error: { code: -32602, message: 'Invalid request parameters' } }],
    ['an error without a code', { error: 'no' }],
  ])('with %s gets `initialize`', (_, answer) => {
    const world = new World();
    world.answers('server/discover', answer);
    expect(world.methods).toEqual(['server/discover', 'initialize']);
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2025 });
  });

  test('with an error without an id gets `initialize`, as it could read nothing of the probe', () => {
    const world = new World();
    world.says({ id: null, error: { code: -32700, message: 'Parse error' } });
    expect(world.methods).toEqual(['server/discover', 'initialize']);
  });

  test.each([-32603, -32020, -32021])('with %s gets `initialize`, and is asked again the next time', (code) => {
    const world = new World();
    world.answers('server/discover', { error: { code, message: 'Not now' } });
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled).toMatchObject({ era: ERA_2025, finding: undefined });
  });

  test.each([
    ['a DiscoverResult', { result: { ...DISCOVERED, supportedVersions: ['2031-01-01', '2030-01-01'] } }],
    ['-32022', { error: unsupported('2031-01-01', '2030-01-01') }],
  ])('with %s that has no version in common is refused, and both lists are named', (_, answer) => {
    const world = new World();
    const said = (): void => world.answers('server/discover', answer);
    expect(said).toThrow('Server s speaks versions "2031-01-01", "2030-01-01" of MCP');
    expect(world.methods).toEqual(['server/discover']);
  });

  test('with versions of the era with a handshake alone gets `initialize`', () => {
    for (const answer of [
      { result: { ...DISCOVERED, supportedVersions: ['2031-01-01', '2025-06-18'] } },
      { error: unsupported('2025-06-18') },
    ]) {
      const world = new World();
      world.answers('server/discover', answer);
      expect(world.methods).toEqual(['server/discover', 'initialize']);
    }
  });

  test('with -32022 that names the very version it was asked for is asked once more, and then refused', () => {
    const refusal = { error: unsupported('2026-07-28') };
    const world = new World();
    world.answers('server/discover', refusal);
    expect(world.methods).toEqual(['server/discover', 'server/discover']);
    expect(() => world.answers('server/discover', refusal)).toThrow('Server s refused server/discover: No');

    const again = new World();
    again.answers('server/discover', refusal);
    again.answers('server/discover', { result: DISCOVERED });
    expect(again.settled).toMatchObject({ era: ERA_2026, version: '2026-07-28' });
  });
});

describe('-32022 without a list of versions', () => {
  const refusal = { error: { code: -32022, message: 'No' } };

  test('for `initialize` means that the server has no handshake: it is probed once more', () => {
    const world = new World('initialize');
    world.answers('initialize', refusal);
    expect(world.methods).toEqual(['initialize', 'server/discover']);
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026, version: '2026-07-28' });
  });

  test('for both is refused, with no list of versions in the error', () => {
    const world = new World();
    world.answers('server/discover', refusal);
    expect(world.methods).toEqual(['server/discover', 'initialize']);
    world.answers('initialize', refusal);
    expect(world.methods).toEqual(['server/discover', 'initialize', 'server/discover']);
    let thrown: unknown;
    try {
      world.answers('server/discover', refusal);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'SERVER_START_FAILED', message: 'Server s refused to initialize: No' });
  });
});

describe('a server that is silent on the probe', () => {
  test('gets `initialize` too after a moment, and the probe stays open', () => {
    const world = new World();
    world.clock.advance(WAIT_MS - 1);
    expect(world.methods).toEqual(['server/discover']);
    world.clock.advance(1);
    expect(world.methods).toEqual(['server/discover', 'initialize']);
    expect(world.settled).toBeUndefined();
  });

  test('and has little time to start gets `initialize` after a quarter of it', () => {
    expect([30_000, 2000].map(probeWaitMs)).toEqual([3000, 500]);
  });

  test('and answers `initialize` has a handshake, whatever it says of the probe later', () => {
    const world = new World();
    world.waits();
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled).toMatchObject({ era: ERA_2025, finding: { era: ERA_2025, probe: 'unanswered' } });
  });

  test('and refuses the probe at last gets no second `initialize`', () => {
    const world = new World();
    world.waits();
    world.answers('server/discover', { error: UNKNOWN_METHOD });
    expect(world.methods).toEqual(['server/discover', 'initialize']);
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2025, probe: 'answered' });
  });

  test('and answers -32022 to `initialize` is of the era of 2026 as soon as it answers the probe, however late', () => {
    const world = new World();
    world.waits();
    world.answers('initialize', { error: unsupported('2026-07-28') });
    world.clock.advance(60_000);
    expect(world.settled).toBeUndefined();
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026 });
    expect(world.methods).toEqual(['server/discover', 'initialize']);
  });

  test('and refuses `initialize` in any other way is of the era of 2026 if it answers the probe', () => {
    const world = new World();
    world.waits();
    world.answers('initialize', { error: UNKNOWN_METHOD });
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026 });
  });

  test('and refuses both is refused with its words about `initialize`', () => {
    const world = new World();
    world.waits();
    world.answers('initialize', { error: { code: -32000, message: 'No licence, secret' } });
    expect(world.handshake.refusal?.message).toBe('Server s refused to initialize: No licence, [secret]');
    expect(() => world.answers('server/discover', { error: UNKNOWN_METHOD })).toThrow('No licence, [secret]');
  });
});

describe('a server that answers the probe after `initialize` was sent', () => {
  function late(): World {
    const world = new World();
    world.waits();
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toBeUndefined();
    expect(world.methods).toEqual(['server/discover', 'initialize', 'server/discover']);
    return world;
  }

  test('is of the era of 2026 if it refuses `initialize`', () => {
    const world = late();
    world.answers('initialize', { error: unsupported('2026-07-28') });
    expect(world.settled).toMatchObject({ era: ERA_2026 });
  });

  test('is of the era of 2026 if it says nothing to `initialize` and is still in that era', () => {
    const world = late();
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026 });
  });

  test('has chosen the handshake if it answers `initialize`, and is given more time at the next start', () => {
    const world = late();
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled).toMatchObject({ era: ERA_2025, version: '2025-06-18' });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2026, version: '2026-07-28' });
    expect(world.methods.at(-1)).toBe('notifications/initialized');
  });

  test('has chosen the handshake if the second probe is refused', () => {
    const world = late();
    world.answers('server/discover', { error: UNKNOWN_METHOD });
    expect(world.settled).toBeUndefined();
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled).toMatchObject({ era: ERA_2025 });
  });
});

describe('a server that is known to have a handshake', () => {
  test('gets `initialize` alone', () => {
    const world = new World('initialize');
    expect(world.methods).toEqual(['initialize']);
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled).toMatchObject({ era: ERA_2025, finding: undefined });
  });

  test.each([unsupported('2026-07-28'), unsupported(), UNKNOWN_METHOD])('and refuses it with %j is probed', (error) => {
    const world = new World('initialize');
    world.answers('initialize', { error });
    expect(world.methods).toEqual(['initialize', 'server/discover']);
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026, finding: { era: ERA_2026 } });
  });

  test('and refuses the probe too is refused with its words about `initialize`', () => {
    const world = new World('initialize');
    world.answers('initialize', { error: { code: -32000, message: 'No licence' } });
    expect(() => world.answers('server/discover', { error: UNKNOWN_METHOD })).toThrow(
      'Server s refused to initialize: No licence',
    );
  });

  test('and speaks no version of the bridge is refused, and both lists are named', () => {
    const world = new World('initialize');
    let thrown: unknown;
    try {
      world.answers('initialize', { error: unsupported('2031-01-01') });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: 'SERVER_START_FAILED',
      hint: expect.stringContaining('The bridge speaks 2026-07-28, 2025-11-25'),
      facts: { serverVersions: ['2031-01-01'], bridgeVersions: expect.arrayContaining(['2026-07-28', '2024-11-05']) },
    });
  });

  test('gets both at once if it was silent the last time', () => {
    const world = new World('both');
    expect(world.methods).toEqual(['server/discover', 'initialize']);
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2025, probe: 'unanswered' });
  });
});

describe('a server that is known to be of the era of 2026', () => {
  test('is given the time that it needs', () => {
    const world = new World('patient');
    world.clock.advance(20 * WAIT_MS);
    expect(world.methods).toEqual(['server/discover']);
    expect(world.handshake.awaited).toBe('server/discover');
    world.answers('server/discover', { result: DISCOVERED });
    expect(world.settled).toMatchObject({ era: ERA_2026 });
  });

  test('and has changed its era gets `initialize`', () => {
    const world = new World('patient');
    world.answers('server/discover', { error: UNKNOWN_METHOD });
    world.answers('initialize', { result: INITIALIZED });
    expect(world.settled?.finding).toMatchObject({ era: ERA_2025 });
  });
});

test('a server that names no version it supports, to either, is probed a second time and then refused', () => {
  const world = new World();
  world.answers('server/discover', { error: { code: -32603, message: 'Not now' } });
  world.answers('initialize', { error: unsupported('2026-07-28') });
  expect(world.methods).toEqual(['server/discover', 'initialize', 'server/discover']);
  expect(() => world.answers('server/discover', { error: { code: -32603, message: 'Not now' } })).toThrow(
    'refused to initialize: No',
  );
});

test('the probe is answered in the bytes of the server: numbers and unknown members stay as they are', () => {
  const world = new World();
  const result = `{"supportedVersions":["2026-07-28"],"capabilities":{"x":1.00e2},"big":12345678901234567890,"_meta":{"own":1.0}}`;
  world.saysText(`{"jsonrpc":"2.0","id":"mcp-bridge-discover","result":${result}}`);
  expect(String(world.settled?.discoverResult)).toBe(`${result}\n`);
  expect(String(world.settled?.initializeResult)).toBe(
    `{"protocolVersion":"2026-07-28","capabilities":{"x":1.00e2},"serverInfo":{"name":"s","version":""},"big":12345678901234567890,"_meta":{"own":1.0}}\n`,
  );
});

test('a ping is answered meanwhile, and everything else is dropped', () => {
  const world = new World();
  world.says({ id: 'p', method: 'ping' });
  world.says({ id: 'r', method: 'roots/list' });
  world.says({ method: 'notifications/tools/list_changed' });
  world.says({ id: 1, result: DISCOVERED });
  world.saysText('no JSON');
  expect(world.sent.slice(1)).toEqual([{ jsonrpc: '2.0', id: 'p', result: {} }]);
  expect(world.settled).toBeUndefined();
});

test('the end of a server is an answer to the probe only while it has said nothing', () => {
  const world = new World();
  expect(world.handshake.hasHeardNothing).toBe(true);
  world.waits();
  expect(world.handshake.hasHeardNothing).toBe(true);
  world.answers('server/discover', { error: UNKNOWN_METHOD });
  expect(world.handshake.hasHeardNothing).toBe(false);
  expect(new World('initialize').handshake.hasHeardNothing).toBe(false);
});

describe('the first words to a server', () => {
  const DAY_MS = 24 * 3_600_000;
  const found = (more: Partial<FoundEra>): FoundEra => ({
    era: ERA_2025,
    version: '2025-11-25',
    versions: ['2025-11-25'],
    probe: 'answered',
    program: 'mark',
    serverInfo: '',
    foundMs: 0,
    ...more,
  });
  const of2026 = found({ era: ERA_2026, version: '2026-07-28' });

  test.each<[string, FoundEra | undefined, Partial<Parameters<typeof planFor>[0]>, HandshakePlan]>([
    ['an unknown one', undefined, {}, 'probe'],
    ['one with a handshake', found({}), {}, 'initialize'],
    ['one with a handshake, after a day', found({}), { ageMs: DAY_MS }, 'probe'],
    ['one with a handshake and another program', found({}), { program: 'other' }, 'probe'],
    ['one whose program had just been written', found({ program: 'uncertain' }), { program: 'uncertain' }, 'probe'],
    ['one with a handshake at a URL', found({ program: '' }), { program: '' }, 'initialize'],
    ['a silent one', found({ probe: 'unanswered' }), {}, 'initialize'],
    ['a silent one, after a day', found({ probe: 'unanswered' }), { ageMs: DAY_MS }, 'both'],
    ['one that ends at the probe, after a day', found({ probe: 'fatal' }), { ageMs: DAY_MS }, 'initialize'],
    ['one that ended, with another program', found({ probe: 'fatal' }), { program: 'other' }, 'probe'],
    ['one of 2026, after a year', of2026, { ageMs: 365 * DAY_MS }, 'patient'],
    ['one of 2026 with another program', of2026, { program: 'other' }, 'probe'],
    ['one that dials in', found({ program: '' }), { program: '', comesByItself: true }, 'probe'],
    ['one that dials in and hung up', found({ probe: 'fatal' }), { comesByItself: true }, 'initialize'],
    ['one that hung up yesterday', found({ probe: 'fatal' }), { comesByItself: true, ageMs: DAY_MS }, 'probe'],
  ])('%s', (_, before, facts, plan) => {
    expect(planFor({ found: before, ageMs: 1, program: 'mark', comesByItself: false, ...facts })).toBe(plan);
  });
});
