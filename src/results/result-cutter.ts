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
import { copyOf } from '../wire/own-frame.ts';
import { type ContentPart, contentAt, contentOf, type ResultContent } from './content.ts';
import { type Cutting, cutFrame, cuttingOf } from './cutting.ts';
import { type KeptResult, type KeptResults, ownerOf, type WholeResult } from './kept-results.ts';

/** The bound of the view `discover` where the config says nothing. In `all` nothing is cut then. */
const DEFAULT_MOST_BYTES = 100_000;

const NEWLINE = 0x0a;
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
    const content = contentIn(call, answer.b, envelope);
    const cutting = content && cuttingOf(answer.b, content, most);
    if (content === undefined || cutting === undefined) return answer;
    const kept = this.#context.kept.keep(ownerOf(call.session), wholeOf(answer, content));
    if (kept === undefined) return answer;
    this.#context.events.incident.tell('resultsCut', call.session);
    const more = itemsAbout(kept, cutting, call.session, this.#context.settings());
    const cut = cutFrame(answer, content, cutting, more);
    const { from, to } = content.at;
    const left = to - from - (answer.end - answer.start - (cut.end - cut.start));
    envelope.move(answer.start, content.at, cut.start, left);
    return cut;
  }
}

/** The content of the result that the answer brings: of a task of 2026, it is a part of what is said of the task. */
function contentIn({ plan }: Call, b: Buffer, envelope: Envelope): ResultContent | undefined {
  const at = envelope.from(Field.result);
  if (byteAt(b, at) !== OPEN_OBJECT) return undefined;
  if (plan.role === 'task') {
    const result = findMembers(b, at, ['result'])?.spans.get('result');
    return result && contentOf(b, result.from);
  }
  if (!envelope.has(Field.content) || envelope.doubts(CONTENTS)) return undefined;
  const structured = envelope.has(Field.structuredContent) ? envelope.span(Field.structuredContent) : undefined;
  return contentAt(b, envelope.span(Field.content), structured);
}

const CONTENTS: readonly Field[] = [Field.content, Field.structuredContent];

/** The answer in bytes that nobody else keeps, and the places of its parts there. A long one has such bytes already. */
function wholeOf(answer: Frame, { parts, structured }: ResultContent): WholeResult {
  const { b, start, end } = answer;
  const hasOwnBytes = start === 0 && end === b.length - 1 && b[end] === NEWLINE;
  if (hasOwnBytes) return { bytes: b, parts, structured };
  const moved = ({ from, to }: Span): Span => ({ from: from - start, to: to - start });
  const movedPart = (part: ContentPart): ContentPart => ({ ...part, item: moved(part.item), read: moved(part.read) });
  return { bytes: copyOf(answer).b, parts: parts.map(movedPart), structured: structured && moved(structured) };
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
