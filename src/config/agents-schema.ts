// `agents`: what clients may say to each other.

import type { MessagingSettings, PairRule } from '../model/messaging-settings.ts';
import { AGENTS, MAILBOX } from '../model/settings.ts';
import type { Reader } from './reader.ts';
import { readSection, readSettings } from './section.ts';

export function agentsOf(reader: Reader, value: unknown): MessagingSettings {
  const section = reader.section(value, 'agents');
  const keys = [...Object.keys(AGENTS), 'mailbox', 'policy'];
  reader.keys(section, 'agents', keys);
  const { enabled, ...bounds } = readSettings(reader, section, 'agents', AGENTS);
  return {
    isEnabled: enabled,
    ...bounds,
    mailbox: readSection(reader, section.mailbox, 'agents.mailbox', MAILBOX),
    policy: policyOf(reader, reader.meant(section, 'agents', keys).policy),
  };
}

/** A list of which one rule is not understood lets nobody speak: the rule may have been the one that forbids it. */
function policyOf(reader: Reader, value: unknown): readonly PairRule[] {
  if (value === undefined) return [];
  const before = reader.findings.length;
  const rules = Array.isArray(value)
    ? value.map((rule: unknown, i) => ruleOf(reader, rule, `agents.policy[${i}]`))
    : [];
  if (!Array.isArray(value)) reader.fault('agents.policy', 'must be a list of rules');
  return reader.findings.length > before ? [{ from: '*', to: '*', isAllowed: false }] : rules;
}

function ruleOf(reader: Reader, value: unknown, place: string): PairRule {
  const fields = reader.section(value, place);
  reader.keys(fields, place, ['from', 'to', 'allow']);
  if (typeof fields.allow !== 'boolean') reader.fault(`${place}.allow`, 'must be true or false');
  const from = reader.text(fields.from, `${place}.from`) ?? '*';
  const to = reader.text(fields.to, `${place}.to`) ?? '*';
  return { from, to, isAllowed: fields.allow === true };
}
