// What an agent sees of the view `discover` before it has asked for anything.

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { CODE_TOOLS } from '../../../src/meta-tools/code-tools.ts';
import { argumentFaults, definitionsOf, META_TOOLS } from '../../../src/meta-tools/meta-tools.ts';
import { READ_RESULT, READ_TERMS } from '../../../src/results/read-tool.ts';

/** The result of `tools/list` in the view `discover`. */
const META_TOOL_LIST = JSON.stringify({ tools: definitionsOf(META_TOOLS) });

test('the five tools cost an agent at most 450 tokens', () => {
  expect(Object.keys(META_TOOLS)).toHaveLength(5);
  expect(countTokens(META_TOOL_LIST)).toBeLessThanOrEqual(450);
});

test('with read_result they cost at most 520', () => {
  const list = JSON.stringify({ tools: definitionsOf({ ...META_TOOLS, [READ_RESULT]: READ_TERMS }) });
  expect(countTokens(list)).toBeLessThanOrEqual(520);
});

test('run_code costs an agent at most 180 tokens more, and run_python the same', () => {
  const costOf = (tools: object): number =>
    countTokens(JSON.stringify({ tools: definitionsOf({ ...META_TOOLS, ...tools }) }));
  const { run_code, run_python } = CODE_TOOLS;
  expect(costOf({ run_code }) - costOf({})).toBeLessThanOrEqual(180);
  expect(costOf({ run_code, run_python }) - costOf({ run_code })).toBeLessThanOrEqual(180);
});

test('a search for no tools at all is a mistake', () => {
  for (const limit of [0, -1, 1.5])
    expect(argumentFaults('search_tools', { query: 'x', limit })).toEqual(['limit must be a whole number, 1 or more']);
  expect(argumentFaults('search_tools', { query: 'x', limit: 1 })).toEqual([]);
});

test('those that only look say so; of execute_tool nothing is said, which is that it may do anything', () => {
  const { tools } = JSON.parse(META_TOOL_LIST) as { tools: { name: string; annotations?: object }[] };
  for (const { name, annotations } of tools)
    expect([name, annotations]).toEqual([name, name === 'execute_tool' ? undefined : { readOnlyHint: true }]);
});
