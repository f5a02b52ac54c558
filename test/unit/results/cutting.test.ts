// The cut of random results, compared with a slow one: it takes the answer apart by JSON's grammar, decodes it, and tries every
// place of a text. What comes through the bridge is looked at, so the bytes around the cut are tested too.

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { ERA_2025 } from '../../../src/protocol/era-2025.ts';
import { contentOf } from '../../../src/results/content.ts';
import { cuttingOf } from '../../../src/results/cutting.ts';
import { Envelope, Field } from '../../../src/wire/envelope.ts';
import { DEEPEST } from '../../../src/wire/json-grammar.ts';
import { CoreInMemory, type Message, type TestClient } from '../../support/core-in-memory.ts';
import { expectProportionalWork } from '../../support/growth.ts';
import { frameAt, jsonText, membersOf, parsed, place, stringText } from '../../support/json-text.ts';
import { runs } from '../../support/runs.ts';

const MOST = 60;

// It is loaded when it is first needed, which takes longer than a test lets things happen.
beforeAll(() => import('../../../src/meta-tools/schema-compiler.ts'));

// --- random results ---

const space = fc.constantFrom('', '', '', ' ', '\t', '  ');
const longText = fc.array(fc.oneof(stringText, fc.constantFrom('"a line\\n"', '"word, "', '"\\\\n"')), {
  maxLength: 12,
});
const textOfText = longText.map((texts) => `"${texts.map((text) => text.slice(1, -1)).join('')}"`);

const members = (...all: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.tuple(...all), fc.subarray(['"annotations":{"a":[1]}', '"x":"\\"y"'] as const), space)
    .map(([own, more, gap]) => `{${gap}${[...own, ...more].join(`${gap},${gap}`)}${gap}}`);
const member = (name: string, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(`"${name}"`, `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`), space, value)
    .map(([key, gap, text]) => `${key}${gap}:${gap}${text}`);
const type = (name: string): fc.Arbitrary<string> => fc.constant(`"type":"${name}"`);

const ITEM = fc.oneof(
  { weight: 4, arbitrary: members(type('text'), member('text', textOfText)) },
  members(member('text', textOfText), type('text')),
  members(type('resource'), member('resource', members(member('text', textOfText), fc.constant('"mimeType":"a/b"')))),
  members(type('resource'), member('resource', jsonText)),
  members(type('resource_link'), member('uri', stringText)),
  members(type('image'), member('data', textOfText), fc.constant('"mimeType":"image/png"')),
  members(type('text'), member('text', jsonText)),
  jsonText,
);

const resultText = fc
  .tuple(
    fc.array(ITEM, { maxLength: 6 }),
    space,
    fc.subarray(['"isError":true', '"_meta":{"content":[1]}', '"theirs":["content",{"content":"\\"x"}]'] as const),
    fc.option(jsonText),
    fc.nat({ max: 3 }),
  )
  .map(([items, gap, others, structured, at]) => {
    const list = `"content":${gap}[${gap}${items.join(`${gap},${gap}`)}${gap}]`;
    const all: string[] = [...others, ...(structured === null ? [] : [`"structuredContent":${structured}`])];
    all.splice(at, 0, list);
    return `{${gap}${all.join(`${gap},`)}${gap}}`;
  });

// --- the slow cutter ---

/** One unit of a JSON string that may not be divided: a character, an escape, or a pair of escapes. */
const UNITS = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]/gsu;
const bytesIn = (text: string): number => Buffer.byteLength(text);

function slowBeginning(raw: string, most: number): string {
  const ends: { readonly text: string; readonly unit: string }[] = [];
  let text = '';
  for (const [unit] of raw.matchAll(UNITS)) {
    if (bytesIn(text + unit) > most) break;
    text += unit;
    ends.push({ text, unit });
  }
  const least = Math.floor(bytesIn(text) / 2);
  // Both bytes of the end of a line stand in the second half.
  const line = ends.findLast(({ text: end, unit }) => unit === '\\n' && bytesIn(end) - 2 >= least);
  const gap = ends.findLast(({ text: end, unit }) => {
    const size = bytesIn(end);
    return /[ ,]/.test(unit) && size > Math.max(least, bytesIn(text) - 256);
  });
  return (line ?? gap ?? { text }).text;
}

interface SlowItem {
  readonly value: unknown;
  /** The text as it is spelled, with what makes an item out of a part of it; undefined for an item that is no text. */
  readonly raw?: string;
  readonly with?: (text: string) => unknown;
  readonly bytes: number;
  readonly isData: boolean;
}

