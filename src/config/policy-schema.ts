// `policy`: reads which servers may be used, and what happens to tools that change. A fault makes it stricter: the
// unreadable part may have been a restriction.

import type { ToolChangePolicy } from '../model/tool-rules.ts';
import { isRecord } from '../util/json-value.ts';
import type { Reader } from './reader.ts';

export interface PolicySettings {
  /** The policy for tools that have changed; undefined for the default. */
  readonly onToolChange: ToolChangePolicy | undefined;
  /** The lists as the file spells them; the code that applies them interprets them. */
  readonly lists: PolicyLists;
}

export interface PolicyLists {
  readonly allowedMcpServers?: unknown;
  readonly deniedMcpServers?: unknown;
  /** Part of the deny list is not understood, so every server is denied. */
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

/** True if every rule has a valid form. */
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
