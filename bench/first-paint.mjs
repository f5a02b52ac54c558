// How long the dashboard takes to be seen: a page that is opened in Chromium, with a dashboard of its own each time. First paint is what
// the browser says of it; the overview is there when its heading is.
//   node bench/first-paint.mjs [--build DIR] [--times N]
import { once } from 'node:events';
import { chromium } from 'playwright-core';
import { quantile } from './statistics.mjs';
import { startDaemon } from './subjects.mjs';
import { inWorkspace, program } from './workspace.mjs';

const TIMES = 20;
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-sync',
];
const at = process.argv.indexOf('--times');
const times = at === -1 ? TIMES : Number(process.argv[at + 1]);

/** Notes in the page when its first heading is there, and when the first numbers of the daemon are. */
const noteContent = () => {
  globalThis.seenMs = {};
  const note = (name, isThere) => {
    if (isThere) globalThis.seenMs[name] ??= performance.now();
  };
  const seen = () => {
    note('heading', document.querySelector('h1') !== null);
    note('numbers', document.querySelector('.stat-unit')?.textContent === 'of 1');
    if ('numbers' in globalThis.seenMs) observer.disconnect();
  };
  const observer = new MutationObserver(seen);
  observer.observe(document, { childList: true, subtree: true });
};

await inWorkspace(async (workspace) => {
  const echo = { command: process.execPath, args: [program('echo-server.mjs')] };
  const daemon = await startDaemon(workspace, { servers: { echo } });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ARGUMENTS,
  });
  try {
    const openings = [];
    for (let i = 0; i <= times; i++) openings.push(await opened(workspace, browser, daemon.path));
    openings.shift(); // the browser has read nothing yet
    console.log('| opening of the dashboard, ms | median | slowest |\n| --- | ---: | ---: |');
    for (const [title, name] of [
      ['the page itself is there', 'response'],
      ['its script begins', 'script'],
      ['first paint', 'paint'],
      ['first paint with text', 'text'],
      ['the overview', 'heading'],
      ['its numbers', 'numbers'],
    ]) {
      const all = openings.map((one) => one[name]);
      console.log(`| ${title} | ${quantile(all, 0.5).toFixed(0)} | ${Math.max(...all).toFixed(0)} |`);
    }
  } finally {
    await browser.close();
  }
});

async function opened(workspace, browser, path) {
  const ui = workspace.spawn(process.execPath, [workspace.bridge, 'ui', '--no-open', '--mcp-bridge-socket', path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [url] = await once(ui.stdout, 'data');
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.addInitScript(noteContent);
  await page.goto(`${url}`.trim());
  await page.waitForFunction(
    () => 'numbers' in globalThis.seenMs && performance.getEntriesByName('first-paint').length > 0,
  );
  const figures = await page.evaluate(() => {
    const paint = (name) => performance.getEntriesByName(name)[0]?.startTime ?? Number.NaN;
    const [navigation] = performance.getEntriesByType('navigation');
    return {
      response: navigation.responseEnd,
      script: navigation.domInteractive,
      paint: paint('first-paint'),
      text: paint('first-contentful-paint'),
      ...globalThis.seenMs,
    };
  });
  await context.close();
  await workspace.end(ui);
  return figures;
}
