// The suite of torture in its short form: each scenario with its own processes, as `make torture` runs it.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../support/test-daemon.ts';
import { themes } from '../torture/scenarios.mjs';

const RUN = join(ROOT, 'test/torture/run.mjs');

function run(name: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [RUN, '--short', name], (_error, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}

describe.each(Object.entries(themes))('%s', (_theme, scenarios) => {
  test.for(Object.keys(scenarios))('%s', { timeout: 240_000 }, async (name, { skip }) => {
    const said = await run(name);
    const [, missing] = /^not run .*?: (.*)$/m.exec(said) ?? [];
    skip(missing !== undefined, missing);
    expect(said).toContain('1 passed, 0 failed');
  });
});

test('docs/reliability.md has the promise of each', () => {
  const rows = [...readFileSync(join(ROOT, 'docs/reliability.md'), 'utf8').matchAll(/^\| (.+?) \| .+ \| .+ \|$/gm)];
  const names = rows.map(([, name]) => name).filter((name) => name !== 'scenario' && name !== '---');
  expect(names.sort()).toEqual(Object.values(themes).flatMap(Object.keys).sort());
});
