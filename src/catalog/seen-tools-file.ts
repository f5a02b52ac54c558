// The state of a server's seen tools, and its file format. A file in another format never counts as an empty one.

import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord } from '../util/json-value.ts';

export interface SeenDefinition {
  readonly hash: string;
  /** Undefined if the text was too long to keep. */
  readonly text: string | undefined;
}

export interface SeenTool {
  /** The definition that was first seen or accepted; undefined if it was lost. */
  readonly accepted: SeenDefinition | undefined;
  /** The definition now, if it differs. */
  readonly current: SeenDefinition | undefined;
  /** True if the tool appeared after the first list, and nobody has accepted it. */
  readonly isNew: boolean;
}

export interface SeenBefore {
  readonly tools: ReadonlyMap<string, SeenTool>;
  readonly digest: string | undefined;
  readonly isLost: boolean;
}

const FORMAT = 1;

export function encodeSeen(server: string, { tools, digest, isLost }: SeenBefore): string {
  const listed = [...tools].map(([name, tool]) => ({ name, ...tool }));
  return `${JSON.stringify({ format: FORMAT, server, digest, isLost, tools: listed })}\n`;
}

/** Reads a file; undefined if its format is wrong. */
export function decodeSeen(content: string): SeenBefore | undefined {
  const saved = parsed(content);
  if (!isRecord(saved) || saved.format !== FORMAT || typeof saved.isLost !== 'boolean') return undefined;
  const { digest, isLost, tools: listed } = saved;
  if (!isTextOrNothing(digest) || !Array.isArray(listed)) return undefined;
  const tools = new Map<string, SeenTool>();
  for (const entry of listed) {
    if (!isRecord(entry) || typeof entry.name !== 'string' || typeof entry.isNew !== 'boolean') return undefined;
    const { name, accepted, current, isNew } = entry;
    if (!isDefinition(accepted) || !isDefinition(current) || (accepted ?? current) === undefined) return undefined;
    tools.set(name, { accepted, current, isNew });
  }
  return { tools, digest, isLost };
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    expectSyntaxError(error);
    return undefined;
  }
}

function isDefinition(value: unknown): value is SeenDefinition | undefined {
  return value === undefined || (isRecord(value) && typeof value.hash === 'string' && isTextOrNothing(value.text));
}

function isTextOrNothing(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
