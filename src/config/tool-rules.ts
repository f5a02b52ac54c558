// `discovery.toolRules`: reads which tools may be used, and extra words to find them by. An unreadable rule that may be
// a ban forbids every tool that it may cover.

import type { ToolRule } from '../model/tool-rules.ts';
import type { Reader } from './reader.ts';

const KEYS = ['pattern', 'enabled', 'tags'];
/** A rule that forbids all tools. */
export const NO_TOOL: ToolRule = { patterns: ['**'], isEnabled: false, tags: [] };

/** Checks patterns that are matched together; see util/glob.ts, which is loaded only if there are rules. */
export interface PatternBudget {
  /** The reason why one more pattern cannot be kept; undefined if it can. */
  problemWith(pattern: string): string | undefined;
}

/**
 * Reads the rules. Without a budget it takes every pattern; the code that matches them then forbids those that cannot
 * be kept.
 */
export function toolRulesOf(
  reader: Reader,
  value: unknown,
  place: string,
  budget: PatternBudget | undefined,
): readonly ToolRule[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    reader.fault(place, 'must be a list of rules');
    return [NO_TOOL];
  }
  return value.flatMap((rule: unknown, i) => toolRuleOf(reader, rule, `${place}[${i}]`, budget) ?? []);
}

function toolRuleOf(
  reader: Reader,
  value: unknown,
  place: string,
  budget: PatternBudget | undefined,
): ToolRule | undefined {
  const before = reader.findings.length;
  const errorsBefore = reader.errors;
  const section = reader.section(value, place);
  if (reader.errors > errorsBefore) return NO_TOOL;
  reader.keys(section, place, KEYS);
  const fields = reader.meant(section, place, KEYS);
  const patterns = patternsOf(reader, fields.pattern, `${place}.pattern`, budget);
  const rule = {
    patterns: patterns ?? NO_TOOL.patterns,
    isEnabled: fields.enabled === undefined ? undefined : reader.flag(fields.enabled, `${place}.enabled`, true),
    tags: reader.texts(fields.tags, `${place}.tags`),
  };
  if (reader.findings.length === before) return rule;
  return mayForbid(section) ? { patterns: rule.patterns, isEnabled: false, tags: [] } : undefined;
}

/** Reads patterns; undefined if they cannot be read. */
function patternsOf(
  reader: Reader,
  value: unknown,
  place: string,
  budget: PatternBudget | undefined,
): readonly string[] | undefined {
  const before = reader.errors;
  const isAlone = typeof value === 'string' && value !== '';
  const patterns = isAlone ? [value] : reader.texts(value, place);
  if (patterns.length === 0) reader.fault(place, 'needs at least one pattern');
  if (reader.errors > before) return undefined;
  for (const [i, pattern] of patterns.entries()) {
    const problem = budget?.problemWith(pattern);
    if (problem !== undefined) reader.fault(isAlone ? place : `${place}[${i}]`, problem, HINT);
  }
  return reader.errors > before ? undefined : patterns;
}

const HINT = 'until then the rule forbids all tools, if it forbids any';

/** True if the rule may be a ban. A rule that permits, or only adds tags, can be left out safely. */
function mayForbid(section: Readonly<Record<string, unknown>>): boolean {
  if (section.enabled !== undefined) return section.enabled !== true;
  return Object.keys(section).some((key) => !KEYS.includes(key));
}
