// What was seen of a server's tools, as it stands in a file. One that cannot be understood is not as good as none: then
// whatever the server says next would be taken for what it has always said.

import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord } from '../util/json-value.ts';
import type { SeenBefore, SeenDefinition, SeenTool } from './seen-tools.ts';

const FORMAT = 1;

export function encodeSeen(server: string, { tools, digest, isLost }: SeenBefore): string {
  const listed = [...tools].map(([name, tool]) => ({ name, ...tool }));
  return `${JSON.stringify({ format: FORMAT, server, digest, isLost, tools: listed })}\n`;
}

/** Undefined if it is not what was written. */
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
    return undefined; // Whoever asked knows what that means.
  }
}

function isDefinition(value: unknown): value is SeenDefinition | undefined {
  return value === undefined || (isRecord(value) && typeof value.hash === 'string' && isTextOrNothing(value.text));
}

function isTextOrNothing(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}
