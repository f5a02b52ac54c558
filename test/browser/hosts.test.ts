// Other hosts on the page: two real daemons on a real nats-server, one page, and a host that goes.

import { mkdirSync, realpathSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { hasBrowser, openBrowser } from '../support/browser.ts';
import { goTo, type StartedUi, startUi, violations, WatchedPages } from '../support/dashboard-page.ts';
import { endNats, NatsServer, natsTest as test } from '../support/nats-server.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

let home: TestDaemon;
let owner: TestDaemon;
let browser: Browser;
let started: StartedUi;
let page: Page;
const pages = new WatchedPages();

async function startHost(url: string, host: string, offer: readonly string[]): Promise<TestDaemon> {
  const dir = realpathSync(tempDir());
  mkdirSync(`${dir}/.config`);
  const federation = { nats: { servers: [url] }, tenant: 'acme', user: 'ann', host, offer };
  const mcpServers = offer.length === 0 ? { own: fixtureServer() } : { compiler: fixtureServer() };
  const env = { HOME: dir, XDG_CONFIG_HOME: `${dir}/.config`, XDG_STATE_HOME: `${dir}/.state` };
  return TestDaemon.start({ mcpServers, federation, client: { view: 'all' } }, { dir, env });
}

describe.skipIf(!hasBrowser)('the dashboard shows other hosts', () => {
  beforeAll(async () => {
    const nats = await NatsServer.start();
    [owner, browser] = await Promise.all([startHost(nats.url, 'hub', ['compiler']), openBrowser()]);
    home = await startHost(nats.url, 'laptop', []);
    const env = { HOME: home.dir, XDG_CONFIG_HOME: `${home.dir}/.config`, XDG_STATE_HOME: `${home.dir}/.state` };
    started = await startUi({ daemon: home, cwd: home.dir, env });
    page = await pages.open(browser, started.url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await started?.end();
    await Promise.all([home?.stop(), owner?.stop()]);
    await endNats();
    pages.expectClean();
  });

  test('with their offers and distance, and the host of each server', async () => {
    await goTo(page, 'servers');
    const panel = page.locator('section.panel').filter({ hasText: 'Other hosts' });
    await panel.getByText('hub', { exact: true }).waitFor();
    await panel.getByText(/\d ms$/).waitFor();
    expect(await panel.textContent()).toMatch(/this host is laptop, NATS .* at .*offers compiler/);
    const row = page.getByRole('row').filter({ hasText: 'compiler@hub' });
    await row.getByText('hub', { exact: true }).waitFor();
    await page.getByRole('row').filter({ hasText: 'own' }).getByText('this host').waitFor();
    expect(await violations(page)).toEqual([]);
    await row.getByRole('link').click();
    await page.getByText(/It runs on hub, .* away, version/).waitFor();
  });

  test('in the picture of clients and servers', async () => {
    const client = await home.client({ 'mcp-bridge/clientId': 'ann' });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await client.callTool(1, 'compiler_hub__echo', { text: 'x' });
    await goTo(page, 'topology');
    await page.getByText(/1 other host,/).waitFor();
    expect(await violations(page)).toEqual([]);
    client.destroy();
  });

  test('and says why one cannot be reached once it has gone', async () => {
    await goTo(page, 'servers/compiler%40hub');
    await page.getByText(/It runs on hub/).waitFor();
    owner.kill('SIGKILL');
    await owner.exited;
    await page.getByText(/It cannot be reached\.|The bridge has no server of this name here/).waitFor();
    await goTo(page, 'servers');
    await page.getByText(/no answer, seen|No other host is there/).waitFor();
  });
});
