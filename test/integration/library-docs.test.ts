// The examples of docs/library.md, run as they are written, against the built library.

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { fixtureServer, ROOT, TestDaemon } from '../support/test-daemon.ts';

const examples = [...readFileSync(join(ROOT, 'docs/library.md'), 'utf8').matchAll(/```js\n(.*?)```/gs)].map(
  ([, code]) => code ?? '',
);

test.each(examples.map((code, i) => [i + 1, code] as const))('example %d of the library runs', async (_, code) => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const modules = join(daemon.dir, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, join(modules, 'mcp-bridge'));
  symlinkSync(join(ROOT, 'node_modules/@modelcontextprotocol'), join(modules, '@modelcontextprotocol'));
  const file = join(daemon.dir, 'example.mjs');
  writeFileSync(file, code.includes('client.close()') ? code : `${code}await client.close();\n`);
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: daemon.dir,
    env: { ...process.env, MCP_BRIDGE_SOCKET: daemon.path },
  });
  if (code.includes('listTools')) expect(stdout).toContain('fixture__echo');
  await daemon.stop();
});

test('there are examples', () => {
  expect(examples).toHaveLength(2);
});
