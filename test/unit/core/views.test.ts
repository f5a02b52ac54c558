// Views are made of a directory, capabilities and permissions, and shared by all clients that have these in common.

import { describe, expect, test, vi } from 'vitest';
import { type ClientSettings, PLAIN_SETTINGS } from '../../../src/model/client-settings.ts';
import { CoreInMemory, type TestClient } from '../../support/core-in-memory.ts';

const ALL = { _meta: { 'mcp-bridge/view': 'all' } };
const inDirectory = (cwd: string) => ({ _meta: { 'mcp-bridge/view': 'all', 'mcp-bridge/cwd': cwd } });

function viewOf(core: CoreInMemory, client: TestClient) {
  const view = core.sessionOf(client)?.view;
  if (view === undefined) throw new Error('the client has no view');
  return view;
}

/** Two servers, and clients whose settings the test chooses by their names. */
function coreWithSettings(view = 'all') {
  const settings = new Map<string, ClientSettings>();
  const core = new CoreInMemory({
    servers: ['a', 'b'],
    clientSettings: { of: ({ name }) => settings.get(name) ?? PLAIN_SETTINGS },
  });
  const ready = (name: string) =>
    core.ready({ _meta: { 'mcp-bridge/view': view }, clientInfo: { name, version: '1' } });
  return { core, settings, ready };
}

