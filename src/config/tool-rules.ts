// `discovery.toolRules`: which tools may be used, and words by which they are found. A rule that is not understood, and
// may be one that forbids, forbids what it can be about.

import type { ToolRule } from '../model/tool-rules.ts';
import type { Reader } from './reader.ts';

const KEYS = ['pattern', 'enabled', 'tags'];
/** A rule that forbids all tools. */
export const NO_TOOL: ToolRule = { patterns: ['**'], isEnabled: false, tags: [] };

/** Looks at patterns that are matched together; see util/glob.ts, which is loaded only where there are rules. */
export interface PatternBudget {
  /** Why one more cannot be kept; undefined if it can. */
  problemWith(pattern: string): string | undefined;
}

/** Without a budget patterns are taken as they are; who matches them closes what cannot be kept. */
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

/** Undefined if they cannot be read. */
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

/** A rule that permits, or only gives tags, forbids nothing if it is left out. */
function mayForbid(section: Readonly<Record<string, unknown>>): boolean {
  if (section.enabled !== undefined) return section.enabled !== true;
  return Object.keys(section).some((key) => !KEYS.includes(key));
}
