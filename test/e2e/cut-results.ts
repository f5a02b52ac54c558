// What a client gets of results that are long for a model, as one body each: in both views that cut, for clients and servers
// of both eras, over each way to the bridge.

import { expect } from 'vitest';
import type { Bridge } from '../support/bridges.ts';
import { BOTH_CONTENTS, ERAS, EraClient } from '../support/era-client.ts';
import { type Message, textOf } from '../support/raw-client.ts';
import type { Scenario } from './scenarios.ts';

const MOST = 2000;
const CONFIG = { mcpServers: BOTH_CONTENTS, results: { maxBytes: MOST }, client: { view: 'discover' } };

interface Item {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
  readonly resource?: { readonly uri: string; readonly text?: string };
}

const text = (words: string): object => ({ type: 'text', text: words });
const lines = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i} é "${i}"`).join('\n');
const LONG = lines(500);

const IMAGE = { type: 'image', data: 'QUJD'.repeat(2000), mimeType: 'image/png' };
const AUDIO = { type: 'audio', data: 'QUJD'.repeat(2000), mimeType: 'audio/wav' };
const BLOB = { type: 'resource', resource: { uri: 'file:///a', mimeType: 'a/b', blob: 'QUJD'.repeat(2000) } };
const link = (n: number): object => ({ type: 'resource_link', uri: `file:///${n}`, name: `${n} ${'x'.repeat(300)}` });

/** Every client, view and server. */
async function each(bridge: Bridge, run: (client: EraClient, server: string) => Promise<void>): Promise<void> {
  for (const era of ERAS)
    for (const view of ['discover', 'all']) {
      const client = await EraClient.connect(bridge, era, view);
      await client.request('tools/list'); // from here on the names of all servers are known
      for (const server of Object.keys(BOTH_CONTENTS)) await run(client, server);
    }
}

const contentOf = ({ result }: Message): Item[] => result?.content as Item[];

/** The items of the server, and the two that the bridge has put behind them. */
function cut(answer: Message): { items: Item[]; note: string; uri: string; id: string; offset: number } {
  const content = contentOf(answer);
  const [note, link] = content.slice(-2);
  expect(note?.text).toContain('[mcp-bridge: This result was cut.');
  const { id, offset } = JSON.parse(/\{"id".*?\}/.exec(note?.text ?? '')?.[0] ?? '{}') as {
    id: string;
    offset: number;
  };
  expect(link).toMatchObject({ type: 'resource_link', uri: `mcp-bridge-result:${id}` });
  return { items: content.slice(0, -2), note: note?.text ?? '', uri: link?.uri ?? '', id, offset };
}

const give = (client: EraClient, server: string, result: object): Promise<Message> =>
  client.call(server, 'give', { result });

/** All that `read_result` reads from a place on. */
async function readAll(client: EraClient, id: string, offset: number): Promise<string> {
  let all = '';
  for (let next: number | undefined = offset; next !== undefined; ) {
    const page = textOf(await client.callTool('read_result', { id, offset: next }));
    const [, words = '', last = ''] = /^([\s\S]*?)\n?\[mcp-bridge: ([^\n]*)\]$/.exec(page) ?? [];
    expect(Buffer.byteLength(words)).toBeLessThanOrEqual(MOST);
    all += words;
    const found = /goes on at offset (\d+)/.exec(last)?.[1];
    next = found === undefined ? undefined : Number(found);
  }
  return all;
}

/** Structured content that no text repeats is shown as text, as far as it fits, and read_result goes on where that ends. */
async function expectBeginningShown(client: EraClient, answer: Message, words: string): Promise<void> {
  expect(answer.result).not.toHaveProperty('structuredContent');
  const [shown, note] = contentOf(answer);
  expect(words.startsWith(shown?.text ?? '-')).toBe(true);
  expect(Buffer.byteLength(JSON.stringify(shown?.text))).toBeGreaterThan(MOST - 300);
  expect(Buffer.byteLength(JSON.stringify(shown?.text))).toBeLessThanOrEqual(MOST + 2);
  const next = JSON.parse(/\{"id".*?\}/.exec(note?.text ?? '')?.[0] ?? '') as { path: string; offset: number };
  expect(next.path).toBe('$');
  const page = textOf(await client.callTool('read_result', next));
  const behind = page.replace(/\n\[mcp-bridge: [^\n]*\]$/, '');
  expect(words.startsWith((shown?.text ?? '') + behind)).toBe(true);
  expect(behind.length).toBeGreaterThan(MOST / 2);
}

