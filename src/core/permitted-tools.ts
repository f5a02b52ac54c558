// A server's own list of tools without those that may not be called: the rest of its bytes as they are.

import { changedFrame } from '../wire/changed-frame.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import type { ToolGate } from './tool-gate.ts';

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
