// Draws the pictures of the dashboard in docs/ and README.md: the real page in Chromium, with a daemon, servers and clients that really
// run. `node scripts/dashboard-pictures.mjs [FOLDER]`, after a build; with a folder, every screen in both colours and a narrow window.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { openWorld, PROGRAM } from './dashboard-world.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [folder] = process.argv.slice(2);
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };
const SCREENS = [
  'overview',
  'inbox',
  'topology',
  'calls',
  'servers',
  'servers/github',
  'servers/github/tools',
  'tools',
  'clients',
  'discovery',
  'audit',
  'settings',
];
const DOCS = [
  ['dashboard-overview', 'overview', 'light', WIDE],
  ['dashboard-server', 'servers/github', 'light', WIDE],
  ['dashboard-topology', 'topology', 'dark', WIDE],
];
const all = () =>
  SCREENS.flatMap((screen) => [
    [`${screen.replaceAll('/', '-')}-light`, screen, 'light', WIDE],
    [`${screen.replaceAll('/', '-')}-dark`, screen, 'dark', WIDE],
    [`${screen.replaceAll('/', '-')}-narrow`, screen, 'light', NARROW],
  ]);

const target = folder ?? join(ROOT, 'docs/images');
mkdirSync(target, { recursive: true });
const world = await openWorld();
const ui = spawn(process.execPath, [PROGRAM, 'ui', '--no-open', '--write'], {
  env: world.environment,
  cwd: world.project,
  stdio: ['ignore', 'pipe', 'inherit'],
});
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});
try {
  const url = await new Promise((resolve) => ui.stdout.once('data', (chunk) => resolve(`${chunk}`.trim())));
  const page = await browser.newPage({ viewport: WIDE });
  await page.goto(url);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  process.stdout.write(`first paint after ${Math.round(paint)} ms\n`);
  await page.waitForTimeout(folder === undefined ? 62_000 : 5000); // so that the last minute has something in it
  for (const [name, screen, colorScheme, size] of folder === undefined ? DOCS : all()) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    await page.evaluate((to) => {
      location.hash = `#/${to}`;
    }, screen);
    await page.waitForTimeout(1500);
    await page.screenshot({ path: join(target, `${name}.png`) });
  }
} finally {
  await browser.close();
  ui.kill('SIGTERM');
  await world.close();
}
