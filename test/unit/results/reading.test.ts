import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { contentOf } from '../../../src/results/content.ts';
import { type ReadArguments, type ReadableResult, readWhole } from '../../../src/results/reading.ts';
import { WholeText } from '../../../src/results/whole-text.ts';
import { runs } from '../../support/runs.ts';

function wholeOf(result: object): ReadableResult {
  const bytes = Buffer.from(`${JSON.stringify(result)}\n`);
  const content = contentOf(bytes, 0);
  if (content === undefined) throw new Error('no result of a tool');
  return { bytes, parts: content.parts, structured: content.structured };
}

const texts = (...all: readonly string[]): ReadableResult =>
  wholeOf({ content: all.map((text) => ({ type: 'text', text })) });

const ALL: ReadArguments = { offset: 0, limit: 1_000_000, find: undefined, path: undefined };
let pauses = 0;
const read = (whole: ReadableResult, args: Partial<ReadArguments>): Promise<string> =>
  readWhole(whole, { ...ALL, ...args }, () => {
    pauses++;
    return Promise.resolve();
  });

/** A text without the line of the bridge behind it. */
const bare = (text: string): string => text.replace(/\n?\[mcp-bridge: [^\n]*\]$/, '');
const nextOf = (text: string): number | undefined => {
  const next = /goes on at offset (\d+)/.exec(text)?.[1];
  return next === undefined ? undefined : Number(next);
};

const LINE = fc.constantFrom('', 'a', 'needle', 'é漢😀', '\\', '"', 'two words', 'x'.repeat(30));
const anyText = fc.array(LINE, { maxLength: 12 }).map((lines) => lines.join('\n'));

