// The error of a server of 2025 that demands visits to pages before a call. A client of 2026 does not know this error:
// it gets a question for each page, and its retry makes the call again.

import { ERA_2025 } from '../protocol/era-2025.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import { rpcError } from '../protocol/rpc-error.ts';
import { membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { cutMembers } from '../wire/member-cuts.ts';
import { Splice } from '../wire/splice.ts';
import type { Call } from './call.ts';
import type { Instance } from './instance.ts';
import { maySuspend } from './suspended-calls.ts';

const splice = new Splice();
const MOST_PAGES = 100;

const NEEDS_PAGES = rpcError(
  ERA_2026.errors.missingClientCapability ?? 0,
  'The server wants the user to visit a page first, and the client does not support elicitation by URL',
  { requiredCapabilities: { elicitation: { url: {} } } },
);

/** Answers a call with the pages that its server's error names; false if it names none, or there is no room. */
export function asksForPages(instance: Instance, call: Call, frame: Frame, envelope: Envelope): boolean {
  if (!maySuspend(call) || instance.era.errors.urlElicitationRequired === undefined) return false;
  const pages = pagesIn(frame.b, envelope.from(Field.error));
  if (pages === undefined) return false;
  if (membersOf(call.session.capabilities.elicitation).url !== undefined)
    return instance.context.suspended.askForPages(instance, call, pages, frame);
  instance.context.events.callFailed.tell(call, NEEDS_PAGES);
  call.output.fail(call.idText, NEEDS_PAGES);
  call.close();
  return true;
}

/** The parameters of a question for each page. */
function pagesIn(b: Buffer, at: number): Buffer[] | undefined {
  const error = byteAt(b, at) === OPEN_OBJECT ? findMembers(b, at, ['code', 'data'])?.spans : undefined;
  const [code, data] = [error?.get('code'), error?.get('data')];
  if (code === undefined || data === undefined) return undefined;
  if (Number(b.latin1Slice(code.from, code.to)) !== ERA_2025.errors.urlElicitationRequired) return undefined;
  const list = findMembers(b, data.from, ['elicitations'])?.spans.get('elicitations');
  const items = list === undefined ? undefined : findItems(b, list.from, MOST_PAGES);
  const pages = items?.flatMap((item) => pageAt(b, item) ?? []) ?? [];
  return pages.length === 0 ? undefined : pages;
}

function pageAt(b: Buffer, { from, to }: Span): Buffer | undefined {
  const found = byteAt(b, from) === OPEN_OBJECT ? findMembers(b, from, ['elicitationId', 'mode']) : undefined;
  if (found === undefined || found.isRepeated) return undefined;
  const id = found.spans.get('elicitationId');
  splice.clear();
  if (id !== undefined) cutMembers(splice, b, [id]);
  return found.spans.has('mode') ? splice.bytes(b, from, to).subarray(0, -1) : undefined;
}
