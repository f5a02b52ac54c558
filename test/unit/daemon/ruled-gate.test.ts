// The gate that rules and filters make: what they say, and what becomes of those that cannot be understood.

import { expect, test } from 'vitest';
import { RuledGate } from '../../../src/daemon/ruled-gate.ts';
import { NO_FILTER, type ToolFilter, type ToolRule } from '../../../src/model/tool-rules.ts';

const BROKEN = '{read';

function mayCall(tool: string, rules: readonly Partial<ToolRule>[], filter: ToolFilter = NO_FILTER): boolean {
  const whole = rules.map((rule) => ({ patterns: [], isEnabled: undefined, tags: [], ...rule }));
  return new RuledGate({ names: ['files'], where: 'by a test', rules: whole, filter }).refusalOf(tool) === undefined;
}

test('the last rule that speaks of a tool counts', () => {
  const rules = [
    { patterns: ['files:*'], isEnabled: false },
    { patterns: ['read_*'], isEnabled: true },
  ];
  expect(['read_file', 'write_file'].map((tool) => mayCall(tool, rules))).toEqual([true, false]);
});

test('a rule with a pattern that is not understood forbids everything where it forbids, and permits nothing', () => {
  expect(mayCall('x', [{ patterns: ['other', BROKEN], isEnabled: false }])).toBe(false);
  const permitting = [
    { patterns: ['*'], isEnabled: false },
    { patterns: ['x', BROKEN], isEnabled: true },
  ];
  expect(mayCall('x', permitting)).toBe(false);
});

test('a filter with a pattern that is not understood lets no tool pass', () => {
  expect(mayCall('x', [], { allow: undefined, deny: ['y', BROKEN] })).toBe(false);
  expect(mayCall('x', [], { allow: ['x', BROKEN], deny: [] })).toBe(false);
  expect(mayCall('x', [], { allow: undefined, deny: [''] })).toBe(false);
});

test('a name too long for rules to be asked about it is refused, and is no work', () => {
  const rules = [{ patterns: ['*delete*all'], isEnabled: false }];
  expect(mayCall(`${'delete'.repeat(100_000)}x`, rules)).toBe(false);
  expect(mayCall('undelete_some', rules)).toBe(true);
});

test('matching a filter takes time in proportion to its stars', () => {
  const deny = Array.from({ length: 20 }, (_, i) => `${'*a'.repeat(17)}${i}`);
  for (let i = 0; i < 50; i++) expect(mayCall(`${'a'.repeat(240)}_${i}`, [], { allow: undefined, deny })).toBe(true);
});