describe('the pages of a kept result', () => {
  test('make up all of its text, whatever their limits are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyText, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 60 }),
        async (all, limit) => {
          const whole = texts(...all);
          let text = '';
          let offset: number | undefined = 0;
          for (let n = 0; offset !== undefined && n < 1000; n++) {
            const page = await read(whole, { offset, limit });
            text += page.replace(/\[mcp-bridge: [^\n]*\]$/, '').replace(/\n$/, '');
            const next = nextOf(page);
            if (next !== undefined) expect(next).toBeGreaterThan(offset);
            offset = next;
          }
          expect(text).toBe(all.join('\n'));
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test('name what is no text, and show a link as it is', async () => {
    const link = { type: 'resource_link', uri: 'file:///a', name: 'a' };
    const whole = wholeOf({
      content: [
        { type: 'text', text: 'one' },
        { type: 'image', mimeType: 'image/png', data: 'AAAA' },
        { type: 'resource', resource: { uri: 'x:1', text: 'two' } },
        { type: 'resource', resource: { uri: 'x:2', mimeType: 'a/b', blob: 'AAAA' } },
        link,
        { type: 'newer', data: 1 },
      ],
    });
    expect(bare(await read(whole, {}))).toBe(
      `one\n[image, image/png]\ntwo\n[resource, a/b]\n${JSON.stringify(link)}\n[newer]`,
    );
  });

  test('end where the text ends, also for an offset behind it', async () => {
    expect(await read(texts('abc'), { offset: 99 })).toBe('[mcp-bridge: bytes 3 to 3 of 3; the end]');
    expect(await read(texts(), {})).toBe('[mcp-bridge: bytes 0 to 0 of 0; the end]');
  });
});

describe('the lines with a text', () => {
  test('are those that decoding all of it finds, each with the offset that it begins at', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 3 }), async (all) => {
        const whole = texts(...all);
        const found = bare(await read(whole, { find: 'NEEDLE' }))
          .split('\n')
          .filter((line) => line !== '');
        const wanted = all
          .join('\n')
          .split('\n')
          .filter((line) => line.includes('needle'));
        expect(found.map((line) => line.replace(/^\d+: /, ''))).toEqual(wanted);
        const text = new WholeText(whole.bytes, whole.parts);
        for (const line of found) {
          const [, at, words = ''] = /^(\d+): (.*)$/.exec(line) ?? [];
          expect(text.page(Number(at), 1_000_000).text.startsWith(words)).toBe(true);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  test('of a line of a megabyte are what stands around, wherever it stands, and once', async () => {
    for (const before of [0, 16_380, 16_384, 12_285, 500_001]) {
      const page = await read(texts(`${'x'.repeat(before)}Needle${'y'.repeat(1_000_000)}`), { find: 'nEEdle' });
      const lines = bare(page).split('\n');
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain('Needle');
      expect(page.length).toBeLessThan(1000);
    }
  });

  test('of a line of a megabyte are all places, in pages, each with the offset where it is', async () => {
    const all = Array.from({ length: 300 }, (_, i) => `${'é"x'.repeat(40 + ((i * 37) % 300))}Needle ${i};`).join('');
    const whole = texts(all);
    const text = new WholeText(whole.bytes, whole.parts);
    const seen = new Set<string>();
    for (let offset: number | undefined = 0, pages = 0; offset !== undefined; pages++) {
      expect(pages).toBeLessThan(400);
      const page: string = await read(whole, { find: 'needle', offset, limit: 2000 });
      for (const line of bare(page).split('\n')) {
        const [, at] = /^(\d+): /.exec(line) ?? [];
        expect(text.page(Number(at), 10).text).toMatch(/^Needle/);
        for (const [, n = ''] of line.matchAll(/Needle (\d+);/g)) seen.add(n);
      }
      offset = nextOf(page);
    }
    expect(seen.size).toBeGreaterThan(280); // the number of a place may stand behind what is shown
    expect(seen).toContain('299');
  });

  test('come in pages, of which none is missed', async () => {
    const whole = texts(Array.from({ length: 100 }, (_, i) => `line ${i} needle`).join('\n'));
    const lines: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: string = await read(whole, { find: 'needle', offset, limit: 300 });
      lines.push(...bare(page).split('\n'));
      offset = nextOf(page);
    }
    expect(lines.map((line) => line.replace(/^\d+: /, ''))).toEqual(
      Array.from({ length: 100 }, (_, i) => `line ${i} needle`),
    );
  });

  test('of structured content are found where there is no text', async () => {
    const whole = wholeOf({ content: [], structuredContent: { items: ['a needle'] } });
    expect(await read(whole, { find: 'needle' })).toContain('0: {"items":["a needle"]}');
    expect(bare(await read(whole, { offset: 10 }))).toBe('["a needle"]}'.slice(1));
  });

  test('may be none', async () => {
    expect(await read(texts('a'), { find: 'b' })).toBe('[mcp-bridge: 0 places have it, each with its offset; the end]');
  });
});

describe('a value', () => {
  const value = { items: Array.from({ length: 50 }, (_, id) => ({ id, name: `é "${id}"` })) };

  test('comes out of the structured content, else out of the text', async () => {
    const structured = wholeOf({ content: [{ type: 'text', text: 'words' }], structuredContent: value });
    for (const whole of [structured, texts(JSON.stringify(value)), texts(JSON.stringify(value, undefined, 2))]) {
      expect(JSON.parse(bare(await read(whole, { path: 'items[7]' })))).toEqual(value.items[7]);
      expect(JSON.parse(bare(await read(whole, { path: '$.items[*].id' })))).toEqual(value.items.map(({ id }) => id));
    }
  });

  test('comes out of several texts as out of a list', async () => {
    const whole = texts(...value.items.map((item) => JSON.stringify(item)));
    expect(bare(await read(whole, { path: '[3].name' }))).toBe('"é \\"3\\""');
    expect(JSON.parse(bare(await read(whole, { path: '[*].id' })))).toHaveLength(50);
  });

  test('comes out of the text where the path leads nowhere in the structured content', async () => {
    const whole = wholeOf({
      content: [{ type: 'text', text: JSON.stringify(value) }],
      structuredContent: { content: JSON.stringify(value) },
    });
    expect(bare(await read(whole, { path: 'items[3].id' }))).toBe('3');
    await expect(read(whole, { path: 'itmes' })).rejects.toThrow(
      'The structured content: The value has the members content. The text: The value has the members items',
    );
  });

  test.each([
    ['characters of three bytes', '漢'],
    ['characters that have to be escaped', '\u0001'],
    ['pairs', '😀'],
    ['quotes', '"'],
  ])('or a line has no longer pages than its limit says: %s', async (_, character) => {
    const limit = 2000;
    const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(bare(text))) - 2;
    const whole = texts(JSON.stringify({ a: character.repeat(10_000), b: `${`${character}\n`.repeat(3000)}` }));
    let all = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: string = await read(whole, { path: 'a', offset, limit });
      expect(bytesOf(page)).toBeLessThanOrEqual(limit);
      expect(bytesOf(page)).toBeGreaterThan(0);
      all += bare(page);
      offset = nextOf(page);
    }
    expect(JSON.parse(all)).toBe(character.repeat(10_000));
    const lines = texts(`${character}\n`.repeat(3000));
    expect(bytesOf(await read(lines, { find: character, limit }))).toBeLessThanOrEqual(limit);
  });

  test('comes in pages', async () => {
    const whole = texts(JSON.stringify(value));
    let text = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: string = await read(whole, { path: 'items', offset, limit: 100 });
      text += bare(page);
      offset = nextOf(page);
    }
    expect(JSON.parse(text)).toEqual(value.items);
  });

  test.each([
    ['itmes', 'The value has the members items'],
    ['items[99]', '$.items is a list of 50'],
    ['items[', 'A path is such as items[3].name'],
  ])('that is not there is an error: %s', async (path, words) => {
    await expect(read(texts(JSON.stringify(value)), { path })).rejects.toThrow(words);
  });

  test('of a text that is no JSON is an error', async () => {
    await expect(read(texts('words'), { path: 'a' })).rejects.toThrow('The text is no JSON');
  });
});

test('work of 64 KiB is followed by a pause', async () => {
  const whole = texts(`${'a line of some words\n'.repeat(100_000)}`);
  for (const args of [{ find: 'nothing' }, { path: '[0]' }]) {
    pauses = 0;
    await read(args.path === undefined ? whole : texts(JSON.stringify(['x'.repeat(2_000_000), 1])), {
      ...args,
      ...(args.path !== undefined && { path: '[1]' }),
    });
    expect(pauses).toBeGreaterThan(2_000_000 / 65_536 - 2);
  }
});