function slowItem(text: string, spelled: string): SlowItem {
  const value = JSON.parse(text) as unknown;
  const item = (text.startsWith('{') ? value : {}) as Record<string, unknown>;
  const memberText = (object: string, name: string): string | undefined =>
    object.startsWith('{') ? membersOf(object).findLast(({ key }) => key === name)?.text : undefined;
  const decode = (inner: string): unknown => JSON.parse(`"${inner}"`);
  const raw = memberText(text, 'text');
  if (item.type === 'text' && raw?.startsWith('"') === true)
    return {
      ...{ value, raw: raw.slice(1, -1), bytes: bytesIn(raw) - 2, isData: false },
      with: (inner) => ({ ...item, text: decode(inner) }),
    };
  const resource = item.type === 'resource' ? memberText(text, 'resource') : undefined;
  const embedded = resource === undefined ? undefined : memberText(resource, 'text');
  if (resource !== undefined && embedded?.startsWith('"') === true)
    return {
      ...{ value, raw: embedded.slice(1, -1), bytes: bytesIn(embedded) - 2, isData: false },
      with: (inner) => ({ ...item, resource: { ...(JSON.parse(resource) as object), text: decode(inner) } }),
    };
  if (item.type === 'resource_link') return { value, bytes: bytesIn(spelled), isData: false };
  return { value, bytes: 0, isData: true };
}

/** The items that should be left of a result; undefined if all of them are. */
function slowCut(items: readonly SlowItem[], most: number): unknown[] | undefined {
  if (items.reduce((sum, { bytes }) => sum + bytes, 0) <= most) return undefined;
  const left: unknown[] = [];
  let room = most;
  let isFull = false;
  for (const item of items) {
    if (item.isData || (!isFull && item.bytes <= room)) left.push(item.value);
    else if (!isFull) {
      isFull = true;
      const begin = item.raw === undefined ? '' : slowBeginning(item.raw, room);
      if (begin !== '') left.push(item.with?.(begin));
    }
    room -= item.bytes;
  }
  return left;
}

