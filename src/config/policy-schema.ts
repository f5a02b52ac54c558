// `policy`: whose servers may be used, and what becomes of tools that change. What is not understood closes: it may have
// been what keeps somebody out.

import type { ToolChangePolicy } from '../model/tool-rules.ts';
import { isRecord } from '../util/json-value.ts';
import type { Reader } from './reader.ts';

export interface PolicySettings {
  /** Says what happens to tools that have changed; undefined for the default. */
  readonly onToolChange: ToolChangePolicy | undefined;
  /** As they are written: whoever decides by the lists understands them. */
  readonly lists: PolicyLists;
}

export interface PolicyLists {
  readonly allowedMcpServers?: unknown;
  readonly deniedMcpServers?: unknown;
  /** Something of who is denied is not understood, so everybody is. */
  readonly deniesAll?: true;
}

const KEYS = ['allowedMcpServers', 'deniedMcpServers', 'onToolChange'];
const RULES = ['serverName', 'serverCommand', 'serverUrl'];

export function policyOf(reader: Reader, value: unknown): PolicySettings {
  const before = reader.errors;
  const section = reader.section(value, 'policy');
  const isUnreadable = reader.errors > before;
  reader.keys(section, 'policy', KEYS);
  const policy = reader.meant(section, 'policy', KEYS);
  const { onToolChange, allowedMcpServers, deniedMcpServers } = policy;
  checkList(reader, allowedMcpServers, 'policy.allowedMcpServers');
  const isUnderstood = checkList(reader, deniedMcpServers, 'policy.deniedMcpServers');
  return {
    onToolChange: isUnreadable ? 'block' : onToolChangeOf(reader, onToolChange, section),
    lists: {
      ...(allowedMcpServers !== undefined && { allowedMcpServers }),
      ...(deniedMcpServers !== undefined && { deniedMcpServers }),
      ...((isUnreadable || !isUnderstood) && { deniesAll: true }),
    },
  };
}

function onToolChangeOf(
  reader: Reader,
  value: unknown,
  section: Readonly<Record<string, unknown>>,
): ToolChangePolicy | undefined {
  const isMisspelled = value !== undefined && !Object.hasOwn(section, 'onToolChange');
  if (value === undefined) return undefined;
  if (value === 'allow' || value === 'warn' || value === 'block') return isMisspelled ? 'block' : value;
  reader.fault('policy.onToolChange', 'is one of allow, warn, block', 'until it is corrected, block applies');
  return 'block';
}

/** True if each rule could fit somebody, as far as its form says. */
function checkList(reader: Reader, value: unknown, place: string): boolean {
  const before = reader.errors;
  if (value === undefined) return true;
  if (!Array.isArray(value)) reader.fault(place, 'must be a list of rules');
  else for (const [i, rule] of value.entries()) checkRule(reader, rule, `${place}[${i}]`);
  return reader.errors === before;
}

function checkRule(reader: Reader, rule: unknown, place: string): void {
  if (!isRecord(rule)) return reader.fault(place, 'must be an object');
  const [kind = '', ...more] = Object.keys(rule);
  if (more.length > 0 || !RULES.includes(kind))
    return reader.fault(place, `must have exactly one of ${RULES.join(', ')}`);
  const value = rule[kind];
  const isCommand = kind === 'serverCommand';
  const isText = (text: unknown): boolean => typeof text === 'string';
  if (isCommand && !(Array.isArray(value) && value.length > 0 && value.every(isText)))
    reader.fault(`${place}.${kind}`, 'must be a list of strings');
  if (!isCommand && (!isText(value) || value === ''))
    reader.fault(`${place}.${kind}`, 'must be a string that is not empty');
}
