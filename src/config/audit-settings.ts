// `audit`: what is recorded of calls, and where.

import type { Reader } from './reader.ts';

export interface AuditSettings {
  readonly isKept: boolean;
  /** Undefined for the usual place. */
  readonly file: string | undefined;
  readonly maxBytes: number;
  /** How many files that were put aside are kept. */
  readonly keep: number;
  /** Whether arguments are written as they are, instead of a hash. */
  readonly keepsArguments: boolean;
  /** What becomes of calls that cannot be recorded. */
  readonly onFailure: 'continue' | 'refuse';
}

/** Of a section that says nothing else. */
export const DEFAULT_AUDIT: AuditSettings = {
  isKept: true,
  file: undefined,
  maxBytes: 16 * 1024 * 1024,
  keep: 4,
  keepsArguments: false,
  onFailure: 'continue',
};

/** Without such a section: whoever wants to know asks for it. */
export const NO_AUDIT: AuditSettings = { ...DEFAULT_AUDIT, isKept: false };

const KEYS = ['enabled', 'file', 'maxBytes', 'keep', 'arguments', 'onFailure'];

export function auditSettingsOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): AuditSettings {
  if (value === undefined) return NO_AUDIT;
  const before = reader.findings.length;
  const fields = reader.section(value, 'audit');
  reader.keys(fields, 'audit', KEYS);
  const { onFailure } = fields;
  const isKnown = onFailure === 'continue' || onFailure === 'refuse';
  if (!isKnown && onFailure !== undefined) reader.fault('audit.onFailure', 'is one of continue, refuse');
  const file = reader.text(fields.file, 'audit.file');
  const settings = {
    isKept: reader.flag(fields.enabled, 'audit.enabled', DEFAULT_AUDIT.isKept),
    file: file === undefined ? undefined : resolvePath(file),
    maxBytes: reader.count(fields.maxBytes, 'audit.maxBytes', { otherwise: DEFAULT_AUDIT.maxBytes, least: 65_536 }),
    keep: reader.count(fields.keep, 'audit.keep', { otherwise: DEFAULT_AUDIT.keep, least: 1, most: 1000 }),
    keepsArguments: reader.flag(fields.arguments, 'audit.arguments', DEFAULT_AUDIT.keepsArguments),
  };
  // What is not understood may be that calls shall not be made which cannot be recorded.
  const otherwise = reader.findings.length > before ? 'refuse' : DEFAULT_AUDIT.onFailure;
  return { ...settings, onFailure: isKnown ? onFailure : otherwise };
}
