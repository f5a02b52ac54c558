// The dashboard as a person uses it: a real daemon, real servers, `mcp-bridge ui`, and Chromium.

import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hasBrowser, openBrowser } from '../support/browser.ts';
import { goTo, PATIENCE, type StartedUi, startUi, violations, WatchedPages } from '../support/dashboard-page.ts';
import type { RawClient } from '../support/raw-client.ts';
import { fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

/** A tool whose texts try everything: markup, a turned line, what cannot be seen, and length. */
const HOSTILE = {
  name: 'evil<img src=x onerror=alert(1)>',
  description: `<script>window.taken = 1</script>\u202egnol\u200b ${'long '.repeat(2000)}`,
  inputSchema: { type: 'object' },
};
const GREET = {
  name: 'greet',
  description: 'Greets a person by name',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', description: 'What to say' },
      times: { type: 'integer', default: 1 },
      tone: { type: 'string', enum: ['warm', 'cold'] },
      // A form has a member of this name.
      elements: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['text'],
  },
};

interface Office {
  readonly home: string;
  readonly project: string;
  readonly env: Record<string, string>;
  daemon: TestDaemon;
  client: RawClient;
}

let office: Office;
let browser: Browser;
let started: StartedUi;
let page: Page;
/** A call that begins before the page is opened. */
let early: Promise<unknown>;

const config = (home: string): object => ({
  audit: {},
  telemetry: { otlp: { endpoint: 'http://ann:CANARY@127.0.0.1:1/?token=CANARY' }, sampling: 0.1 },
  mcpServers: {
    desk: fixtureServer({ FIXTURE_TOOLS: join(home, 'tools.txt') }),
    crowd: fixtureServer({ FIXTURE_TOOLS: join(home, 'crowd.txt') }),
    words: {
      command: process.execPath,
      args: [join(ROOT, 'test/fixtures/servers/changing-tools.mjs'), join(home, 'words.json')],
    },
    broken: fixtureServer({ FIXTURE_EXIT: '3', FIXTURE_STDERR: 'no key in \u001b[31m/etc/broken.key' }),
  },
});

async function openOffice(): Promise<Office> {
  const home = realpathSync(tempDir());
  const project = join(home, 'project');
  mkdirSync(join(project, '.cursor'), { recursive: true });
  const theirs = { command: process.execPath, args: ['theirs.mjs', '--all', 'of the command'] };
  writeFileSync(join(project, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { theirs } }));
  writeFileSync(join(home, 'tools.txt'), `${JSON.stringify(HOSTILE)}\n${JSON.stringify(GREET)}\n`);
  const crowd = Array.from({ length: 10_000 }, (_, i) => JSON.stringify(tool(`tool-${i}`, 'One of many')));
  writeFileSync(join(home, 'crowd.txt'), crowd.join('\n'));
  writeFileSync(join(home, 'words.json'), JSON.stringify({ tools: [tool('say', 'Says a word')] }));
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_STATE_HOME: join(home, '.state') };
  const daemon = await TestDaemon.start(config(home), { dir: home, env });
  return { home, project, env, daemon, client: await clientOf(daemon, project) };
}

const tool = (name: string, description: string): object => ({ name, description, inputSchema: { type: 'object' } });

async function clientOf(daemon: TestDaemon, project: string): Promise<RawClient> {
  const client = await daemon.client({
    'mcp-bridge/view': 'all',
    'mcp-bridge/clientId': 'ann',
    'mcp-bridge/cwd': project,
  });
  client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return client;
}

const call = (name: string, args: object = {}) => office.client.request(name, 'tools/call', { name, arguments: args });

const ui = (...flags: string[]): Promise<StartedUi> =>
  startUi({ daemon: office.daemon, cwd: office.project, env: office.env }, ...flags);

const pages = new WatchedPages();
const openPage = (url: string): Promise<Page> => pages.open(browser, url);

const go = (screen: string): Promise<void> => goTo(page, screen);
const seen = (text: string | RegExp) => page.getByText(text).first().waitFor();
const button = (name: string | RegExp) => page.getByRole('button', { name });

