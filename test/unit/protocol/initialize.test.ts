import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bridgeInitializeResult,
  type ClientCapabilities,
  capabilitiesCover,
  readClientInitialize,
  sameCapabilities,
  writeInitializeResult,
} from '../../../src/protocol/initialize.ts';
import { FlushTurn, Outbox } from '../../../src/wire/outbox.ts';
import { Splice } from '../../../src/wire/splice.ts';
import { jsonText, membersOf } from '../../support/json-text.ts';
import { ManualTurn, RecordingSink } from '../../support/recording-sink.ts';

const OURS = { 'mcp-bridge/clientId': 'me', 'mcp-bridge/instanceId': 'i1' };

function written(result: string, protocolVersion = '2025-06-18', meta: object = OURS): string {
  const turn = new ManualTurn();
  const sink = new RecordingSink();
  const outbox = new Outbox(sink, new FlushTurn(turn.defer));
  writeInitializeResult(outbox, new Splice(), { result: Buffer.from(`${result}\n`), protocolVersion, meta });
  outbox.endFrame();
  turn.end();
  return sink.text.slice(0, -1);
}

describe("a server's hello", () => {
  test.each([
    ['{}', '{"_meta":OURS}'],
    ['{ }', '{ "_meta":OURS}'],
    ['{"protocolVersion":"2024-11-05"}', '{"protocolVersion":"2025-06-18","_meta":OURS}'],
    ['{"protocolVersion": 7 , "b":1.0}', '{"protocolVersion": "2025-06-18" , "b":1.0,"_meta":OURS}'],
    ['{"_meta":{}}', '{"_meta":{MEMBERS}}'],
    ['{"_meta": { } ,"protocolVersion":"x"}', '{"_meta": { MEMBERS} ,"protocolVersion":"2025-06-18"}'],
    ['{"_meta":{"a":[1.0]},"z":"é"}', '{"_meta":{"a":[1.0],MEMBERS},"z":"é"}'],
    ['{"_meta":null}', '{"_meta":OURS}'],
    ['{"_meta":[1,2],"a":1}', '{"_meta":OURS,"a":1}'],
    ['{"_meta":"}"}', '{"_meta":OURS}'],
    ['{"\\u005fmeta":{"a":1}}', '{"\\u005fmeta":{"a":1,MEMBERS}}'],
    [
      '{"x":{"protocolVersion":"2024-11-05","_meta":{}}}',
      '{"x":{"protocolVersion":"2024-11-05","_meta":{}},"_meta":OURS}',
    ],
  ])('%s becomes %s', (result, expected) => {
    const ours = JSON.stringify(OURS);
    expect(written(result)).toBe(expected.replace('OURS', ours).replace('MEMBERS', ours.slice(1, -1)));
  });

  test('differs for a client in the version and the _meta, and in no other byte', () => {
    const others = fc.array(
      fc.tuple(fc.constantFrom('capabilities', 'serverInfo', 'instructions', 'é', '\\n'), jsonText),
      { maxLength: 4 },
    );
    const version = fc.option(jsonText, { nil: undefined });
    const meta = fc.option(fc.oneof(jsonText, fc.constantFrom('{}', '{"a":1}')), { nil: undefined });
    fc.assert(
      fc.property(others, version, meta, fc.nat(), (rest, protocolVersion, theirs, shift) => {
        const members = rest.map(([key, value]) => `"${key}" : ${value}`);
        if (protocolVersion !== undefined)
          members.splice(shift % (members.length + 1), 0, `"protocolVersion":${protocolVersion}`);
        if (theirs !== undefined) members.splice((shift >> 2) % (members.length + 1), 0, `"_meta":${theirs}`);
        const before = `{${members.join(', ')}}`;
        const after = written(before);
        const original = JSON.parse(before) as Record<string, unknown>;
        const isMerged =
          typeof original._meta === 'object' && original._meta !== null && !Array.isArray(original._meta);
        expect(JSON.parse(after)).toEqual({
          ...original,
          ...(protocolVersion === undefined ? {} : { protocolVersion: '2025-06-18' }),
          _meta: { ...(isMerged ? (original._meta as object) : {}), ...OURS },
        });
        const untouched = (text: string): unknown[] =>
          membersOf(text).flatMap(({ rawKey, text: value }) =>
            rawKey === '_meta' || rawKey === 'protocolVersion' ? [] : [[rawKey, value]],
          );
        expect(untouched(after)).toEqual(untouched(before));
      }),
      { numRuns: 1000 },
    );
  });

  test('with our names in its _meta already gives the client our values', () => {
    const meta = (JSON.parse(written('{"_meta":{"mcp-bridge/clientId":"forged","a":1}}')) as { _meta: unknown })._meta;
    expect(meta).toEqual({ ...OURS, a: 1 });
  });

  test('that is no object is a bug of ours', () => {
    expect(() => written('[]')).toThrow('Invariant broken');
  });
});

