// Results that were cut, with a real daemon: its files after it was killed, and clients over HTTP, who share no results. Over HTTP the
// pages of apps come through as well.

import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BOTH_CONTENTS } from '../support/era-client.ts';
import { asking2026, HttpClient, type SessionClient } from '../support/http-client.ts';
import { type Message, textOf } from '../support/raw-client.ts';
import { cleanUp, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

const LONG = Array.from({ length: 2000 }, (_, i) => `line ${i}`).join('\n');
const PAGES = { old: 'ui://contents-2025/page.html', young: 'ui://contents-2026/page.html' };
const idIn = (answer: Message): string =>
  /read_result \{"id":"([^"]+)"/.exec(JSON.stringify(answer).replaceAll('\\"', '"'))?.[1] ?? '';

/** The one message of a body, which is JSON or a stream of events. */
const messageIn = (body: string): Message =>
  JSON.parse(body.startsWith('{') ? body : (/^data: (\{.*)$/m.exec(body)?.[1] ?? '{}')) as Message;

afterAll(() => expect(cleanUp()).toEqual([]));

test('the files of a daemon that was killed are their user’s alone, and go when the next one starts', async () => {
  const dir = tempDir();
  const config = {
    client: { view: 'discover' },
    mcpServers: BOTH_CONTENTS,
    results: { maxBytes: 2000, maxMemoryBytes: 65_536 },
  };
  const env = { XDG_STATE_HOME: join(dir, 'state') };
  const killed = await TestDaemon.start(config, { dir, env });
  const client = await killed.client();
  const inFiles = (): string[] => {
    const results = join(dir, 'state/mcp-bridge/results');
    return existsSync(results)
      ? readdirSync(results, { recursive: true, encoding: 'utf8' }).map((path) => join(results, path))
      : [];
  };
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  let ids: string[] = [];
  for (let n = 0; n < 6; n++) {
    const args = { server: 'old', tool: 'lines', arguments: { count: 2000 } };
    const answer = await client.callTool(`call ${n}`, 'execute_tool', args);
    ids = [...ids, idIn(answer)];
  }
  while (inFiles().filter((path) => statSync(path).isFile() && statSync(path).size > 30_000).length < 4)
    await new Promise((resolve) => setTimeout(resolve, 5));
  for (const path of inFiles()) expect([path, modeOf(path)]).toEqual([path, statSync(path).isFile() ? 0o600 : 0o700]);
  expect(textOf(await client.callTool('first', 'read_result', { id: ids[0], find: 'line 1999 ' }))).toContain(
    'line 1999',
  );
  killed.kill('SIGKILL');
  await killed.exited;
  await untilGone(killed.pid);
  expect(inFiles().length).toBeGreaterThan(3);
  const next = await TestDaemon.start(config, { dir, env });
  while (inFiles().length > 0 && inFiles().some((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true))
    await new Promise((resolve) => setTimeout(resolve, 5));
  const later = await next.client();
  expect((await later.callTool('gone', 'read_result', { id: ids[0] })).error?.data).toMatchObject({
    code: 'RESULT_NOT_FOUND',
  });
  later.destroy();
  await next.stop();
});

test.each(['discover', 'all'])(
  'clients of %s hear when read_result comes and goes with a setting, once',
  async (view) => {
    const daemon = await TestDaemon.start({ mcpServers: BOTH_CONTENTS, results: { maxBytes: 2000 } });
    const client = await daemon.client({ 'mcp-bridge/view': view });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const control = await daemon.client({ 'mcp-bridge/role': 'control' });
    const configure = async (results: object): Promise<void> => {
      writeFileSync(join(daemon.dir, 'config.json'), JSON.stringify({ mcpServers: BOTH_CONTENTS, results }));
      await control.request('r', 'bridge/reload');
    };
    const hasTool = async (): Promise<boolean> =>
      JSON.stringify((await client.request('list', 'tools/list')).result).includes('"read_result"');
    const heard = (): number =>
      client.lines.filter((line) => line.includes('"method":"notifications/tools/list_changed"')).length;

    expect(await hasTool()).toBe(true);
    await hasTool(); // the servers' own lists are known by now
    const before = heard();
    await configure({ maxBytes: 3000 });
    expect([await hasTool(), heard() - before]).toEqual([true, 0]);
    await configure({ maxBytes: 0 });
    expect([await hasTool(), heard() - before]).toEqual([false, 1]);
    await configure({ maxBytes: 2000 });
    expect([await hasTool(), heard() - before]).toEqual([true, 2]);
    for (const one of [client, control]) one.destroy();
    await daemon.stop();
  },
);

describe('over HTTP', () => {
  let daemon: TestDaemon;
  let http: HttpClient;
  beforeAll(async () => {
    daemon = await TestDaemon.start({ mcpServers: BOTH_CONTENTS, results: { maxBytes: 2000 } });
    http = new HttpClient({ socketPath: daemon.path });
  });
  afterAll(async () => {
    http.close();
    await daemon.stop();
  });

  const call = (name: string, args: object) => ({ name, arguments: args });
  const give = (server: string) =>
    call('execute_tool', { server, tool: 'give', arguments: { result: { content: [{ type: 'text', text: LONG }] } } });
  let ids = 0;
  const ask = async (session: SessionClient, method: string, params: object): Promise<Message> => {
    const reply = await session.say({ jsonrpc: '2.0', id: ++ids, method, params });
    return messageIn(await reply.text());
  };
  const ask2026 = async (name: string, path: string, method: string, params: object): Promise<Message> => {
    const clientInfo = { 'io.modelcontextprotocol/clientInfo': { name, version: '1' } };
    const reply = await http.ask({ path, ...asking2026(method, { ...params, _meta: clientInfo }, ++ids) });
    return messageIn(await reply.text());
  };

  test.each(Object.keys(BOTH_CONTENTS))(
    'a cut result of the server %s is read by its session, and by no other',
    async (server) => {
      const [ann, bob] = [await http.begin({}, '/mcp/discover'), await http.begin({}, '/mcp/discover')];
      const id = idIn(await ask(ann, 'tools/call', give(server)));
      expect(textOf(await ask(ann, 'tools/call', call('read_result', { id, find: 'line 1999' })))).toContain(
        'line 1999',
      );
      expect((await ask(bob, 'tools/call', call('read_result', { id }))).error?.data).toMatchObject({
        code: 'RESULT_NOT_FOUND',
      });
      const uri = `mcp-bridge-result:${id}`;
      expect((await ask(ann, 'resources/read', { uri })).result?.contents).toMatchObject([{ uri, text: LONG }]);
      expect((await ask(bob, 'resources/read', { uri })).error?.message).toContain('There is no such result');
    },
  );

  test.each(Object.keys(BOTH_CONTENTS))(
    'a client of 2026 finds what it was cut of %s in a later request, and no other name does',
    async (server) => {
      const id = idIn(await ask2026('ann', '/mcp/discover', 'tools/call', give(server)));
      const read = call('read_result', { id, find: 'line 1999' });
      expect(textOf(await ask2026('ann', '/mcp/discover', 'tools/call', read))).toContain('line 1999');
      const refused = await ask2026('bob', '/mcp/discover', 'tools/call', read);
      expect(refused.error?.data).toMatchObject({ code: 'RESULT_NOT_FOUND' });
    },
  );

  test.each([
    ['all', 'old'],
    ['all', 'young'],
    ['server', 'old'],
    ['server', 'young'],
  ] as const)('the page of an app comes through %s of %s, to clients of both eras', async (view, server) => {
    const path = view === 'all' ? '/mcp/all' : `/mcp/server/${server}`;
    const tool = view === 'all' ? `${server}__show` : 'show';
    const page = PAGES[server];
    // A joined view puts the server into it.
    const uri = view === 'all' ? `ui://mcp-bridge/${server}/${page}` : page;
    const session = await http.begin({}, path);
    for (const said of [
      (method: string, params: object) => ask(session, method, params),
      (method: string, params: object) => ask2026('ann', path, method, params),
    ]) {
      const { tools } = (await said('tools/list', {})).result as { tools: { name: string; _meta?: object }[] };
      expect(tools.find(({ name }) => name === tool)?._meta).toMatchObject({ ui: { resourceUri: uri } });
      const { contents } = (await said('resources/read', { uri })).result as { contents: object[] };
      expect(contents).toMatchObject([
        { uri: page, mimeType: 'text/html;profile=mcp-app', _meta: { ui: { prefersBorder: true } } },
      ]);
      expect((await said('tools/call', call(tool, {}))).result).toMatchObject({ _meta: { ui: { x: 1 } } });
    }
  });
});
