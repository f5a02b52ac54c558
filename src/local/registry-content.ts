// The content of a registry of running servers, as text and as entries by id. It keeps unknown members.

import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { livenessOf } from './process-identity.ts';
import { processOf } from './registered-server.ts';

const VERSION = '1.0';

export interface RegistryContent {
  readonly servers: ReadonlyMap<string, unknown>;
  /** The other members of the file. */
  readonly others: Readonly<Record<string, unknown>>;
}

export type RegistryText =
  | { readonly kind: 'content'; readonly content: RegistryContent }
  | { readonly kind: 'broken'; readonly problem: string }
  /** A newer program has written it, so even familiar members may mean something else. */
  | { readonly kind: 'future'; readonly version: string };

export const NO_SERVERS: RegistryContent = { servers: new Map(), others: { version: VERSION } };

export function parseRegistry(text: string): RegistryText {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    return { kind: 'broken', problem: 'is not JSON' };
  }
  return parseRegistryValue(value);
}

export function parseRegistryValue(value: unknown): RegistryText {
  if (!isRecord(value)) return { kind: 'broken', problem: 'is no object' };
  const { servers = {}, ...others } = value;
  const version = others.version ?? VERSION;
  if (!/^1(?:\.\d+)*$/.test(typeof version === 'number' ? `${version}` : textOf(version)))
    return { kind: 'future', version: JSON.stringify(version) };
  if (!isRecord(servers)) return { kind: 'broken', problem: 'has servers that are no object' };
  return { kind: 'content', content: { servers: new Map(Object.entries(servers)), others: { version, ...others } } };
}

export function registryText({ servers, others }: RegistryContent): string {
  const { version, ...rest } = others;
  return `${JSON.stringify({ version, servers: Object.fromEntries(servers), ...rest }, undefined, 2)}\n`;
}

/** The entries whose processes run here. */
export function livingIn({ servers }: RegistryContent): Map<string, unknown> {
  return new Map([...servers].filter(([, entry]) => stateOf(entry) === 'alive'));
}

/** The entries without those whose processes have ended. Processes elsewhere cannot be checked, so theirs stay. */
export function withoutGone(servers: ReadonlyMap<string, unknown>): Map<string, unknown> {
  return new Map([...servers].filter(([, entry]) => stateOf(entry) !== 'gone'));
}

function stateOf(entry: unknown) {
  const process = processOf(entry);
  return process === undefined ? undefined : livenessOf(process);
}
