// What a call of `execute_tool` asks for, and where in its bytes: nothing is decoded but two names.

import type { Cut } from '../core/slot.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT, QUOTE } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

export interface Execution {
  readonly server: string;
  readonly tool: string;
  /** Both as they are spelled: the same for the same spelling. */
  readonly key: string;
  /** The tool's arguments. */
  readonly inner: Span;
  readonly cut: Cut;
}

export function executionIn({ b, start }: Frame, read: Envelope): Execution | { readonly faults: readonly string[] } {
  const outer = findMembers(b, read.from(Field.params), ['arguments'])?.spans.get('arguments');
  const found = outer && findMembers(b, outer.from, ['server', 'tool', 'arguments']);
  if (outer === undefined || found === undefined)
    return { faults: ['server is missing', 'tool is missing', 'arguments is missing'] };
  const [server, tool, inner] = ['server', 'tool', 'arguments'].map((name) => found.spans.get(name));
  const faults = [
    ...faultOfText('server', b, server),
    ...faultOfText('tool', b, tool),
    ...faultOfObject(b, inner),
    ...found.others.map((name) => `${JSON.stringify(name.slice(0, 64))} is not known`),
  ];
  if (server === undefined || tool === undefined || inner === undefined || faults.length > 0) return { faults };
  const [serverText, toolText] = [server, tool].map(({ from, to }) => b.latin1Slice(from, to));
  return {
    server: textAt(b, server),
    tool: textAt(b, tool),
    key: `${serverText} ${toolText}`,
    inner,
    cut: {
      from: outer.from - start,
      innerFrom: inner.from - start,
      innerTo: inner.to - start,
      to: outer.to - start,
    },
  };
}

function faultOfText(name: string, b: Buffer, span: Span | undefined): string[] {
  if (span === undefined) return [`${name} is missing`];
  return byteAt(b, span.from) === QUOTE ? [] : [`${name} must be a string`];
}

function faultOfObject(b: Buffer, span: Span | undefined): string[] {
  if (span === undefined) return ['arguments is missing'];
  return byteAt(b, span.from) === OPEN_OBJECT ? [] : ['arguments must be an object'];
}

function textAt(b: Buffer, { from, to }: Span): string {
  return JSON.parse(b.toString('utf8', from, to)) as string;
}