describe("the bridge's own hello", () => {
  test('says what the client-discovery document asks for', () => {
    expect(JSON.parse(bridgeInitializeResult({ protocolVersion: '2025-06-18', version: '1.2.3', meta: OURS }))).toEqual(
      {
        protocolVersion: '2025-06-18',
        capabilities: { supportsMessageRouting: true },
        serverInfo: { name: 'mcp-bridge-server', version: '1.2.3', protocols: ['mcp/1.0'] },
        _meta: OURS,
      },
    );
  });
});

describe("a client's initialize", () => {
  test('is read in the shape of MCP', () => {
    const hello = readClientInitialize({
      protocolVersion: '2025-03-26',
      capabilities: { sampling: { tools: {} }, elicitation: 'yes', experimental: {} },
      clientInfo: { name: 'n', version: 'v' },
      _meta: { 'mcp-bridge/view': 'server:x', 'mcp-bridge/clientId': 'me', other: 1 },
    });
    expect(hello).toEqual({
      name: 'n',
      version: 'v',
      clientInfo: { name: 'n', version: 'v' },
      protocolVersion: '2025-03-26',
      role: 'client',
      view: 'server:x',
      clientId: 'me',
      capabilities: { sampling: { tools: {} }, experimental: {} },
      accepted: [],
      wantsWholeResults: false,
      serverName: undefined,
    });
  });

  test('has the pid that the client states, else that of the process which connects for it', () => {
    const relay = { 'mcp-bridge/pid': 12 };
    expect(readClientInitialize({ processId: 7, _meta: relay })).toMatchObject({ pid: 7 });
    expect(readClientInitialize({ _meta: relay })).toMatchObject({ pid: 12 });
    expect(readClientInitialize({ _meta: { 'mcp-bridge/pid': '12' } })).toMatchObject({ pid: undefined });
    expect(readClientInitialize({})).toMatchObject({ pid: undefined });
  });

  test('is read in the shape of the client-discovery document', () => {
    const hello = readClientInitialize({
      processId: 7,
      clientInfo: { name: 'n', version: 'v', protocols: ['mcp/1.0'] },
    });
    expect(hello).toMatchObject({
      name: 'n',
      protocolVersion: '2025-11-25',
      role: 'client',
      view: undefined,
      clientId: undefined,
    });
  });

  test('may leave everything out, or say it in a wrong type', () => {
    const bare = { name: 'unknown', version: '', protocolVersion: '2025-11-25', role: 'client' };
    expect(readClientInitialize({})).toMatchObject(bare);
    expect(readClientInitialize({ protocolVersion: 3, clientInfo: 'x', _meta: [] })).toMatchObject(bare);
    expect(readClientInitialize({ protocolVersion: '1999-01-01', clientInfo: { name: 7 } })).toMatchObject(bare);
  });

  test('has its names cut to a length', () => {
    expect(readClientInitialize({ clientInfo: { name: 'n'.repeat(1000), version: 'v'.repeat(1000) } })).toMatchObject({
      name: 'n'.repeat(256),
      version: 'v'.repeat(256),
    });
  });

  test.each([
    [undefined, 'params'],
    [null, 'params'],
    [[], 'params'],
    ['x', 'params'],
    [{ _meta: { 'mcp-bridge/role': 'king' } }, 'mcp-bridge/role'],
    [{ _meta: { 'mcp-bridge/role': null } }, 'client'],
    [{ _meta: { 'mcp-bridge/clientId': '' } }, 'mcp-bridge/clientId'],
    [{ _meta: { 'mcp-bridge/clientId': 'a b' } }, 'mcp-bridge/clientId'],
    [{ _meta: { 'mcp-bridge/clientId': 'é' } }, 'mcp-bridge/clientId'],
    [{ _meta: { 'mcp-bridge/clientId': 'a\n' } }, 'mcp-bridge/clientId'],
    [{ _meta: { 'mcp-bridge/clientId': 'x'.repeat(129) } }, 'mcp-bridge/clientId'],
    [{ _meta: { 'mcp-bridge/clientId': 7 } }, 'mcp-bridge/clientId'],
    [{ _meta: { 'mcp-bridge/view': 7 } }, 'mcp-bridge/view'],
  ])('%j is refused, or taken, with a word on %s', (params, word) => {
    const hello = readClientInitialize(params);
    expect(typeof hello === 'string' ? hello : hello.role).toContain(word);
  });

  test('may have an id of 128 characters', () => {
    expect(readClientInitialize({ _meta: { 'mcp-bridge/clientId': '~'.repeat(128) } })).toMatchObject({
      clientId: '~'.repeat(128),
    });
  });
});

