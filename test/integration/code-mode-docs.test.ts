// The task of docs/code-mode.md, run as it is written: each program against real servers, in the order of the page.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { patternOf } from '../support/console-page.ts';
import { RawClient } from '../support/raw-client.ts';
import { ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const program = (name: string): string => join(ROOT, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);

test('the programs of the page run, with the results that the page names', async () => {
  const page = readFileSync(join(ROOT, 'docs/code-mode.md'), 'utf8');
  const steps = [...page.matchAll(/```ts\n([\s\S]*?)```[\s\S]*?```text\n([\s\S]*?)```/g)];
  expect(steps).toHaveLength(3);
  const daemon = await TestDaemon.start({
    client: { view: 'code' },
    codeMode: { enabled: true },
    mcpServers: {
      memory: {
        ...{ command: process.execPath, args: [program('memory')] },
        env: { MEMORY_FILE_PATH: join(tempDir(), 'memory.jsonl') },
      },
      everything: { command: process.execPath, args: [program('everything'), 'stdio'] },
    },
  });
  const client = await RawClient.connect(daemon.path);
  await client.initialize({ 'mcp-bridge/view': 'code' });
  // Servers that take long to start are left out of a first search.
  await client.callTool('warm-up', 'run_code', { code: 'await describe(...discovered_servers()); return 1' });
  for (const [i, [, code, expected = '']] of steps.entries()) {
    const { result } = await client.callTool(i, 'run_code', { code });
    const { content = [] } = (result ?? {}) as { content?: { text: string }[] };
    const texts = content.map(({ text }) => text.trimEnd());
    expect(`${texts.join('\n')}\n`).toMatch(patternOf(expected));
    expect(result?.isError).toBeUndefined();
  }
  client.destroy();
  await daemon.stop();
});