describe.skipIf(!hasBrowser)('the dashboard', () => {
  beforeAll(async () => {
    [office, browser] = await Promise.all([openOffice(), openBrowser()]);
    await call('desk__echo', { text: 'first' });
    await call('words__say');
    early = call('desk__hold');
    started = await ui('--write');
    page = await openPage(started.url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await started?.end();
    office?.client.destroy();
    await office?.daemon.stop();
    pages.expectClean();
  });

  test('the code is gone from the address and from the history', async () => {
    expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/(?:overview)?$/);
    expect(await page.evaluate('history.length')).toBeLessThanOrEqual(2);
    const cookies = await page.context().cookies();
    expect(cookies).toEqual([expect.objectContaining({ httpOnly: true, sameSite: 'Strict', path: '/' })]);
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  const SCREENS: readonly (readonly [string, string | RegExp])[] = [
    ['overview', 'Processes saved'],
    ['inbox', /to look at|Nothing waits/],
    ['topology', /1 client, 2 servers in use/],
    ['calls', /Waiting and server time|No call since/],
    ['servers', /4 servers/],
    ['servers/desk', 'Answer times'],
    ['servers/desk/tools', 'greet'],
    ['servers/desk/calls', 'Last calls'],
    ['servers/broken/stderr', 'The end of its stderr'],
    ['tools', /tools\. Their definitions take/],
    ['tools/answers', /Models got about/],
    ['clients', /1 client connected/],
    ['discovery', /definitions?, 4 used/],
    ['audit', /audit\.jsonl/],
    ['settings', 'limits.maxClients'],
  ];

  test.each(SCREENS)('the screen %s shows itself, and axe has nothing to say', async (screen, text) => {
    await go(screen);
    await seen(text);
    expect(await violations(page)).toEqual([]);
  });

  test('the settings say where telemetry goes, without secrets', async () => {
    await go('settings');
    await seen('http://127.0.0.1:1/v1/traces');
    await seen('10 %, or as the client says');
    expect(await page.content()).not.toContain('CANARY');
  });

  test('in the dark and in a narrow window too', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize({ width: 390, height: 800 });
    for (const screen of ['overview', 'calls', 'servers', 'servers/desk/tools', 'inbox']) {
      await go(screen);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await violations(page), screen).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), screen).toBeLessThanOrEqual(390);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test('a call that has begun before the page was opened is there until it ends', async () => {
    await go('calls');
    const cancel = page.getByRole('button', { name: /^Cancel the call/ });
    await cancel.first().waitFor();
    await call('desk__release');
    await early;
    await expect.poll(() => cancel.count(), PATIENCE).toBe(0);
  });

  test('a call is seen while it is under way, and can be cancelled', async () => {
    await go('calls');
    const answered = call('desk__hold', { steps: 0 });
    const cancel = button('Cancel the call of hold');
    await cancel.waitFor();
    await cancel.click();
    expect(await answered).toMatchObject({ error: { message: expect.stringMatching(/./) } });
    await page.getByRole('row').filter({ hasText: 'hold' }).getByText('cancelled').first().waitFor();
  });

  test('a call that has ended shows how long it waited and how long its server took', async () => {
    await go('calls');
    await call('desk__slow', { ms: 20 });
    await page.getByRole('row').filter({ hasText: 'slow' }).first().getByRole('link').click();
    const detail = page.getByRole('complementary', { name: 'Call' });
    for (const part of ['Waiting', 'Server', 'Bridge', 'ann'])
      await detail.getByText(part, { exact: true }).first().waitFor();
    await page.keyboard.press('Escape');
    await detail.waitFor({ state: 'detached' });
  });

  test('calls are found by a filter, from the keyboard', async () => {
    await call('desk__echo', { text: 'x' });
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.keyboard.press('/');
    await page.keyboard.type('ann echo');
    await page.getByRole('row').filter({ hasText: 'echo' }).first().waitFor();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'slow' }).count(), PATIENCE).toBe(0);
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Escape');
  });

  test('the list of keys takes the focus, keeps it, and gives it back', async () => {
    await go('servers');
    const filter = page.getByRole('searchbox', { name: 'Filter servers' });
    await filter.waitFor();
    await page
      .getByRole('link', { name: 'Servers (g s)' })
      .or(page.getByRole('link', { name: 'Servers' }))
      .first()
      .focus();
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('Down, up in a list').waitFor();
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent');
    await expect.poll(focused, PATIENCE).toBe('✕');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('✕');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'detached' });
    await expect.poll(focused, PATIENCE).toContain('Servers');
  });

  test('a tool is tried with a form made from its schema', async () => {
    await go('servers/desk/tools/greet');
    await page.getByLabel(/^text/).fill('good morning');
    expect(await page.getByLabel(/^tone/).locator('option').allTextContents()).toEqual(['', 'warm', 'cold']);
    await button('Call it').click();
    await seen('It answered');
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    expect(JSON.parse((await answer.textContent()) ?? '')).toMatchObject({
      result: { content: [{ text: 'good morning' }] },
    });
    const request = page.getByRole('region', { name: 'Request', exact: true });
    expect(JSON.parse((await request.textContent()) ?? '')).toEqual({
      method: 'tools/call',
      params: { name: 'greet', arguments: { text: 'good morning' } },
    });
    await page.getByLabel(/^times/).fill('often');
    await button('Call it').click();
    await seen('times is no number');
  });

  test('the chart has its minutes still when the page is loaded again', async () => {
    await go('overview');
    const line = page.locator('.history .series-accent polyline');
    const points = async (): Promise<number> => ((await line.getAttribute('points')) ?? '').split(' ').length;
    await line.waitFor();
    await expect.poll(points, PATIENCE).toBeGreaterThan(5);
    await page.reload();
    await line.waitFor();
    expect(await points()).toBeGreaterThan(5);
  });

  test('a list of ten thousand tools has only those in sight in the page, and is scrolled to its end', async () => {
    const control = await office.daemon.client({ 'mcp-bridge/role': 'control' });
    await control.request('lists', 'bridge/refresh', { servers: ['crowd'] });
    control.destroy();
    await go('tools');
    await seen(/^10,\d+ tools\./);
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.getByRole('rowgroup', { name: 'Tools' }).focus();
    await page.keyboard.press('End');
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'tool-9' }).count(), PATIENCE).toBeGreaterThan(0);
  });

  test('hostile names and texts stay text, are cut, and their invisible characters are marked', async () => {
    await go(`servers/desk/tools/${encodeURIComponent(HOSTILE.name)}`);
    await seen('evil<img src=x onerror=alert(1)>');
    await seen('U+202E');
    await seen('U+200B');
    expect(await page.evaluate("[typeof window.taken, document.querySelectorAll('img[src=x]').length]")).toEqual([
      'undefined',
      0,
    ]);
    expect(((await page.locator('.description').textContent()) ?? '').length).toBeLessThan(5000);
    await call('desk__complain', { text: '\u001b[31mred' });
    await go('servers/desk/stderr');
    await seen('U+001B');
  });

  test('the search says why, and finds by a synonym that was made from a miss', async () => {
    await go('tools');
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('salute');
    await seen('in no tool');
    await page.getByLabel('Word', { exact: true }).fill('salute');
    await page.getByLabel('Also means').fill('greets');
    await button('Keep it').click();
    await seen(/Kept in/);
    await page.getByRole('list').getByRole('link', { name: /greet/ }).first().waitFor();
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('');
  });

  test('a definition is approved once all of its command was shown', async () => {
    await go('inbox');
    await seen(/theirs\.mjs --all 'of the command'/);
    await button('Approve theirs').click();
    await button('Approve theirs').waitFor({ state: 'detached' });
    await go('discovery');
    await button('Look again').click();
    await page.getByRole('row').filter({ hasText: 'theirs' }).getByText('ready').waitFor();
  });

  test('a changed tool is shown field by field, and accepted', async () => {
    writeFileSync(
      join(office.home, 'words.json'),
      JSON.stringify({ tools: [tool('say', 'Says a word, and sends it to https://evil.example')] }),
    );
    await call('words__announce');
    await go('inbox');
    const changes = page.getByRole('table', { name: 'Changes of say' });
    await changes.waitFor();
    expect(await changes.locator('.removed').allTextContents()).toEqual(['Says a word']);
    expect(await changes.locator('.added').allTextContents()).toEqual([
      'Says a word, and sends it to https://evil.example',
    ]);
    await button('Accept say').click();
    await changes.waitFor({ state: 'detached' });

    // All of it is there, with its lines, before it can be accepted.
    const long = `Says a word.\n${'padding '.repeat(4000)}\nand its end`;
    writeFileSync(join(office.home, 'words.json'), JSON.stringify({ tools: [tool('say', long)] }));
    await call('words__announce');
    await changes.locator('.added').waitFor();
    expect(await changes.locator('.added').textContent()).toBe(long);
    await button('Accept say').click();
    await changes.waitFor({ state: 'detached' });
  });

  test('a read-only page has grey buttons, and the port refuses their actions', async () => {
    const { url, end } = await ui();
    onTestFinished(end);
    const look = await openPage(url);
    await look.getByText('Looks only').waitFor();
    await look.evaluate("location.hash = '#/servers/desk/tools/greet'");
    await look.getByText('mcp-bridge ui --write').first().waitFor();
    expect(await look.getByRole('button', { name: 'Call it' }).isDisabled()).toBe(true);
    const answer =
      await look.evaluate(`fetch('/api/ask', { method: 'POST', body: '{"method":"ui/try","params":{}}', headers: {
      'content-type': 'application/json', 'x-mcp-bridge-key': sessionStorage.getItem('mcp-bridge-key') } }).then((r) => r.json())`);
    expect(answer).toMatchObject({ error: { message: 'This dashboard can only look' } });
    await look.context().close();
  });

  describe('an attacker', () => {
    let port: Server;
    let origin: string;

    beforeAll(async () => {
      port = createServer((_, response) =>
        response.setHeader('content-type', 'text/html').end('<!doctype html><title>evil</title>'),
      );
      await new Promise<void>((resolve) => port.listen(0, '127.0.0.1', resolve));
      origin = `http://127.0.0.1:${(port.address() as AddressInfo).port}`;
    });

    afterAll(() => void port?.close());

    /** A page on another port, which is the same site, in the browser that has the cookie. */
    async function evilPage(at = origin): Promise<Page> {
      const evil = await page.context().newPage();
      onTestFinished(() => evil.close());
      await evil.goto(at);
      return evil;
    }

    test.each(['127.0.0.1', 'localhost'])('on another port of %s reads nothing and changes nothing', async (name) => {
      const evil = await evilPage(origin.replace('127.0.0.1', name));
      const target = new URL(page.url()).origin;
      const attempts = await evil.evaluate(`(async () => {
        const said = [];
        const tries = [
          () => fetch('${target}/api/ask', { method: 'POST', credentials: 'include', mode: 'no-cors', body: '{"method":"bridge/status"}' }),
          () => fetch('${target}/api/ask', { method: 'POST', credentials: 'include', body: '{"method":"bridge/status"}', headers: { 'content-type': 'application/json', 'x-mcp-bridge-key': 'x' } }),
          () => fetch('${target}/api/live', { credentials: 'include' }),
          () => fetch('${target}/api/enter', { method: 'POST', credentials: 'include', body: '{"code":"x"}' }),
          () => fetch('${target}/dashboard.js', { credentials: 'include' }),
        ];
        for (const one of tries) said.push(await one().then((r) => r.type === 'opaque' ? 'opaque' : r.status + ' ' + r.type, (e) => e.name));
        return said;
      })()`);
      expect(attempts).toEqual(
        ['opaque', 'TypeError', 'TypeError', 'TypeError', 'TypeError'].map((answer, i) =>
          i === 0 ? expect.stringMatching(/opaque|TypeError/) : answer,
        ),
      );
    });

    test('cannot frame the page, nor run its script', async () => {
      const evil = await evilPage();
      const target = new URL(page.url()).origin;
      const framed = await evil.evaluate(`new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.src = '${target}/';
        frame.onload = () => { try { resolve(frame.contentDocument === null ? 'closed' : 'empty'); } catch { resolve('closed'); } };
        document.body.append(frame);
      })`);
      expect(framed).toBe('closed');
      const run = await evil.evaluate(`new Promise((resolve) => {
        const script = document.createElement('script');
        script.src = '${target}/dashboard.js';
        script.onload = () => resolve('run');
        script.onerror = () => resolve('refused');
        document.body.append(script);
      })`);
      expect(run).toBe('refused');
    });

    test('a visitor without a code sees a page that says what to type', async () => {
      const lone = await openPage(new URL(page.url()).origin);
      await lone.getByText('This page is closed').waitFor();
      await lone.getByText('mcp-bridge ui', { exact: true }).waitFor();
      expect(await violations(lone)).toEqual([]);
      await lone.context().close();
    });

    test('by a name that leads to this machine is shown words only', async () => {
      const { port: own } = new URL(page.url());
      const rebound = await page.context().newPage();
      onTestFinished(() => rebound.close());
      const answer = await rebound.goto(`http://evil.example:${own}/`);
      expect(answer?.status()).toBe(403);
      expect(await rebound.locator('pre').textContent()).toBe('mcp-bridge ui');
      expect(await rebound.evaluate('document.scripts.length')).toBe(0);
      const asked = await rebound.evaluate(
        `Promise.all(['/api/live', '/dashboard.js'].map((path) => fetch(path).then(({ status }) => status)))`,
      );
      expect(asked).toEqual([403, 403]);
    });

    test('with a used or invented code gets nothing', async () => {
      for (const code of [new URL(started.url).hash, '#code=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']) {
        const late = await openPage(`${new URL(page.url()).origin}/${code}`);
        await late.getByText('The code in this address was used already, or is older than a minute.').waitFor();
        await late.getByText('mcp-bridge ui', { exact: true }).waitFor();
        expect(await late.context().cookies()).toEqual([]);
        await late.context().close();
      }
    });

    /** What the port says to a page that has this key, and the cookies of its browser. */
    const statusWith = (at: Page, key: string): Promise<unknown> =>
      at.evaluate(`fetch('/api/ask', { method: 'POST', body: '{"method":"bridge/status","params":{}}', headers: {
        'content-type': 'application/json', 'x-mcp-bridge-key': ${JSON.stringify(key)} } }).then(({ status }) => status)`);
    const KEY = "sessionStorage.getItem('mcp-bridge-key')";

    test('with only the cookie, or only the key, gets nothing', async () => {
      const key = (await page.evaluate(KEY)) as string;
      expect(await statusWith(page, key)).toBe(200);
      expect(await statusWith(page, `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`)).toBe(401);
      // A new window has the cookie of the browser, but not the key of the page.
      const same = await page.context().newPage();
      onTestFinished(() => same.close());
      await same.goto(new URL(page.url()).origin);
      await same.getByText('This page is closed').waitFor();
      expect(await statusWith(same, '')).toBe(401);
      const other = await openPage(new URL(page.url()).origin);
      expect(await statusWith(other, key)).toBe(401);
      await other.context().close();
    });

    test('the page of an earlier dashboard says so, and what to type', async () => {
      const next = await ui();
      onTestFinished(next.end);
      const old = await page.context().newPage();
      onTestFinished(() => old.close());
      // Its key and cookie are those of the dashboard before, as if the next one had got the same port.
      await old.goto(new URL(next.url).origin);
      await old.evaluate(`sessionStorage.setItem('mcp-bridge-key', ${JSON.stringify(await page.evaluate(KEY))})`);
      await old.reload();
      await old.getByText('This page is of a dashboard that has ended.').waitFor();
      await old.getByText('mcp-bridge ui', { exact: true }).waitFor();
    });

    test('the page runs nothing but its own script, even if markup got in', async () => {
      const result = await page.evaluate(`new Promise((resolve) => {
        addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective), { once: true });
        const script = document.createElement('script');
        script.textContent = 'window.taken = 2';
        document.body.append(script);
      })`);
      expect(result).toMatch(/^script-src/);
      expect(await page.evaluate('typeof window.taken')).toBe('undefined');
      pages.faults.splice(
        0,
        pages.faults.length,
        ...pages.faults.filter((fault) => !/Content Security Policy/.test(fault)),
      );
    });
  });

  // The last ones: they end the daemon, and then the dashboard.
  test('the page goes on with the next daemon, and says so', async () => {
    await go('overview');
    const { daemon, home, env, project } = office;
    daemon.kill('SIGKILL');
    await daemon.exited;
    await seen('The daemon has gone.');
    office.client.destroy();
    office.daemon = await TestDaemon.start(config(home), { dir: home, env });
    await seen(/The daemon was restarted at/);
    office.client = await clientOf(office.daemon, project);
    await go('calls');
    await call('desk__echo', { text: 'after' });
    await page.getByRole('row').filter({ hasText: 'echo' }).first().waitFor();
  });

  test('a page that is loaded again goes on without a code', async () => {
    await page.reload();
    await page.getByRole('heading', { name: 'Calls' }).waitFor();
    await seen('Daemon runs');
  });

  test('the page of a dashboard that has ended says what to type', async () => {
    await started.end();
    await seen(/The connection to mcp-bridge ui is lost|This page is closed/);
    await page.getByText('This page is closed').waitFor();
    await page.getByText('mcp-bridge ui', { exact: true }).waitFor();
  });
});