describe('a view', () => {
  test.each(['all', 'discover', 'server:a'])(
    '%s is one object for all clients that have the same in common',
    async (view) => {
      const core = new CoreInMemory({ servers: ['a', 'b'] });
      const params = { _meta: { 'mcp-bridge/view': view } };
      const [first, second] = [await core.ready(params), await core.ready(params)];
      expect(viewOf(core, first)).toBe(viewOf(core, second));
      expect(core.manager.views.size).toBe(1);
    },
  );

  test('is another one in another directory, with other capabilities, and under another name', async () => {
    const core = new CoreInMemory({ servers: ['a', 'b'] });
    const clients = [
      await core.ready(ALL),
      await core.ready(inDirectory('/elsewhere')),
      await core.ready({ ...ALL, capabilities: { sampling: {} } }),
      await core.ready({ _meta: { 'mcp-bridge/view': 'discover' } }),
    ];
    expect(new Set(clients.map((client) => viewOf(core, client))).size).toBe(4);
    expect(core.manager.views.size).toBe(4);
  });

  test('goes with its last client, and its servers are unseen then', async () => {
    const core = new CoreInMemory({ servers: ['a'] });
    const [first, second] = [await core.ready(ALL), await core.ready(ALL)];
    first.link.endByPeer();
    await core.settle();
    expect([core.manager.views.size, core.server('a').server.isSeen]).toEqual([1, true]);
    second.link.endByPeer();
    await core.settle();
    expect([core.manager.views.size, core.server('a').server.isSeen]).toEqual([0, false]);
  });

  test.each(['all', 'discover'])(
    '%s binds a client to a server when it is first used, and to no other',
    async (view) => {
      const core = new CoreInMemory({ servers: ['a', 'b'] });
      const bound = () => ['a', 'b'].map((name) => core.server(name).server.bindings.size);
      const client = await core.ready({ _meta: { 'mcp-bridge/view': view } });
      expect(bound()).toEqual([0, 0]);
      const params =
        view === 'all'
          ? { name: 'b__tool', arguments: {} }
          : { name: 'execute_tool', arguments: { server: 'b', tool: 'tool', arguments: {} } };
      client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      await core.settle();
      expect(bound()).toEqual([0, 1]);
    },
  );

  test('whose servers change changes for each of its clients', async () => {
    const core = new CoreInMemory({ servers: ['a', 'b'] });
    const clients = [await core.ready(ALL), await core.ready(ALL)];
    core.redefine(['a', 'b', 'c'], ['b']);
    await core.settle();
    for (const client of clients)
      expect(
        viewOf(core, client)
          .servers()
          .map(({ name }) => name),
      ).toEqual(['a', 'b', 'c']);
    expect(core.server('b').server.isSeen).toBe(true);
  });

  test('loses a client that may use less than the others, and that client alone', async () => {
    const hidden: ClientSettings = { ...PLAIN_SETTINGS, sees: (id) => id !== 'b' };
    const { core, settings, ready } = coreWithSettings();
    const [kept, moved] = [await ready('kept'), await ready('moved')];
    for (const client of [kept, moved]) client.say({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
    await core.settle();
    const shared = viewOf(core, kept);
    expect(viewOf(core, moved)).toBe(shared);
    settings.set('moved', hidden);
    core.manager.clientSettingsChanged();
    core.manager.serversChanged();
    await core.settle();
    expect(viewOf(core, kept)).toBe(shared);
    expect(
      viewOf(core, moved)
        .servers()
        .map(({ name }) => name),
    ).toEqual(['a']);
    expect(moved.notifications('notifications/tools/list_changed')).toHaveLength(1);
    expect(kept.notifications('notifications/tools/list_changed')).toHaveLength(0);
    const { bindings } = core.server('b').server;
    expect([...bindings.keys()]).not.toContain(core.sessionOf(moved));
    moved.say({ jsonrpc: '2.0', id: 'hidden', method: 'tools/call', params: { name: 'b__tool' } });
    await core.settle();
    expect(moved.answersTo('hidden')).toMatchObject([{ error: { data: { code: 'TOOL_NOT_FOUND' } } }]);
  });

  test('keeps its servers for a client when another client may now use less', async () => {
    const { core, settings, ready } = coreWithSettings();
    const [first, second] = [await ready('first'), await ready('second')];
    second.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'b__tool' } });
    await core.settle();
    const { bindings } = core.server('b').server;
    const session = core.sessionOf(second);
    if (session === undefined) throw new Error('the client has a session');
    const used = bindings.get(session)?.instance;
    expect(used).toBeDefined();
    settings.set('first', { ...PLAIN_SETTINGS, sees: (id) => id !== 'b' });
    core.manager.clientSettingsChanged();
    core.manager.serversChanged();
    await core.settle();
    const names = [first, second].map((client) =>
      viewOf(core, client)
        .servers()
        .map(({ name }) => name),
    );
    expect(names).toEqual([['a'], ['a', 'b']]);
    expect(bindings.get(session)?.instance).toBe(used);
  });

  test('of one server is taken from a client that may no longer use it, even after a new definition', async () => {
    const { core, settings, ready } = coreWithSettings('server:a');
    const [kept, moved] = [await ready('kept'), await ready('moved')];
    const before = core.server('a').server;
    core.redefine(['a', 'b'], ['a']);
    await core.settle();
    expect(core.server('a').server).not.toBe(before);
    settings.set('moved', { ...PLAIN_SETTINGS, sees: (id) => id !== 'a' });
    core.manager.clientSettingsChanged();
    core.manager.serversChanged();
    await core.settle();
    const session = core.sessionOf(moved);
    for (const { bindings } of [before, core.server('a').server]) expect([...bindings.keys()]).not.toContain(session);
    core.server('a').answers = () => ({ result: {} });
    for (const client of [kept, moved]) client.call(1);
    await core.settle();
    expect(kept.answersTo(1)).toMatchObject([{ result: {} }]);
    expect(moved.answersTo(1)).toMatchObject([{ error: { data: { code: 'SERVER_NOT_FOUND' } } }]);
  });

  test('discover runs the tools of the server that has a name now, not of the one that had it', async () => {
    const { core, settings, ready } = coreWithSettings('discover');
    const named = (names: Readonly<Record<string, string>>): ClientSettings => ({
      ...PLAIN_SETTINGS,
      idOf: (name) => names[name] ?? name,
      nameOf: (id) => Object.keys(names).find((name) => names[name] === id) ?? id,
    });
    for (const name of ['a', 'b'])
      core.server(name).has({ tools: [{ name: 'tool', inputSchema: { type: 'object' } }] });
    settings.set('one', named({ x: 'a', y: 'b' }));
    const client = await ready('one');
    const params = { name: 'execute_tool', arguments: { server: 'x', tool: 'tool', arguments: {} } };
    const callsOf = (name: string) =>
      core
        .server(name)
        .instances.flatMap(({ requests }) => requests)
        .filter(({ method }) => method === 'tools/call');
    const asked = (...calls: readonly number[]) =>
      vi.waitFor(async () => {
        await core.settle();
        expect([callsOf('a').length, callsOf('b').length]).toEqual(calls);
      });
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    await asked(1, 0);
    core.server('a').answer(callsOf('a')[0]);
    await core.settle();
    settings.set('one', named({ x: 'b', y: 'a' }));
    core.manager.clientSettingsChanged();
    core.manager.serversChanged();
    client.say({ jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    await asked(1, 1);
  });
});
