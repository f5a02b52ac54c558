// The dashboard for tests: `mcp-bridge ui` on a real daemon, and pages of Chromium whose faults and requests are noted.

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { PROGRAM, type TestDaemon } from './test-daemon.ts';

/** A machine may be slow. */
export const PATIENCE = { timeout: 30_000 };

export interface UiPlace {
  readonly daemon: TestDaemon;
  /** The directory that it runs in. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface StartedUi {
  readonly child: ChildProcess;
  readonly url: string;
  /** Ends it, and waits for that. */
  end(): Promise<void>;
}

/** Starts `mcp-bridge ui`. */
export async function startUi({ daemon, cwd, env }: UiPlace, ...flags: string[]): Promise<StartedUi> {
  const config = join(daemon.dir, 'config.json');
  const args = ['ui', '--no-open', '--mcp-bridge-socket', daemon.path, '--config', config, ...flags];
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString().trim()));
    child.once('exit', (code) => reject(new Error(`mcp-bridge ui has ended with ${code}`)));
  });
  const end = (): Promise<void> => {
    child.kill('SIGTERM');
    return ended;
  };
  return { child, url, end };
}

/** Opens pages, and notes what must not happen in them. */
export class WatchedPages {
  /** Errors of pages. */
  readonly faults: string[] = [];
  /** The origins that they have asked for anything. */
  readonly #asked = new Set<string>();

  async open(browser: Browser, url: string, options: object = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    this.watch(page);
    await page.goto(url);
    return page;
  }

  watch(page: Page): void {
    page.on('pageerror', (error) => this.faults.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 40[13]|ERR_/.test(message.text())) this.faults.push(message.text());
    });
    page.on('request', (request) => this.#asked.add(new URL(request.url()).origin));
  }

  /** Fails if a page had an error, or asked another origin than a port of this machine. */
  expectClean(): void {
    expect(this.faults, 'errors of the page').toEqual([]);
    const others = [...this.#asked].filter((origin) => !/^http:\/\/127\.0\.0\.1:\d+$/.test(origin));
    expect(others, 'other origins').toEqual([]);
  }
}

export function goTo(page: Page, screen: string): Promise<void> {
  return page.evaluate(`location.hash = '#/${screen}'`);
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** The findings of axe. The policy blocks script tags, so that it is evaluated. */
export async function violations(at: Page): Promise<string[]> {
  if ((await at.evaluate('typeof window.axe')) === 'undefined') await at.evaluate(readFileSync(AXE, 'utf8'));
  const found = (await at.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )) as {
    id: string;
    nodes: { html: string; failureSummary?: string }[];
  }[];
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`).join(' | ')}`,
  );
}
