// The page with 500 servers and 10,000 tools: what is in the document stays few, and the last one is found.

import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, openBrowser } from '../support/browser.ts';
import { goTo, PATIENCE, type StartedUi, startUi, violations, WatchedPages } from '../support/dashboard-page.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const SERVERS = 500;
const TOOLS = 10_000;
const MOST_NODES = 2500;

let daemon: TestDaemon;
let browser: Browser;
let started: StartedUi;
let page: Page;
const pages = new WatchedPages();

async function openCrowd(): Promise<void> {
  const home = realpathSync(tempDir());
  const tool = (i: number): string =>
    JSON.stringify({ name: `tool-${i}`, description: `One of many, number ${i}`, inputSchema: { type: 'object' } });
  writeFileSync(join(home, 'crowd.txt'), Array.from({ length: TOOLS }, (_, i) => tool(i)).join('\n'));
  const idle = Array.from({ length: SERVERS - 1 }, (_, i) => [`s-${String(i).padStart(3, '0')}`, fixtureServer()]);
  const crowd = fixtureServer({ FIXTURE_TOOLS: join(home, 'crowd.txt') });
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_STATE_HOME: join(home, '.state') };
  daemon = await TestDaemon.start({ mcpServers: { ...Object.fromEntries(idle), crowd } }, { dir: home, env });
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  await control.request('lists', 'bridge/refresh', { servers: ['crowd'] });
  control.destroy();
  started = await startUi({ daemon, cwd: home, env });
}

const nodes = (): Promise<number> => page.evaluate('document.querySelectorAll("*").length');
const go = async (screen: string, text: string | RegExp): Promise<void> => {
  await goTo(page, screen);
  await page.getByText(text).first().waitFor();
};

describe.skipIf(!hasBrowser)('the dashboard of many servers', () => {
  beforeAll(async () => {
    [, browser] = await Promise.all([openCrowd(), openBrowser()]);
    page = await pages.open(browser, started.url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await started?.end();
    await daemon?.stop();
    pages.expectClean();
  });

  const SCREENS: readonly (readonly [screen: string, text: string | RegExp])[] = [
    ['overview', `of ${SERVERS}`],
    ['topology', /servers? in use/],
    ['servers', `${SERVERS} servers`],
    ['servers/crowd/tools', 'tool-0'],
    ['tools', /^10,\d+ tools\./],
    ['discovery', /definitions, \d+ used/],
  ];

  test.each(SCREENS)('has few nodes on the screen %s', async (screen, text) => {
    await go(screen, text);
    expect(await nodes()).toBeLessThan(MOST_NODES);
  });

  const ENDS: readonly (readonly [screen: string, text: string | RegExp, list: string, last: string])[] = [
    ['servers', `${SERVERS} servers`, 'Servers', 's-498'],
    ['tools', /^10,\d+ tools\./, 'Tools', 'tool-9999'],
  ];

  test.each(ENDS)('scrolls to the end of the list on the screen %s', async (screen, text, list, last) => {
    await go(screen, text);
    const rows = page.getByRole('rowgroup', { name: list });
    await rows.focus();
    await page.keyboard.press('End');
    await expect.poll(() => rows.getByRole('link', { name: last, exact: true }).count(), PATIENCE).toBe(1);
    expect(await nodes()).toBeLessThan(MOST_NODES);
  });

  test('finds one server among all by its name, and one tool of a server with thousands', async () => {
    await go('servers', `${SERVERS} servers`);
    await page.keyboard.press('/');
    await page.keyboard.type('s-437');
    await expect.poll(() => page.getByRole('row').count(), PATIENCE).toBe(2);
    await go(`servers/crowd/tools/tool-${TOOLS - 1}`, `number ${TOOLS - 1}`);
    await page
      .getByRole('navigation', { name: 'Tools' })
      .getByRole('link', { name: `tool-${TOOLS - 1}` })
      .waitFor();
    expect(await nodes()).toBeLessThan(MOST_NODES);
    expect(await violations(page)).toEqual([]);
  });
});