/** The items of the content as they are spelled. */
function spelledItems(result: string): string[] {
  const items: string[] = [];
  const tokens = [...result.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s"[\]{},:]+/gs)];
  const begin = tokens.findIndex(([token], i) => token === '"content"' && depthAt(tokens, i) === 1) + 2;
  const depth = depthAt(tokens, begin + 1);
  let from: number | undefined;
  for (let i = begin + 1, level = depth; ; i++) {
    const [token = '', at] = [tokens[i]?.[0], tokens[i]?.index ?? 0];
    if (level === depth && (token === ',' || token === ']')) {
      const last = tokens[i - 1];
      if (from !== undefined) items.push(result.slice(from, (last?.index ?? 0) + (last?.[0].length ?? 0)));
      from = undefined;
      if (token === ']') return items;
      continue;
    }
    from ??= at;
    if ('[{'.includes(token)) level++;
    if (']}'.includes(token)) level--;
  }
}

function depthAt(tokens: readonly RegExpExecArray[], end: number): number {
  return tokens
    .slice(0, end)
    .reduce((depth, [token]) => depth + ('[{'.includes(token) ? 1 : ']}'.includes(token) ? -1 : 0), 0);
}

const TOOL = { name: 'tool', inputSchema: { type: 'object' } };

async function ready(view: string): Promise<{ core: CoreInMemory; client: TestClient }> {
  const core = new CoreInMemory({ servers: ['memory', 'other'], results: { maxBytes: MOST } });
  for (const server of ['memory', 'other']) core.server(server).has({ tools: [TOOL] });
  const client = await core.ready({ _meta: { 'mcp-bridge/view': view } });
  client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  for (let n = 0; n < 20 && client.answersTo('list').length === 0; n++) await core.settle();
  return { core, client };
}

const isStructured = ({ key }: { key: string }): boolean => key === 'structuredContent';

/** The bytes of the structured content as it is spelled. */
function spelledBytes(result: string): number {
  const from = result.indexOf('"structuredContent":') + '"structuredContent":'.length;
  for (let to = result.length; to > from; to--) {
    const text = result.slice(from, to);
    if (/\S$/.test(text) && parsed(text) !== undefined) return bytesIn(text.trimStart());
  }
  throw new Error('there is none');
}

describe('a cut result', () => {
  const asked = { server: 'memory', tool: 'tool', arguments: {} };
  test.each([
    ['all', { name: 'memory__tool' }],
    ['discover', { name: 'execute_tool', arguments: asked }],
  ])('has what a slow cutter leaves in the view %s, and all else as it was', async (view, params) => {
    const { core, client } = await ready(view);
    let id = 0;
    let cuts = 0;
    await fc.assert(
      fc.asyncProperty(resultText, fc.nat({ max: 2 }), async (result, order) => {
        client.say({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params });
        const came = (): readonly Message[] => core.server().requests.filter(({ method }) => method === 'tools/call');
        for (let n = 0; n < 20 && came().length < id; n++) await core.settle();
        const theirs = JSON.stringify(came().at(-1)?.id);
        const parts = ['"jsonrpc":"2.0"', `"id":${theirs}`];
        parts.splice(order, 0, `"result":${result}`);
        core.server().say(`{${parts.join()}}`);
        await core.settle();
        const answer = client.answersTo(id)[0];
        const whole = JSON.parse(result) as Record<string, unknown>;
        const items = spelledItems(result).map((text) => slowItem(text, text));
        const structured = view === 'all' ? undefined : membersOf(result).find(isStructured)?.text;
        const structuredBytes = structured === undefined ? 0 : spelledBytes(result);
        const isSmall = structuredBytes <= MOST / 10;
        const isOver = structuredBytes + items.reduce((sum, { bytes }) => sum + bytes, 0) > MOST;
        const room = isSmall ? MOST - structuredBytes : MOST;
        const left = isOver ? (slowCut(items, room) ?? items.map(({ value }) => value)) : undefined;
        if (left === undefined) {
          expect(answer?.result).toEqual(whole);
          return;
        }
        cuts++;
        const { content, ...others } = (answer?.result ?? {}) as { content: unknown[] };
        const kept = Object.entries(whole).filter(([name]) => isSmall || name !== 'structuredContent');
        const [note] = content.slice(-2) as { text: string }[];
        const ours = note?.text.includes('content has') === true && note.text.includes('are above') ? 3 : 2;
        expect({ ...others, content: content.slice(0, -ours) }).toEqual({ ...Object.fromEntries(kept), content: left });
        expect(note?.text).toContain('This result was cut');
        expect(Object.keys(answer?.result ?? {})).toEqual(kept.map(([name]) => name));
      }),
      { numRuns: runs(500), endOnFailure: true },
    );
    expect(cuts).toBeGreaterThan(50);
  });

  test('is read as a scan would read it', () => {
    const fields = Object.values(Field);
    const rest = fc.constantFrom('', ',"resultType":"complete"', ',"_meta":{"a":1},"isError":false');
    const heads = fc.constantFrom('', '"isError":true,', '"structuredContent":{"a":[]},"_meta":{},');
    fc.assert(
      fc.property(jsonText, stringText, heads, rest, place, place, (old, now, head, tail, from, to) => {
        const frame = (content: string): string =>
          `{"id":7,"result":{${head}"content": ${content} ${tail}},"jsonrpc":"2.0"}`;
        const [before, after] = [frameAt(frame(old), from), frameAt(frame(now), to)];
        const moved = new Envelope(ERA_2025.keysWithOutcome);
        const scanned = new Envelope(ERA_2025.keysWithOutcome);
        moved.scan(before.b, before.start, before.end, DEEPEST);
        scanned.scan(after.b, after.start, after.end, DEEPEST);
        moved.move(before.start, moved.span(Field.content), after.start, bytesIn(now));
        const spans = (envelope: Envelope): unknown =>
          fields.filter((field) => envelope.has(field)).map((field) => [field, envelope.span(field)]);
        expect(spans(moved)).toEqual(spans(scanned));
      }),
      { numRuns: runs(2000) },
    );
  });
});

describe('the work to cut a result', () => {
  const framed = (text: string): Buffer => Buffer.from(`${text}\n`);

  test('ends where too much stands outside of texts: what is behind is one part', () => {
    const nested = `{"type":"newer","payload":[${'[],'.repeat(400_000)}1]}`;
    const b = framed(`{"content":[{"type":"text","text":"first"},${nested},{"type":"text","text":"last"}]}`);
    const parts = contentOf(b, 0)?.parts ?? [];
    expect(parts.map(({ kind }) => kind)).toEqual(['text', 'item']);
    expect(b.toString('utf8', parts[1]?.item.from, parts[1]?.item.to)).toBe(`${nested},{"type":"text","text":"last"}`);
    const wide = `{${Array.from({ length: 200_000 }, (_, n) => `"k${n}":1`).join()},"type":"text","text":"x"}`;
    expect(contentOf(framed(`{"content":[${wide}]}`), 0)?.parts.map(({ kind }) => kind)).toEqual(['item']);
  });

  test('grows in proportion to its bytes at most', async () => {
    await expectProportionalWork(400_000, (size) => {
      const b = framed(`{"content":[${'{"type":"text","text":"x"},'.repeat(size)}{}]}`);
      const content = contentOf(b, 0);
      if (content === undefined) throw new Error('no content');
      expect(cuttingOf(b, content, 1000, true)?.items.length).toBeLessThanOrEqual(1001);
    });
  });
});
