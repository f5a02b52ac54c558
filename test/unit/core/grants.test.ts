// What a token grants holds in every view, whatever its client says of itself.

import { expect, test } from 'vitest';
import { ConfiguredClients } from '../../../src/daemon/configured-clients.ts';
import type { Grant } from '../../../src/model/principal.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';

const inView = (view: string, name = 'test') => ({
  _meta: { 'mcp-bridge/view': view },
  clientInfo: { name, version: '1' },
});
const grantFor = (servers: readonly string[], name = 'ci'): Grant => ({ id: `${name}-id`, name, servers });

test('the other servers are in no view: not listed, not found, not called', async () => {
  const core = new CoreInMemory({ servers: ['git', 'github', 'files'] });
  const grant = grantFor(['git*']);
  const all = await core.ready(inView('all'), { grant });
  expect(
    core
      .sessionOf(all)
      ?.view?.servers()
      .map(({ name }) => name),
  ).toEqual(['git', 'github']);
  all.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'files__read' } });
  await core.settle();
  expect(all.answersTo(1)).toMatchObject([{ error: { code: -32602 } }]);

  const refused = core.connect({ grant });
  refused.initialize('init', inView('server:files'));
  await core.settle();
  expect(refused.answersTo('init')).toMatchObject([{ error: { data: { code: 'SERVER_NOT_FOUND' } } }]);
  expect(JSON.stringify(refused.answersTo('init'))).toContain('Known servers: git, github.');

  const discover = await core.ready(inView('discover'), { grant });
  const params = { name: 'execute_tool', arguments: { server: 'files', tool: 'read', arguments: {} } };
  discover.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
  await core.settle();
  expect(JSON.stringify(discover.answersTo(2))).toContain('SERVER_NOT_FOUND');
  expect(core.server('files').requests).toEqual([]);
});

test('clients whose tokens are for the same servers share a view, and others do not', async () => {
  const core = new CoreInMemory({ servers: ['a', 'b'] });
  const views = [];
  for (const grant of [grantFor(['a'], 'one'), grantFor(['a'], 'two'), grantFor(['b'], 'three')])
    views.push(core.sessionOf(await core.ready(inView('all'), { grant }))?.view);
  views.push(core.sessionOf(await core.ready(inView('all')))?.view);
  expect(views[0]).toBe(views[1]);
  expect(new Set(views).size).toBe(3);
});

test('a glob that cannot be kept lets nothing be seen', async () => {
  const core = new CoreInMemory({ servers: ['a'] });
  const client = await core.ready(inView('all'), { grant: grantFor(['{a']) });
  expect(core.sessionOf(client)?.view?.servers()).toEqual([]);
});

test('the config has rules for a token, which override those for the client’s name', async () => {
  const clientSettings = new ConfiguredClients();
  const everything = { view: undefined, names: {}, toolRules: [] };
  const match = { name: undefined, client: undefined, token: undefined, directory: undefined };
  clientSettings.prepare([
    { ...everything, match: { ...match, name: ['trusted'] }, servers: undefined },
    { ...everything, match: { ...match, token: ['ci-*'] }, servers: ['a'] },
    { ...everything, match: { ...match, token: ['*'], name: ['odd'] }, servers: ['b'] },
  ]);
  const core = new CoreInMemory({ servers: ['a', 'b', 'c'], clientSettings });
  const seenBy = async (name: string, grant?: Grant) => {
    const client = await core.ready(inView('all', name), grant === undefined ? {} : { grant });
    return core
      .sessionOf(client)
      ?.view?.servers()
      .map((server) => server.name);
  };
  const token = (name: string): Grant => ({ id: name, name });
  expect(await seenBy('trusted', token('ci-1'))).toEqual(['a']);
  expect(await seenBy('odd', token('other'))).toEqual(['b']);
  expect(await seenBy('trusted', token('other'))).toEqual(['a', 'b', 'c']);
  expect(await seenBy('odd')).toEqual(['a', 'b', 'c']);
  // What the config gives, a token does not widen; what the token leaves, the config does not widen.
  expect(await seenBy('trusted', grantFor(['a', 'c'], 'ci-2'))).toEqual(['a']);
  expect(await seenBy('trusted', grantFor(['c'], 'ci-3'))).toEqual([]);
  expect(await seenBy('trusted', grantFor(['c'], 'other'))).toEqual(['c']);
});
