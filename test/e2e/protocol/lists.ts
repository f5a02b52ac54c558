// Lists, their pages and changes; and the completion of arguments.

import { expect } from 'vitest';
import type { Item, ListKind } from '../../support/mcp-client.ts';
import { textOf } from '../../support/raw-client.ts';
import { type ProtocolScenario, ready, seenBy } from './scenario.ts';

interface Listed {
  readonly kind: ListKind;
  readonly method: string;
  readonly key: 'name' | 'uri' | 'uriTemplate';
  readonly changed: string;
  readonly shows: string;
}

const KINDS: readonly Listed[] = [
  { kind: 'tools', method: 'tools/list', key: 'name', changed: 'tools', shows: 'tools-changed' },
  { kind: 'prompts', method: 'prompts/list', key: 'name', changed: 'prompts', shows: 'prompts-changed' },
  { kind: 'resources', method: 'resources/list', key: 'uri', changed: 'resources', shows: 'resources-changed' },
  {
    kind: 'templates',
    method: 'resources/templates/list',
    key: 'uriTemplate',
    changed: 'resources',
    shows: 'resources-changed',
  },
];

const newItem = ({ key }: Listed): string =>
  JSON.stringify({ [key]: key === 'name' ? 'newest' : 'test://newest', name: 'newest', inputSchema: {} });

