// `audit`: reads which calls are recorded, how, and where.

import { AUDIT, defaultsOf, type SettingsOf } from '../model/settings.ts';
import { isRecord } from '../util/json-value.ts';
import { type Reader, readSection } from './reader.ts';

export interface AuditSettings {
  readonly isKept: boolean;
  /** Undefined for the usual file. */
  readonly file: string | undefined;
  readonly maxBytes: number;
  /** The number of old files to keep. */
  readonly keep: number;
  /** True if arguments are recorded as they are; false to record a hash. */
  readonly keepsArguments: boolean;
  /** The policy for calls that cannot be recorded. */
  readonly onFailure: SettingsOf<typeof AUDIT>['onFailure'];
}

type AuditValues = SettingsOf<typeof AUDIT>;

/** The settings of an empty section. */
export const DEFAULT_AUDIT: AuditSettings = named(defaultsOf(AUDIT));

function named({ enabled, arguments: keepsArguments, ...others }: AuditValues): AuditSettings {
  return { isKept: enabled, keepsArguments, ...others };
}

/** The settings without such a section: nothing is recorded unless the user asks for it. */
export const NO_AUDIT: AuditSettings = { ...DEFAULT_AUDIT, isKept: false };

export function auditSettingsOf(reader: Reader, value: unknown, resolvePath: (path: string) => string): AuditSettings {
  if (value === undefined) return NO_AUDIT;
  const before = reader.findings.length;
  const settings = named(readSection(reader, value, 'audit', AUDIT));
  // A fault may hide the wish to refuse calls that cannot be recorded.
  const isInDoubt = reader.findings.length > before && !isChosen(value);
  const { file, onFailure } = settings;
  return {
    ...settings,
    file: file === undefined ? undefined : resolvePath(file),
    onFailure: isInDoubt ? 'refuse' : onFailure,
  };
}

function isChosen(value: unknown): boolean {
  return isRecord(value) && AUDIT.onFailure.choices.some((choice) => choice === value.onFailure);
}
