// `discovery.toolRules`: which tools may be used, and words by which they are found.

import type { ToolRule } from '../core/tool-gate.ts';
import type { Reader } from './reader.ts';

const KEYS = ['pattern', 'enabled', 'tags'];

export function toolRulesOf(reader: Reader, value: unknown, place: string): readonly ToolRule[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    reader.fault(place, 'must be a list of rules');
    return [];
  }
  return value.flatMap((rule: unknown, i) => toolRuleOf(reader, rule, `${place}[${i}]`) ?? []);
}

/** A rule that is not understood is left out whole. */
function toolRuleOf(reader: Reader, value: unknown, place: string): ToolRule | undefined {
  const before = reader.errors;
  const fields = reader.section(value, place);
  reader.keys(fields, place, KEYS);
  const patterns = reader.texts(fields.pattern, `${place}.pattern`);
  if (patterns.length === 0) reader.fault(`${place}.pattern`, 'needs at least one pattern');
  const rule = {
    patterns,
    isEnabled: fields.enabled === undefined ? undefined : reader.flag(fields.enabled, `${place}.enabled`, true),
    tags: reader.texts(fields.tags, `${place}.tags`),
  };
  return reader.errors > before ? undefined : rule;
}
