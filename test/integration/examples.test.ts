// The examples of docs/examples.md, run as they are written, each in an empty home, against the built command.

import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { examplesOf, patternOf, runExample } from '../support/console-page.ts';
import { PROGRAM, ROOT, tempDir } from '../support/test-daemon.ts';

const examples = examplesOf(readFileSync(join(ROOT, 'docs/examples.md'), 'utf8'));

/** An empty home, where `mcp-bridge` is what was built and the page's servers are installed. */
function newHome(): { cwd: string; env: NodeJS.ProcessEnv } {
  const home = tempDir();
  const bin = join(home, 'bin');
  const cwd = join(home, 'work');
  mkdirSync(bin);
  mkdirSync(cwd);
  writeFileSync(join(bin, 'mcp-bridge'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(join(bin, 'mcp-bridge'), 0o755);
  const PATH = [bin, join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  return { cwd, env: { ...process.env, HOME: home, PATH, MCP_BRIDGE_SOCKET: join(home, 'b.sock') } };
}

test.each(examples.map((example) => [example.title, example] as const))('%s', async (_, example) => {
  const home = newHome();
  try {
    const outputs = await runExample(example, home);
    for (const [i, { command, output }] of example.steps.entries())
      expect(outputs[i], `$ ${command}`).toMatch(patternOf(output));
  } finally {
    await runCommand(['stop'], home);
  }
});

test('there are examples, and each says something', () => {
  expect(examples.length).toBeGreaterThanOrEqual(10);
  for (const { title, steps } of examples) expect(steps.map(({ output }) => output).join(''), title).not.toBe('');
});
