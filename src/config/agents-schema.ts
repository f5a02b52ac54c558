// `agents`: what clients may say to each other.

import { DEFAULT_MESSAGING, type MessagingSettings, type PairRule } from '../model/messaging-settings.ts';
import type { Reader } from './reader.ts';

const KEYS = ['enabled', 'maxPerSecond', 'maxMessageBytes', 'maxInFlight', 'maxHops', 'mailbox', 'policy'];

export function agentsOf(reader: Reader, value: unknown): MessagingSettings {
  const section = reader.section(value, 'agents');
  reader.keys(section, 'agents', KEYS);
  const fields: Record<string, unknown> = { ...section, policy: reader.meant(section, 'agents', KEYS).policy };
  const mailbox = reader.section(fields.mailbox, 'agents.mailbox');
  reader.keys(mailbox, 'agents.mailbox', ['maxMessages', 'maxBytes']);
  const { mailbox: otherwise, ...defaults } = DEFAULT_MESSAGING;
  const count = (key: 'maxPerSecond' | 'maxMessageBytes' | 'maxInFlight' | 'maxHops'): number =>
    reader.count(fields[key], `agents.${key}`, { otherwise: defaults[key], least: 1 });
  const countOfBox = (key: keyof MessagingSettings['mailbox']): number =>
    reader.count(mailbox[key], `agents.mailbox.${key}`, { otherwise: otherwise[key], least: 1 });
  return {
    isEnabled: reader.flag(fields.enabled, 'agents.enabled', defaults.isEnabled),
    maxPerSecond: count('maxPerSecond'),
    maxMessageBytes: count('maxMessageBytes'),
    maxInFlight: count('maxInFlight'),
    maxHops: count('maxHops'),
    mailbox: { maxMessages: countOfBox('maxMessages'), maxBytes: countOfBox('maxBytes') },
    policy: policyOf(reader, fields.policy),
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
