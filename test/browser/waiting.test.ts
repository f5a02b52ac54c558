// What waits for a person, on the page: sign-ins, inputs, questions, servers that dial in, failures, suspended calls. All names in this
// world are hostile: markup, a turned line, what cannot be seen, and length.

import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, openBrowser } from '../support/browser.ts';
import { goTo, PATIENCE, type StartedUi, startUi, violations, WatchedPages } from '../support/dashboard-page.ts';
import { RawClient } from '../support/raw-client.ts';
import { FIXTURE, fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

/** Taken as markup it would make an element and run a script; U+202E turns a line around, U+200B cannot be seen. */
const EVIL = `<img src=x onerror="window.taken=1">\u202egnp.\u200b<script>window.taken=2</script>`;
const LONG = `${EVIL}${'long '.repeat(1000)}`;
const TOOL = { name: `t${EVIL}`, description: LONG, inputSchema: { type: 'object', properties: { [EVIL]: {} } } };
/** Pasted into a shell, it would run something. */
const LURE = 'key; touch pwned #';
const MANY = 600;

let door: Server;
let daemon: TestDaemon;
let project: string;
let browser: Browser;
let started: StartedUi;
let page: Page;
const clients: RawClient[] = [];
const pages = new WatchedPages();

const who = (capabilities: object): object => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: `fresh ${EVIL}`, version: EVIL },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
const QUESTION = {
  method: 'elicitation/create',
  params: { message: EVIL, requestedSchema: { type: 'object', properties: {} } },
};

async function connected(meta?: object, capabilities: object = {}): Promise<RawClient> {
  const client = await RawClient.connect(daemon.path);
  clients.push(client);
  if (meta !== undefined) await client.initialize({ 'mcp-bridge/cwd': project, ...meta }, 'init', capabilities);
  return client;
}

