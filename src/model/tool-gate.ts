// Decides which tools of a server a client may use. Instance.submit asks it before it sends a call, and every list of
// tools asks it too: no client sees a tool that it may not call.

import type { BridgeError } from '../util/bridge-error.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

export interface ToolGate {
  /** True if all tools are allowed. */
  readonly isOpen: boolean;
  /** The error for a forbidden tool; undefined if it is allowed. */
  refusalOf(tool: string): BridgeError | undefined;
  /** True if the tool's definition differs from the one that the user approved. */
  isChanged(tool: string): boolean;
  /** Extra words by which searches find the tool. */
  tagsOf(tool: string): readonly string[];
}

const NO_TAGS: readonly string[] = [];

export const OPEN_GATE: ToolGate = {
  isOpen: true,
  refusalOf: () => undefined,
  isChanged: () => false,
  tagsOf: () => NO_TAGS,
};

/**
 * The server's list without forbidden tools; all other bytes stay. The member `tools` is in `frame`, or in the object
 * at `from`.
 */
export function withPermittedTools(frame: Frame, from: number, gate: ToolGate): Frame {
  const { b } = frame;
  const list = findMembers(b, from, ['tools'])?.spans.get('tools');
  const items = list && findItems(b, list.from);
  if (list === undefined || items === undefined) return frame;
  const kept = items.filter((item) => gate.refusalOf(nameAt(b, item)) === undefined);
  if (kept.length === items.length) return frame;
  const texts = kept.map((item) => b.toString('utf8', item.from, item.to));
  return changedFrame(frame, list, `[${texts.join(',')}]`);
}

function nameAt(b: Buffer, item: Span): string {
  const span = findMembers(b, item.from, ['name'])?.spans.get('name');
  const name: unknown = span === undefined ? undefined : JSON.parse(b.toString('utf8', span.from, span.to));
  return typeof name === 'string' ? name : '';
}