export const CUT_RESULTS: readonly Scenario[] = [
  {
    title: 'a long text is cut at a line, and read_result reads the rest of it',
    config: CONFIG,
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const answer = await give(client, server, { content: [text(LONG)], isError: true, _meta: { theirs: 1 } });
        const { items, note, id, offset } = cut(answer);
        expect(items).toHaveLength(1);
        const shown = items[0]?.text ?? '';
        expect(shown.endsWith('\n')).toBe(true);
        expect(LONG.startsWith(shown)).toBe(true);
        expect(Buffer.byteLength(JSON.stringify(shown))).toBeGreaterThan(MOST / 2);
        expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThanOrEqual(MOST + 2);
        expect(note).toContain(`Its text has ${Buffer.byteLength(JSON.stringify(LONG)) - 2} bytes`);
        expect(answer.result).toMatchObject({ isError: true, _meta: { theirs: 1 } });
        if (client.era === '2026') expect(answer.result?.resultType).toBe('complete');
        expect(shown + (await readAll(client, id, offset))).toBe(LONG);
      }),
  },
  {
    title: 'each type of content is cut in its own way, and stays in its order',
    config: CONFIG,
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const content = [
          text('first'),
          IMAGE,
          { type: 'resource', resource: { uri: 'file:///long', mimeType: 'text/plain', text: LONG } },
          AUDIO,
          text('last'),
          link(1),
          BLOB,
        ];
        const { items, id } = cut(await give(client, server, { content }));
        const [one, image, embedded, ...others] = items;
        expect([one, image, ...others]).toEqual([text('first'), IMAGE, AUDIO, BLOB]);
        expect(embedded).toMatchObject({ type: 'resource', resource: { uri: 'file:///long', mimeType: 'text/plain' } });
        expect(LONG.startsWith(embedded?.resource?.text ?? '-')).toBe(true);
        const all = await readAll(client, id, 0);
        expect(all.replace(/\n(?=\[mcp-bridge)/g, '')).toBe(
          [
            'first',
            '[image, image/png]',
            LONG,
            '[audio, audio/wav]',
            'last',
            JSON.stringify(link(1)),
            '[resource, a/b]',
          ].join('\n'),
        );
      }),
  },
  {
    title: 'links are left out one by one, and data alone is never cut',
    config: CONFIG,
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const links = Array.from({ length: 20 }, (_, n) => link(n));
        const { items } = cut(await give(client, server, { content: links }));
        expect(items.length).toBeGreaterThan(2);
        expect(items).toEqual(links.slice(0, items.length));
        const data = [IMAGE, AUDIO, BLOB, { type: 'newer', payload: 'x'.repeat(9000) }];
        expect(contentOf(await give(client, server, { content: data }))).toEqual(data);
        const short = [text('x'.repeat(MOST - 100))];
        expect(contentOf(await give(client, server, { content: short }))).toEqual(short);
      }),
  },
  {
    title: 'structured content is whole in all, and left out in discover; read_result takes a value out of it',
    config: CONFIG,
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const structuredContent = { items: Array.from({ length: 300 }, (_, n) => ({ n, name: `item ${n}` })) };
        const words = JSON.stringify(structuredContent);
        const answer = await give(client, server, { content: [text(words)], structuredContent });
        const { items, id, note } = cut(answer);
        const isWhole = client.view === 'all';
        expect(answer.result?.structuredContent).toEqual(isWhole ? structuredContent : undefined);
        expect(note).toContain(
          isWhole ? 'content is whole' : `content (${Buffer.byteLength(words)} bytes) is left out`,
        );
        expect(words.startsWith(items[0]?.text ?? '-')).toBe(true);
        const value = textOf(await client.callTool('read_result', { id, path: 'items[250].name' }));
        expect(value.split('\n')[0]).toBe('"item 250"');
        const found = textOf(await client.callTool('read_result', { id, find: 'ITEM 299' }));
        expect(found).toContain('item 299');
        const small = { content: [text(LONG)], structuredContent: { a: 1 } };
        expect((await give(client, server, small)).result?.structuredContent).toEqual({ a: 1 });
        const alone = await give(client, server, { content: [], structuredContent });
        if (isWhole) expect(alone.result).toMatchObject({ content: [], structuredContent });
        else await expectBeginningShown(client, alone, words);
      }),
  },
  {
    title: 'the link to the whole result can be read, by its client and nobody else',
    config: CONFIG,
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const { uri, id } = cut(await give(client, server, { content: [text(LONG), IMAGE, text('end')] }));
        const { result } = await client.request('resources/read', { uri });
        expect(result?.contents).toEqual([{ uri, mimeType: 'text/plain', text: `${LONG}\n[image, image/png]\nend` }]);
        for (const era of ERAS) {
          const other = await EraClient.connect(bridge, era, client.view);
          const refused = await other.callTool('read_result', { id });
          expect(refused.error).toMatchObject({ code: -32602, data: { code: 'RESULT_NOT_FOUND' } });
          expect((await other.request('resources/read', { uri })).error?.message).toContain('There is no such result');
          const unknown = await other.callTool('read_result', { id: 'x'.repeat(id.length) });
          expect(refused.error?.message.replace(id, '')).toBe(unknown.error?.message.replace(/x{12}/, ''));
          other.raw.end();
        }
      }),
  },
  {
    title: 'a server that is seen alone is never cut',
    config: CONFIG,
    async run(bridge) {
      for (const [server, era] of [
        ['old', '2025'],
        ['young', '2026'],
      ] as const) {
        const client = await EraClient.connect(bridge, era, `server:${server}`);
        const content = [text(LONG), IMAGE, link(1)];
        const { result } = await client.call(server, 'give', { result: { content } });
        expect(result?.content).toEqual(content);
        expect((await client.callTool('read_result', { id: 'x' })).error).toMatchObject({ code: -32601 });
      }
    },
  },
  {
    title: 'without a setting, `discover` cuts beyond 100,000 bytes and `all` does not',
    config: { mcpServers: BOTH_CONTENTS },
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const content = [text(lines(8000))];
        const answer = await give(client, server, { content });
        const { result } = await client.request('tools/list');
        expect(JSON.stringify(result).includes('"read_result"')).toBe(client.view === 'discover');
        if (client.view === 'all') return void expect(contentOf(answer)).toEqual(content);
        const shown = Buffer.byteLength(JSON.stringify(cut(answer).items[0]?.text)) - 2;
        expect(shown).toBeLessThanOrEqual(100_000);
        expect(shown).toBeGreaterThan(99_000);
      }),
  },
  {
    title: 'with results.maxBytes 0 nothing is cut, and there is no read_result',
    config: { mcpServers: BOTH_CONTENTS, results: { maxBytes: 0 } },
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const content = [text(lines(8000))];
        expect(contentOf(await give(client, server, { content }))).toEqual(content);
        const { result } = await client.request('tools/list');
        expect(JSON.stringify(result)).not.toContain('read_result');
        expect((await client.callTool('read_result', { id: 'x' })).error).toMatchObject({
          data: { code: 'TOOL_NOT_FOUND' },
        });
      }),
  },
  {
    title: 'read_result says what is wrong with its arguments',
    config: CONFIG,
    run: (bridge) =>
      each(bridge, async (client, server) => {
        const { id } = cut(await give(client, server, { content: [text(LONG)] }));
        const faults: readonly [object, string][] = [
          [{}, 'id is missing'],
          [{ id, offset: -1 }, 'offset must be a whole number, 0 or more'],
          [{ id, limit: 0 }, 'limit must be a whole number, 1 or more'],
          [{ id, find: '' }, 'find must have 1 to 500 characters'],
          [{ id, find: 'a', path: 'b' }, 'find and path do not go together'],
          [{ id, path: 'a[' }, 'A path is such as'],
          [{ id, path: 'a' }, 'The text is no JSON'],
          [{ id, more: 1 }, '"more" is not known'],
        ];
        for (const [args, words] of faults) {
          const { error } = await client.callTool('read_result', args);
          expect(error).toMatchObject({ code: -32602, data: { code: 'TOOL_ARGUMENTS_INVALID' } });
          expect(error?.message).toContain(words);
        }
      }),
  },
];
