// Cuts the results of tools that have more text than a model should get at once, and keeps the whole of them. What does not
// fit into the store is passed on whole: nothing is ever lost.

import type { Call } from '../core/call.ts';
import { type CuttingView, cuttingViewOf } from '../core/call-plan.ts';
import type { Events } from '../core/events.ts';
import type { ResultCutter } from '../core/result-cutter.ts';
import type { Session } from '../core/session.ts';
import type { ResultsSettings } from '../model/settings.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { type ContentPart, contentOf, type ResultContent } from './content.ts';
import { type Cutting, cutFrame, cuttingOf } from './cutting.ts';
import { type KeptResult, type KeptResults, ownerOf, type WholeResult } from './kept-results.ts';

/** The bound of the view `discover` where the config says nothing. In `all` nothing is cut then. */
const DEFAULT_MOST_BYTES = 100_000;

/** The first version of MCP with links in results. */
const HAS_LINKS = '2025-06-18';
/** Resources of this scheme are kept results. */
export const RESULT_URI = 'mcp-bridge-result:';

/** The most bytes of text in a result of a view; 0 for no bound. A program gets whole results, and says less of them. */
export function mostBytesIn(view: CuttingView, { maxBytes }: ResultsSettings): number {
  if (view === 'code') return 0;
  return maxBytes ?? (view === 'discover' ? DEFAULT_MOST_BYTES : 0);
}

interface CutterContext {
  readonly settings: () => ResultsSettings;
  readonly kept: KeptResults;
  readonly events: Events;
}

export class ContentCutter implements ResultCutter {
  readonly #context: CutterContext;

  constructor(context: CutterContext) {
    this.#context = context;
  }

  get leastBytes(): number {
    return this.#context.settings().maxBytes || this.#otherwise;
  }

  /** The bound while the config has none, or has 0 for one. */
  get #otherwise(): number {
    return this.#context.settings().maxBytes === undefined ? DEFAULT_MOST_BYTES : Number.POSITIVE_INFINITY;
  }

  cut(call: Call, answer: Frame, envelope: Envelope): Frame {
    // Whoever takes the answer in place of the client gets the whole of it.
    const view = call.output === call.session.output ? cuttingViewOf(call) : undefined;
    const most = view === undefined ? 0 : mostBytesIn(view, this.#context.settings());
    if (most === 0 || answer.end - answer.start <= most || !envelope.has(Field.result)) return answer;
    const at = placeOfResult(call, answer.b, envelope.span(Field.result));
    const content = at === undefined ? undefined : contentOf(answer.b, at.from);
    const cutting = content && cuttingOf(answer.b, content, most);
    if (at === undefined || content === undefined || cutting === undefined) return answer;
    const kept = this.#context.kept.keep(ownerOf(call.session), wholeOf(answer.b, at, content));
    if (kept === undefined) return answer;
    this.#context.events.incident.tell('resultsCut', call.session);
    return cutFrame(answer, content, cutting, itemsAbout(kept, cutting, call.session, this.#context.settings()));
  }
}

/** The result of a tool within the answer: of a task of 2026, it is a part of what is said of the task. */
function placeOfResult({ plan }: Call, b: Buffer, answer: Span): Span | undefined {
  if (byteAt(b, answer.from) !== OPEN_OBJECT) return undefined;
  if (plan.role !== 'task') return answer;
  const result = findMembers(b, answer.from, ['result'])?.spans.get('result');
  return result !== undefined && byteAt(b, result.from) === OPEN_OBJECT ? result : undefined;
}

/** A copy of the result in bytes of its own. */
function wholeOf(b: Buffer, at: Span, { parts, structured }: ResultContent): WholeResult {
  const bytes = Buffer.allocUnsafeSlow(at.to - at.from + 1);
  b.copy(bytes, 0, at.from, at.to);
  bytes[bytes.length - 1] = 0x0a;
  const moved = ({ from, to }: Span): Span => ({ from: from - at.from, to: to - at.from });
  const movedPart = (part: ContentPart): ContentPart => ({ ...part, item: moved(part.item), read: moved(part.read) });
  return { bytes, parts: parts.map(movedPart), structured: structured && moved(structured) };
}

/** The items that stand behind what is left, in JSON of which each character is one byte. */
function itemsAbout(
  kept: KeptResult,
  cutting: Cutting,
  { protocolVersion = '' }: Session,
  settings: ResultsSettings,
): string[] {
  const { id, size } = kept;
  const { allBytes, leftBytes, nextOffset } = cutting;
  const minutes = Math.max(1, Math.round(settings.keepMs / 60_000));
  const text =
    `[mcp-bridge: This result was cut. Its text has ${allBytes} bytes, ${leftBytes} of them are above. ` +
    `read_result ${JSON.stringify({ id, offset: nextOffset })} reads on; with "find" it shows the lines that have a text, ` +
    `with "path" it takes a value out of JSON. The whole is kept for ${minutes} min.]`;
  const note = JSON.stringify({ type: 'text', text });
  if (protocolVersion < HAS_LINKS) return [note];
  const link = {
    type: 'resource_link',
    uri: `${RESULT_URI}${id}`,
    name: 'The whole result',
    mimeType: 'text/plain',
    size,
  };
  return [note, JSON.stringify(link)];
}