describe('what clients offer', () => {
  const capabilitiesRead = (capabilities: unknown): ClientCapabilities => {
    const hello = readClientInitialize({ capabilities });
    if (typeof hello === 'string') throw new Error(hello);
    return hello.capabilities;
  };
  const detail = fc.dictionary(fc.constantFrom('url', 'form', 'tools'), fc.constantFrom({}, { a: 1 }, true), {
    maxKeys: 3,
    noNullPrototype: true,
  });
  const someOffers = fc
    .dictionary(fc.constantFrom('roots', 'sampling', 'elicitation', 'extensions'), detail, {
      maxKeys: 4,
      noNullPrototype: true,
    })
    .map((capabilities) => capabilitiesRead(capabilities));

  test('is what a server can ask for, with its details, and nothing else', () => {
    const negotiated = { extensions: { 'a/b': { c: 1 } }, experimental: { d: {} } };
    const tasks = { list: {}, cancel: {}, requests: { sampling: { createMessage: {} } } };
    const others = { logging: {}, supportsMessageRouting: true };
    expect(
      capabilitiesRead({ sampling: { tools: {} }, roots: { listChanged: true }, tasks, ...negotiated, ...others }),
    ).toEqual({
      sampling: { tools: {} },
      roots: { listChanged: true },
      tasks: { cancel: {}, requests: { sampling: { createMessage: {} } } },
      ...negotiated,
    });
    expect(capabilitiesRead({ sampling: true, elicitation: null, roots: [] })).toEqual({});
    for (const odd of [undefined, null, 7, 'x', []]) expect(capabilitiesRead(odd)).toEqual({});
  });

  test('may take 16 KiB, or the client is refused: all of it is compared, kept and written down for each server', () => {
    const ofBytes = (bytes: number) => ({
      experimental: { x: { y: 'y'.repeat(bytes - '{"experimental":{"x":{"y":""}}}'.length) } },
    });
    expect(capabilitiesRead(ofBytes(16_384))).toEqual(ofBytes(16_384));
    expect(readClientInitialize({ capabilities: ofBytes(16_385) })).toBe(
      'capabilities are longer than 16384 characters',
    );
    expect(capabilitiesRead({ ...ofBytes(16_384), other: 'not looked at' })).toEqual(ofBytes(16_384));
  });

  test('is compared whole: keys may stand in any order, and no text is taken for another', () => {
    const some = (value: unknown): ClientCapabilities => ({ experimental: { value } });
    expect(sameCapabilities(some({ a: 1, b: [{ c: 2, d: 3 }] }), some({ b: [{ c: 2, d: 3 }], a: 1 }))).toBe(true);
    expect(sameCapabilities(some({ 'a":1,"b': 1 }), some({ a: 1, b: 1 }))).toBe(false);
    expect(sameCapabilities(some('{}'), some({}))).toBe(false);
    expect(sameCapabilities(some([]), some({}))).toBe(false);
  });

  test.each<[ClientCapabilities, ClientCapabilities, boolean]>([
    [{ sampling: {} }, {}, true],
    [{}, { sampling: {} }, false],
    [{ sampling: {}, elicitation: {} }, { sampling: {} }, true],
    [{ elicitation: { form: {}, url: {} } }, { elicitation: { url: {} } }, true],
    [{ elicitation: { form: {} } }, { elicitation: { url: {} } }, false],
    [{ roots: { listChanged: true } }, { roots: {} }, true],
    [{ roots: { listChanged: false } }, { roots: { listChanged: true } }, false],
    [{ sampling: {} }, { sampling: { tools: {} } }, false],
  ])('%j covers %j: %s', (started, wanted, covers) => {
    expect(capabilitiesCover(started, wanted)).toBe(covers);
  });

  test('covers itself and nothing, and is the same as another when each covers the other', () => {
    fc.assert(
      fc.property(someOffers, someOffers, someOffers, (a, b, c) => {
        expect(capabilitiesCover(a, a)).toBe(true);
        expect(capabilitiesCover(a, {})).toBe(true);
        expect(sameCapabilities(a, b)).toBe(capabilitiesCover(a, b) && capabilitiesCover(b, a));
        expect(sameCapabilities(a, b)).toBe(sameCapabilities(b, a));
        if (capabilitiesCover(a, b) && capabilitiesCover(b, c)) expect(capabilitiesCover(a, c)).toBe(true);
        const swapped = Object.fromEntries(Object.entries(a).reverse()) as ClientCapabilities;
        expect(sameCapabilities(a, swapped)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
