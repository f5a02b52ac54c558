// Options before the verb, as words. What the verbs make of them: test/integration/command.test.ts.

import { expect, test } from 'vitest';
import { ALL_OPTIONS, verbFirst } from '../../../src/cli/verb-first.ts';
import { VERB_TABLE } from '../../../src/cli/verb-table.ts';

test.each([
  ['--config f status', 'status --config f'],
  ['--config=f status', 'status --config=f'],
  ['--json status --watch', 'status --json --watch'],
  ['-n 3 -f logs files', 'logs -n 3 -f files'],
  ['--json config check x.json', 'config check --json x.json'],
  ['--json config --help', 'config --json --help'],
  ['--no-autostart call files read -- --x', 'call --no-autostart files read -- --x'],
  ['--env A=b add memory -- npx -y x', 'add --env A=b memory -- npx -y x'],
  ['-h status', 'status -h'],
  ['--help', '--help'],
])('%s is %s', (line, same) => {
  expect(verbFirst(line.split(' ')).join(' ')).toBe(same);
});

test('an option is of one type in every verb that has it, or it could not be told whether a value follows', () => {
  const types = new Map<string, Set<string>>();
  for (const { options } of Object.values(VERB_TABLE))
    for (const [name, { type, alias }] of Object.entries(options))
      for (const each of [name, alias ?? name]) types.set(each, (types.get(each) ?? new Set()).add(type));
  expect([...types].filter(([, kinds]) => kinds.size > 1)).toEqual([]);
  expect(Object.keys(ALL_OPTIONS).length).toBeGreaterThan(20);
});
