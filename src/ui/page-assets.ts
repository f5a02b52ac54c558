// The files of the dashboard. The browser gets them before any sign-in, so they hold no data. They are read once,
// because the package may be replaced while the dashboard runs.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface PageAsset {
  readonly type: string;
  readonly body: Buffer;
}

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/dashboard.js': ['dashboard.js', 'text/javascript; charset=utf-8'],
  '/dashboard.css': ['dashboard.css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
};

/** All files by path. */
export function readAssets(dir: string): ReadonlyMap<string, PageAsset> {
  return new Map(
    Object.entries(FILES).map(([path, [file, type]]) => [path, { type, body: readFileSync(join(dir, file)) }]),
  );
}

/** A page for a refused visitor: only words, and what to type. */
export function plainPage(reason: string): Buffer {
  const text =
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>mcp-bridge</title></head><body>` +
    `<h1>mcp-bridge</h1><p>${reason}</p><p>To open the dashboard, type in a terminal:</p><pre>mcp-bridge ui</pre></body></html>\n`;
  return Buffer.from(text);
}
