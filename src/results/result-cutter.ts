// Cuts the results of tools that have more text than a model should get at once, and keeps them in full. A result that
// does not fit into the store is passed on uncut, so nothing is ever lost.

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
import { wholeMember } from '../wire/member-cuts.ts';
import { copyOf } from '../wire/own-frame.ts';
import { contentAt, contentOf, type ResultContent } from './content.ts';
import { type Cutting, cutFrame, cuttingOf } from './cutting.ts';
import { type KeptResult, type KeptResults, ownerOf, shareOf, type WholeResult } from './kept-results.ts';

/** The limit in the view `discover` if the config has none. In `all` nothing is cut then. */
export const DEFAULT_MOST_BYTES = 100_000;

const NEWLINE = 0x0a;
/** The first version of MCP with links in results. */
const HAS_LINKS = '2025-06-18';
/** The scheme of resources that are kept results. */
export const RESULT_URI = 'mcp-bridge-result:';

/** The maximum bytes of text in a view's results; 0 for no limit. Programs get whole results, and return less. */
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

  /** The limit if the config has none, or 0. */
  get #otherwise(): number {
    return this.#context.settings().maxBytes === undefined ? DEFAULT_MOST_BYTES : Number.POSITIVE_INFINITY;
  }

  cut(call: Call, answer: Frame, envelope: Envelope): Frame {
    // Only the client's own model gets cut results; programs, inner calls and clients that ask for whole results do
    // not.
    const isForModel = call.output === call.session.output && !call.session.wantsWholeResults;
    const view = isForModel ? cuttingViewOf(call) : undefined;
    const most = view === undefined ? 0 : mostBytesIn(view, this.#context.settings());
    if (most === 0 || answer.end - answer.start <= most || !envelope.has(Field.result)) return answer;
    const content = contentIn(call, answer.b, envelope);
    const cutting = content && cuttingOf(answer.b, content, most, view === 'discover');
    if (content === undefined || cutting === undefined) return answer;
    const cut = this.#cutAndKept(call.session, answer, content, cutting);
    if (cut !== answer) follow(envelope, answer, content, cutting, cut);
    return cut;
  }

  cutOwn(session: Session, result: string): string {
    const most = mostBytesIn('discover', this.#context.settings());
    if (most === 0 || session.wantsWholeResults || result.length <= most / WIDEST_UNIT) return result;
    const b = Buffer.from(`${result}\n`);
    const content = contentOf(b, 0);
    const cutting = content && cuttingOf(b, content, most, false);
    if (content === undefined || cutting === undefined) return result;
    const cut = this.#cutAndKept(session, { b, start: 0, end: b.length - 1 }, content, cutting);
    return cut.b.toString('utf8', cut.start, cut.end);
  }

  /** Returns the same frame if there is no room to keep it in full. */
  #cutAndKept(session: Session, answer: Frame, content: ResultContent, cutting: Cutting): Frame {
    const { kept: store, events, settings } = this.#context;
    const kept = store.keep(ownerOf(session), wholeOf(answer, content), shareOf(session));
    if (kept === undefined) return answer;
    events.incident.tell('resultsCut', session);
    const said = wordsFor(answer.b, kept.id, content, cutting);
    const more = [...shownAsText(answer.b, cutting), ...itemsAbout(kept, said, session, settings())];
    return cutFrame(answer, content, cutting, more);
  }
}

/** The maximum bytes of a UTF-16 unit. */
const WIDEST_UNIT = 3;

/** Updates the answer's envelope to the positions in the cut frame. */
function follow(envelope: Envelope, answer: Frame, { at }: ResultContent, { structured }: Cutting, cut: Frame): void {
  const gone = structured === undefined ? undefined : wholeMember(answer.b, structured);
  const goneBytes = gone === undefined ? 0 : gone.to - gone.from;
  const shorterBy = answer.end - answer.start - (cut.end - cut.start) - goneBytes;
  envelope.move(answer.start, at, cut.start, at.to - at.from - shorterBy);
  if (gone === undefined) return;
  const by = cut.start - answer.start - (gone.from > at.from ? shorterBy : 0);
  envelope.forget(Field.structuredContent);
  envelope.move(cut.start, { from: gone.from + by, to: gone.to + by }, cut.start, 0);
}

/** The content of the result in an answer. In the answer about a 2026 task, it is inside the task. */
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

/** A copy of the answer's bytes with the position of its content. A long answer has its own buffer already. */
function wholeOf(answer: Frame, { at, structured }: ResultContent): WholeResult {
  const { b, start, end } = answer;
  if (start === 0 && end === b.length - 1 && b[end] === NEWLINE) return { bytes: b, at, structured };
  const moved = ({ from, to }: Span): Span => ({ from: from - start, to: to - start });
  return { bytes: copyOf(answer).b, at: moved(at), structured: structured && moved(structured) };
}

const latin1Item = (item: object): string => Buffer.from(JSON.stringify(item)).toString('latin1');

/** Structured content that no other text says, as an item. */
function shownAsText(b: Buffer, { shown: { from, to } }: Cutting): string[] {
  return to > from ? [latin1Item({ type: 'text', text: b.toString('utf8', from, to) })] : [];
}

/** The items to add after the remaining ones. */
function itemsAbout(
  kept: KeptResult,
  said: string,
  { protocolVersion = '' }: Session,
  { keepMs }: ResultsSettings,
): string[] {
  const minutes = Math.max(1, Math.round(keepMs / 60_000));
  const text = `[mcp-bridge: This result was cut. ${said} The whole is kept for ${minutes} min.]`;
  const note = latin1Item({ type: 'text', text });
  if (protocolVersion < HAS_LINKS) return [note];
  const link = {
    type: 'resource_link',
    uri: `${RESULT_URI}${kept.id}`,
    name: 'The whole result',
    mimeType: 'text/plain',
    size: kept.size,
  };
  return [note, latin1Item(link)];
}

/** Describes what was left out and how to read it. */
function wordsFor(b: Buffer, id: string, content: ResultContent, cutting: Cutting): string {
  const { allBytes, leftBytes, nextOffset, structured, shown } = cutting;
  const also = 'with "find" it shows the lines that have a text, with "path" it takes a value out of JSON.';
  if (allBytes > leftBytes) {
    const bytes = structured === undefined ? 0 : structured.to - structured.from;
    const more = bytes > 0 ? ` Its structured content (${bytes} bytes) is left out; "path" reads it.` : '';
    const whole = content.structured !== undefined && bytes === 0 ? ' Its structured content is whole.' : '';
    const reads = `read_result ${JSON.stringify({ id, offset: nextOffset })} reads on`;
    return `Its text has ${allBytes} bytes, ${leftBytes} of them are above. ${reads}; ${also}${more}${whole}`;
  }
  const at = structured ?? shown;
  const offset = b.toString('utf8', shown.from, shown.to).length;
  const isShown = shown.to > shown.from;
  const place = isShown ? `${shown.to - shown.from} of them are above` : 'and is left out';
  const reads = `read_result ${JSON.stringify({ id, path: '$', ...(isShown && { offset }) })} reads ${isShown ? 'on' : 'it'}`;
  return `Its structured content has ${at.to - at.from} bytes${isShown ? ',' : ''} ${place}. ${reads}; ${also}`;
}
