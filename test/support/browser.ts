// Chromium for tests, as Debian packages it: one for each file of tests, without any connection to the outside. A machine without it
// leaves these tests out and says so; where BROWSER_TESTS is `required`, that is a failure.

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
  // A name of somebody else that leads to this machine, as DNS may say at any time.
  '--host-resolver-rules=MAP evil.example 127.0.0.1',
];

const found = [process.env.CHROMIUM ?? '', ...PLACES].find((path) => path !== '' && existsSync(path));
if (found === undefined && process.env.BROWSER_TESTS === 'required')
  throw new Error('There is no Chromium, and BROWSER_TESTS says that no test of the page may be left out');

export const hasBrowser = found !== undefined;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: found ?? '', args: ARGUMENTS });
}