/** A server at a URL that lets nobody in. */
async function openDoor(): Promise<string> {
  door = createServer((_, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(door.address() as AddressInfo).port}/mcp`;
}

async function openWorld(): Promise<void> {
  const home = realpathSync(tempDir());
  project = join(home, 'project');
  mkdirSync(join(project, '.cursor'), { recursive: true });
  mkdirSync(join(home, '.config/Code/User'), { recursive: true });
  const theirs = { command: process.execPath, args: [EVIL, 'theirs.mjs'], env: { WORD: EVIL } };
  writeFileSync(join(project, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { theirs } }));
  const asking = { command: process.execPath, args: [FIXTURE], env: { KEY: `\${input:api-key}` } };
  const luring = { ...asking, env: { KEY: `\${input:${LURE}}` } };
  writeFileSync(join(home, '.config/Code/User/mcp.json'), JSON.stringify({ servers: { asking, luring } }));
  const many = Array.from({ length: MANY }, (_, i) => JSON.stringify({ ...TOOL, name: `n-${i}` }));
  writeFileSync(join(home, 'tools.txt'), [JSON.stringify(TOOL), ...many].join('\n'));
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_STATE_HOME: join(home, '.state') };
  const config = {
    audit: {},
    client: { view: 'all' },
    codeMode: { enabled: true },
    mcpServers: {
      desk: fixtureServer({ FIXTURE_TOOLS: join(home, 'tools.txt') }),
      guarded: { url: await openDoor() },
      broken: {
        command: process.execPath,
        args: ['-e', `console.error(${JSON.stringify(`sorry ${EVIL}`)}); process.exit(3)`],
      },
    },
  };
  daemon = await TestDaemon.start(config, { dir: home, env });
  const dialler = await connected();
  await dialler.request('in', 'initialize', {
    capabilities: {},
    clientInfo: { name: `ide ${EVIL}`, version: EVIL },
    _meta: { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' },
  });
  const ann = await connected({ 'mcp-bridge/clientId': 'ann' });
  for (const [id, name] of ['guarded__x', 'broken__x'].entries()) await ann.callTool(id, name);
  await ann.callTool('big', 'desk__blob', { mib: 1 });
  started = await startUi({ daemon, cwd: project, env }, '--write');
}

const go = (screen: string): Promise<void> => goTo(page, screen);
const panel = (kind: string) => page.locator('section.item').filter({ hasText: kind });
const row = (text: string) => page.getByRole('row').filter({ hasText: text });

async function expectText(): Promise<void> {
  expect(await page.evaluate("[typeof window.taken, document.querySelectorAll('img[src=x]').length]")).toEqual([
    'undefined',
    0,
  ]);
}

describe.skipIf(!hasBrowser)('the dashboard shows everything that waits', () => {
  beforeAll(async () => {
    [, browser] = await Promise.all([openWorld(), openBrowser()]);
    page = await pages.open(browser, started.url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await started?.end();
    for (const client of clients) client.destroy();
    await daemon?.stop();
    door?.close();
    pages.expectClean();
  });

  test('a sign-in, with the command that begins it', async () => {
    await go('inbox');
    await panel('Sign in').getByText('mcp-bridge auth guarded').waitFor();
    expect(await panel('Sign in').textContent()).toMatch(/guarded wants you to sign in/);
  });

  test('a missing input, with the command that gives it', async () => {
    await panel('Input missing').getByText('mcp-bridge input set api-key').waitFor();
    const lured = panel('Input missing').filter({ hasText: 'luring' });
    expect(await lured.locator('code').textContent()).toBe(`mcp-bridge input set '${LURE}'`);
  });

  test('a server that has dialled in, with its program’s name; it is approved, and then offered', async () => {
    const dialled = panel('has connected by itself');
    await dialled.getByText('U+202E').first().waitFor();
    await expectText();
    expect((await daemon.status()).dialledIn).toMatchObject([{ name: 'ide', state: 'waiting' }]);
    await page.getByRole('button', { name: 'Approve ide' }).click();
    await dialled.waitFor({ state: 'detached' });
    expect((await daemon.status()).dialledIn).not.toMatchObject([{ name: 'ide', state: 'waiting' }]);
  });

  test('a server that failed at its start, with its stderr', async () => {
    await panel('failed').filter({ hasText: 'broken' }).getByRole('link', { name: 'See its stderr' }).click();
    const stderr = page.getByRole('region', { name: 'Stderr of broken' });
    await stderr.waitFor();
    expect(await stderr.textContent()).toContain('sorry <img src=x');
    expect(await stderr.textContent()).toContain('U+202E');
    await expectText();
  });

  test('a question that waits for its client, and is gone once that has answered', async () => {
    const asked = await connected({ 'mcp-bridge/clientId': 'bea' }, { elicitation: {} });
    const params = { name: 'desk__ask', arguments: QUESTION };
    asked.send({ jsonrpc: '2.0', id: 'ask', method: 'tools/call', params });
    let question: unknown;
    while (question === undefined) {
      const { id, method } = await asked.next();
      if (method === QUESTION.method) question = id;
    }
    await go('inbox');
    await panel('Question').getByText('bea', { exact: true }).waitFor();
    expect(await panel('Question').textContent()).toMatch(/elicitation, and waits for the answer/);
    await go('calls');
    await row('ask').getByText('running').first().waitFor();
    asked.send({ jsonrpc: '2.0', id: question, result: { action: 'decline' } });
    await asked.answerTo('ask');
    await go('inbox');
    await panel('Question').waitFor({ state: 'detached' });
  });

  test('many questions at once are asked for one look after the other', async () => {
    const open = new Set<Request>();
    let most = 0;
    const isInbox = (request: Request): boolean => request.postData()?.includes('ui/inbox') === true;
    page.on('request', (request) => {
      if (isInbox(request)) most = Math.max(most, open.add(request).size);
    });
    page.on('requestfinished', (request) => void open.delete(request));
    page.on('requestfailed', (request) => void open.delete(request));
    const asked = await connected({ 'mcp-bridge/clientId': 'cleo' }, { elicitation: {} });
    const ids = Array.from({ length: 30 }, (_, i) => `many ${i}`);
    let answered = 0;
    asked.answerQuestions(({ method }) => {
      if (method === QUESTION.method) answered++;
      return { result: { action: 'decline' } };
    });
    const looked = page.waitForRequest(isInbox);
    for (const id of ids) {
      const params = { name: 'desk__ask', arguments: QUESTION };
      asked.send({ jsonrpc: '2.0', id, method: 'tools/call', params });
    }
    await expect.poll(() => answered, PATIENCE).toBe(ids.length);
    await looked;
    await expect.poll(() => open.size, PATIENCE).toBe(0);
    await panel('Question').waitFor({ state: 'detached' });
    expect(most).toBe(1);
  });

  test('a call that waits until its client comes back; it is cancelled here, and the client is told', async () => {
    const client = await connected();
    const params = { name: 'desk__ask', arguments: QUESTION, _meta: who({ elicitation: { form: {} } }) };
    const { result } = await client.request(1, 'tools/call', params);
    expect(result).toMatchObject({ resultType: 'input_required' });
    await go('calls');
    await page.getByRole('button', { name: 'Waiting', exact: true }).click();
    await row('ask').getByText('waits for an answer').waitFor();
    await row('ask').getByRole('link').click();
    await page.getByText(/waits until its client comes back/).waitFor();
    expect(await violations(page)).toEqual([]);
    const cancelled = page.waitForResponse((answer) => answer.request().postData()?.includes('bridge/cancel') === true);
    await page
      .getByRole('complementary', { name: 'Call' })
      .getByRole('button', { name: 'Cancel the call of ask' })
      .click();
    await cancelled;
    const { requestState } = result as { requestState: string };
    const retry = { ...params, requestState, inputResponses: { q1: { action: 'accept', content: {} } } };
    const answer = await client.request(2, 'tools/call', retry);
    expect(answer).toMatchObject({ error: { data: { code: 'CALL_STOPPED' } } });
    await row('waits for an answer').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'All', exact: true }).click();
  });

  test('a program that waits until its client comes back, and goes on with the answer', async () => {
    const client = await connected();
    const code = `return (await servers.desk.ask(${JSON.stringify(QUESTION)})).action`;
    const _meta = { ...who({ elicitation: { form: {} } }), 'mcp-bridge/view': 'code' };
    const params = { name: 'run_code', arguments: { code }, _meta };
    const { result } = await client.request(1, 'tools/call', params);
    const { requestState, inputRequests } = result as { requestState: string; inputRequests: object };
    await go('calls');
    await page.getByRole('button', { name: 'Waiting', exact: true }).click();
    await row('run_code').getByText('waits for an answer').waitFor();
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, { action: 'decline' }]));
    const answer = await client.request(2, 'tools/call', { ...params, requestState, inputResponses });
    expect(answer).toMatchObject({ result: { content: [{ text: 'decline' }] } });
    await row('run_code').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'All', exact: true }).click();
  });

  test('the tools whose answers are largest, and the setting that cuts them', async () => {
    await go('tools/answers');
    const blob = row('blob');
    await blob.waitFor();
    expect(await blob.textContent()).toMatch(/desk.*1\.0 MiB/);
    await page.getByText('results.maxBytes').waitFor();
    await page.getByRole('tab', { name: 'All tools' }).click();
    await page.getByRole('table', { name: 'Tools' }).waitFor();
  });

  test('one server with hundreds of tools: only the names in sight are in the page', async () => {
    await go('servers/desk/tools');
    const names = page.getByRole('navigation', { name: 'Tools' });
    await names.getByRole('link').first().waitFor();
    expect(await names.getByRole('link').count()).toBeLessThan(60);
    const filter = names.getByRole('searchbox', { name: 'Filter the tools of this server' });
    await filter.fill(`n-${MANY - 1}`);
    await expect.poll(() => names.getByRole('link').count(), PATIENCE).toBe(1);
    await names.getByRole('link').click();
    await page.getByRole('heading', { name: `n-${MANY - 1}` }).waitFor();
    expect(await violations(page)).toEqual([]);
    await filter.fill('');
    await go(`servers/desk/tools/n-${MANY - 2}`);
    await names.getByRole('link', { name: `n-${MANY - 2}` }).waitFor();
    expect(await names.getByRole('link').count()).toBeLessThan(60);
  });

  const HOSTILE: readonly (readonly [screen: string, text: string])[] = [
    ['overview', 'theirs'],
    ['inbox', 'theirs.mjs'],
    ['topology', 'clients'],
    ['calls', '<script>window.taken=2'],
    ['servers', 'broken'],
    ['servers/broken', 'sorry'],
    [`servers/desk/tools/${encodeURIComponent(TOOL.name)}`, '<script>window.taken=2'],
    ['servers/desk/calls', '<script>window.taken=2'],
    ['tools', '<script>window.taken=2'],
    ['tools/answers', '<script>window.taken=2'],
    ['clients', '<script>window.taken=2'],
    ['discovery', 'theirs'],
    ['audit', '<script>window.taken=2'],
    ['settings', 'limits.maxClients'],
  ];

  test('hostile names stay text on each screen, with marks for invisible characters', async () => {
    const bob = await RawClient.connect(daemon.path);
    clients.push(bob);
    bob.clientInfo = { name: `bob ${LONG}`, version: EVIL };
    const hello = await bob.initialize({
      'mcp-bridge/clientId': '<img/src=x/onerror=window.taken=1>',
      'mcp-bridge/cwd': project,
      'mcp-bridge/view': 'server:desk',
    });
    expect(hello.error).toBeUndefined();
    expect((await bob.callTool(1, TOOL.name)).error).toBeUndefined();
    const fresh = await connected();
    await fresh.request(1, 'tools/call', { name: `desk__${TOOL.name}`, arguments: {}, _meta: who({}) });
    for (const [screen, text] of HOSTILE) {
      await go(screen);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText(text).count(), { message: screen, ...PATIENCE }).toBeGreaterThan(0);
      await expectText();
      const seen = (await page.evaluate('document.getElementById("main").innerText')) as string;
      expect(/[\u202e\u200b]/.test(seen), screen).toBe(false);
      expect(await page.evaluate('document.documentElement.scrollWidth'), screen).toBeLessThanOrEqual(1280);
    }
  });
});
