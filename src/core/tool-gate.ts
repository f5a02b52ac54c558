// Which of a server's tools may be used. The one place that decides about a call is CallDesk.take; whoever lists tools
// asks here too, so that nobody sees what may not be called.

import type { BridgeError } from '../util/bridge-error.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

export interface ToolGate {
  /** Whether it lets everything pass. */
  readonly isOpen: boolean;
  /** Why a tool may not be called; undefined if it may. */
  refusalOf(tool: string): BridgeError | undefined;
  /** Whether it is another one than it was when somebody has last agreed to it. */
  isChanged(tool: string): boolean;
  /** Words by which it is found. */
  tagsOf(tool: string): readonly string[];
}

const NO_TAGS: readonly string[] = [];

export const OPEN_GATE: ToolGate = {
  isOpen: true,
  refusalOf: () => undefined,
  isChanged: () => false,
  tagsOf: () => NO_TAGS,
};

// A server's own list of tools without those that may not be called: the rest of its bytes as they are.

/** `frame` is an object, or has one at `from`, with `tools` in it. */
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
