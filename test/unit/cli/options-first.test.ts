// Options before the command, as words. What the commands make of them: test/integration/command.test.ts.

import { expect, test } from 'vitest';
import { COMMANDS } from '../../../src/cli/command-table.ts';
import { ALL_OPTIONS, optionsLast } from '../../../src/cli/options-first.ts';

test.each([
  ['--config f status', 'status --config f'],
  ['--config=f status', 'status --config=f'],
  ['--json status --watch', 'status --json --watch'],
  ['-n 3 -f logs files', 'logs -n 3 -f files'],
  ['--json config check x.json', 'config check --json x.json'],
  ['--json config --help', 'config --json --help'],
  ['--no-autostart call files read -- --x', 'call --no-autostart files read -- --x'],
  ['--env A=b add memory -- npx -y x', 'add --env A=b memory -- npx -y x'],
  ['--http 127.0.0.1:4810 serve', 'serve --http 127.0.0.1:4810'],
  ['--http install cursor', 'install --http cursor'],
  ['-h status', 'status -h'],
  ['--help', '--help'],
])('%s is %s', (line, same) => {
  expect(optionsLast(line.split(' ')).join(' ')).toBe(same);
});

test('an option is of one type in every command that has it; one alone is a flag here and has a value there', () => {
  const types = new Map<string, Set<string>>();
  for (const { options } of Object.values(COMMANDS))
    for (const [name, { type, alias }] of Object.entries(options))
      for (const each of [name, alias ?? name]) types.set(each, (types.get(each) ?? new Set()).add(type));
  expect([...types].flatMap(([name, kinds]) => (kinds.size > 1 ? name : []))).toEqual(['http']);
  expect(Object.keys(ALL_OPTIONS).length).toBeGreaterThan(20);
});
