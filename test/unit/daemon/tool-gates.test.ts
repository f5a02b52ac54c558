// Which rules hold for a server of another host: those of its name there, with and without the host.

import { expect, test } from 'vitest';
import { ToolGates } from '../../../src/daemon/tool-gates.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';

const RULES = [
  { patterns: ['weather:secret'], isEnabled: false, tags: [] },
  { patterns: ['weather@hone:count', 'weather@*:send'], isEnabled: false, tags: [] },
];
const onHost = (host: string) => ({ name: `weather@${host}`, offeredName: 'weather', tools: NO_FILTER });

async function refusedAt(definition: Parameters<ToolGates['gateOf']>[0]): Promise<string[]> {
  const gates = new ToolGates();
  await gates.prepare({ toolRules: RULES, onToolChange: undefined }, [definition]);
  const gate = gates.gateOf(definition, new Set());
  return ['secret', 'count', 'send', 'free'].filter((tool) => gate.refusalOf(tool) !== undefined);
}

test('rules for the name hold on each host, and rules for one host there', async () => {
  expect(await refusedAt(onHost('hone'))).toEqual(['secret', 'count', 'send']);
  expect(await refusedAt(onHost('htwo'))).toEqual(['secret', 'send']);
});

test('a tool that is forbidden on one of the possible hosts is forbidden for the bare name', async () => {
  const any = { name: 'weather', offeredName: 'weather', tools: NO_FILTER };
  expect(await refusedAt({ ...any, anyOf: ['weather@hone', 'weather@htwo'] })).toEqual(['secret', 'count', 'send']);
  expect(await refusedAt({ ...any, anyOf: ['weather@htwo'] })).toEqual(['secret', 'send']);
});