export const LIST_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'tools, prompts, resources and templates are listed, each once, page by page',
    shows: ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'cursor', 'cursor-empty'],
    async run(peer) {
      const client = await ready(peer);
      expect(await client.names('tools')).toEqual(expect.arrayContaining(['echo', 'raw', 'work', 'seen']));
      expect(await client.names('prompts')).toEqual(['greet', 'two', 'three', 'four', 'five', 'six']);
      const uris = (await client.listAll('resources')).map(({ uri }) => uri);
      expect(uris.slice(0, 6)).toEqual(
        ['text', 'blob', 'tree', 'tree/leaf', 'five', 'six'].map((path) => `test://${path}`),
      );
      const templates = (await client.listAll('templates')).map(({ uriTemplate }) => uriTemplate);
      expect(templates.slice(0, 5)).toEqual(
        ['user', 'two', 'three', 'four', 'five'].map((name) => `test://${name}/{id}`),
      );
      for (const names of [uris, templates]) expect(new Set(names).size).toBe(names.length);
      // The second page of each goes by the empty string.
      const { cursors } = await seenBy(client);
      expect(cursors.filter((cursor) => cursor === '').length).toBeGreaterThanOrEqual(4);
    },
  },
  {
    title: 'a cursor that is none gets the error -32602',
    shows: ['cursor-invalid'],
    isIndependent: true,
    needs: ['listing'],
    async run(peer) {
      const client = await ready(peer);
      for (const { method } of KINDS)
        expect((await client.request(method, { cursor: 'nowhere' })).error?.code).toBe(-32602);
    },
  },
  {
    title: 'a tool is called by the name that it is listed under, however long or dotted its own is',
    shows: ['tool-names'],
    isIndependent: true,
    needs: ['listing'],
    async run(peer) {
      const client = await ready(peer);
      for (const title of ['dotted', 'long']) {
        const item = (await client.listAll('tools')).find((tool) => tool.title === title);
        const answer = await client.request('tools/call', { name: item?.name });
        expect(textOf(answer)).toBe(`the ${title} one`);
      }
    },
  },
  {
    title: 'what a tool says of its user interface is listed, and that is read by the URI in it',
    shows: ['tool-ui'],
    needs: ['listing'],
    async run(peer) {
      const client = await ready(peer);
      const resourceUri = 'ui://full/panel';
      const metaOf = (uri: string): object => ({
        ui: { resourceUri: uri, visibility: ['model', 'app'] },
        'ui/resourceUri': uri,
      });
      const item = JSON.stringify({ name: 'shown', inputSchema: { type: 'object' }, _meta: metaOf(resourceUri) });
      await client.listAll('tools');
      await client.call('add', { kind: 'tools', item });
      const isShown = ({ name }: Item): boolean => name === client.tool('shown');
      const tools = await client.listAll('tools', (items) => items.some(isShown));
      expect(tools.find(isShown)).toMatchObject({ _meta: metaOf(client.page(resourceUri)) });
      const { result } = await client.request('resources/read', { uri: client.page(resourceUri) });
      expect(result).toMatchObject({ contents: [{ uri: resourceUri }] });
    },
  },
  {
    title: 'of several servers each tool and prompt has a name of its own that all clients take, and is found by it',
    shows: ['names-for-all'],
    isIndependent: true,
    needs: ['company', 'listing'],
    async run(peer) {
      const client = await ready(peer);
      for (const kind of ['tools', 'prompts'] as const) {
        const names = (await client.listAll(kind)).map(({ name }) => name ?? '');
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,47}$/);
        expect(names.some((name) => name.startsWith('second__'))).toBe(true);
      }
      const prompt = { name: 'second__greet', arguments: { name: 'Ann' } };
      expect((await client.request('prompts/get', prompt)).result).toMatchObject({ description: 'A greeting' });
      for (const name of ['second__echo', 'third__echo'])
        expect(textOf(await client.request('tools/call', { name, arguments: { text: name } }))).toBe(name);
    },
  },
  ...KINDS.map(
    (listed): ProtocolScenario => ({
      title: `a change of the ${listed.kind} is told, and the list has it then`,
      shows: [listed.shows],
      needs: listed.kind === 'tools' ? ['listing'] : [],
      async run(peer) {
        const client = await ready(peer);
        const added = listed.key === 'name' ? client.tool('newest') : 'test://newest';
        const times = (items: readonly Item[]): number => items.filter((item) => item[listed.key] === added).length;
        expect(times(await client.listAll(listed.kind))).toBe(0);
        await client.call('add', { kind: listed.kind, item: newItem(listed) });
        await client.told(`notifications/${listed.changed}/list_changed`);
        const after = await client.listAll(listed.kind, (items) => times(items) > 0);
        expect(times(after)).toBe(1);
      },
    }),
  ),
  {
    title: 'a change is told to all who see the list, each time',
    shows: ['tools-changed', 'prompts-changed', 'resources-changed'],
    needs: ['sharing', 'listing'],
    async run(peer) {
      const clients = [await ready(peer), await ready(peer)];
      const [one] = clients;
      for (const kind of ['tools', 'prompts', 'resources'] as const) {
        for (const n of [1, 2]) {
          for (const client of clients) await client.listAll(kind);
          const item = JSON.stringify({ name: `new-${n}`, uri: `test://new-${n}`, inputSchema: {} });
          await one?.call('add', { kind, item });
          for (const client of clients) await client.told(`notifications/${kind}/list_changed`);
        }
      }
    },
  },
  {
    title: 'arguments of prompts and templates are completed',
    shows: ['completion/complete'],
    isIndependent: true,
    async run(peer) {
      const client = await ready(peer);
      const complete = async (ref: object): Promise<unknown> => {
        const params = { ref, argument: { name: 'name', value: 'an' }, context: { arguments: { lang: 'de' } } };
        return (await client.request('completion/complete', params)).result;
      };
      const expected = {
        completion: { values: ['ann', 'anton'], total: 2, hasMore: false },
        context: { arguments: { lang: 'de' } },
      };
      expect(await complete({ type: 'ref/prompt', name: client.prompt('greet') })).toEqual(expected);
      expect(await complete({ type: 'ref/resource', uri: 'test://user/{id}' })).toEqual(expected);
      const unknown = {
        ref: { type: 'ref/prompt', name: client.prompt('nobody') },
        argument: { name: 'a', value: '' },
      };
      expect((await client.request('completion/complete', unknown)).error?.code).toBe(-32602);
    },
  },
];
