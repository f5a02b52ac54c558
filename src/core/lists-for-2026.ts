// Lists of servers of 2025 as clients of 2026 get them. These clients have no 2025 tasks, so members about tasks are
// cut and a tool that must be called as a task is left out. All other bytes of a tool stay.

import { membersOf } from '../util/json-value.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { cutMembers } from '../wire/member-cuts.ts';
import { Splice } from '../wire/splice.ts';
import type { CachingTerms, ListPage } from './server-knowledge.ts';

const splice = new Splice();

/**
 * A list of tools without the parts that clients of 2026 do not know. The member `tools` is in `frame`, or in the
 * object at `from`.
 */
export function toolsFor2026(frame: Frame, from: number): Frame {
  const { b } = frame;
  const list = findMembers(b, from, ['tools'])?.spans.get('tools');
  const items = (list && findItems(b, list.from)) ?? [];
  const executions = items.map((item) => findMembers(b, item.from, ['execution'])?.spans.get('execution'));
  if (list === undefined || executions.every((execution) => execution === undefined)) return frame;
  const kept = items.flatMap((item, i) => withoutExecution(b, item, executions[i]) ?? []);
  return changedFrame(frame, list, `[${kept.join(',')}]`);
}

/** The tool's text; undefined if it must be called as a task. */
function withoutExecution(b: Buffer, { from, to }: Span, execution: Span | undefined): string | undefined {
  if (execution === undefined) return b.toString('utf8', from, to);
  const { taskSupport } = membersOf(JSON.parse(b.toString('utf8', execution.from, execution.to)));
  if (taskSupport === 'required') return undefined;
  cutMembers(splice.clear(), b, [execution]);
  return splice.bytes(b, from, to).toString('utf8', 0).trimEnd();
}

const shown = new WeakMap<readonly ListPage[], readonly ListPage[]>();

/** The pages of a list of tools for clients of 2026; the same pages if nothing differs. */
export function toolPagesFor2026(pages: readonly ListPage[]): readonly ListPage[] {
  const known = shown.get(pages);
  if (known !== undefined) return known;
  const made = pages.map((page) => pageFor2026(page));
  const found = made.every((page, i) => page === pages[i]) ? pages : made;
  shown.set(pages, found);
  return found;
}

function pageFor2026(page: ListPage): ListPage {
  const { cursor, result, original, caching } = page;
  if (original !== undefined) return { cursor, result: original, caching };
  const whole = { b: result, start: 0, end: result.length - 1 };
  const { b } = toolsFor2026(whole, 0);
  return b === result ? page : { cursor, result: b, caching };
}

/**
 * Marks a list as valid for one user only, because other users may have other rules. The list is in `frame` at `from`.
 */
export function forOneUserOnly(frame: Frame, from: number): Frame {
  const scope = findMembers(frame.b, from, ['cacheScope'])?.spans.get('cacheScope');
  return scope === undefined ? frame : changedFrame(frame, scope, '"private"');
}

/** The server's caching terms for a list that was read `ageMs` ago. */
export function termsAfter(caching: CachingTerms | undefined, ageMs: number | undefined): CachingTerms {
  if (caching === undefined || ageMs === undefined) return { ttlMs: 0, cacheScope: caching?.cacheScope ?? 'private' };
  return { ttlMs: Math.max(0, caching.ttlMs - Math.max(0, ageMs)), cacheScope: caching.cacheScope };
}

/**
 * The caching terms of a joined list: the shortest time of all. It is for one user only, because others see other
 * servers.
 */
export function joinedTerms(all: readonly CachingTerms[]): CachingTerms {
  const ttlMs = all.length === 0 ? 0 : Math.min(...all.map((terms) => terms.ttlMs));
  return { ttlMs, cacheScope: 'private' };
}
