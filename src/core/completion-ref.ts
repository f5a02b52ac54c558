// What a `completion/complete` is about, read out of its `params.ref`.

import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

/** What is to be completed: the name of a prompt or the URI of a resource or template, and where that stands. */
export interface CompletionRef {
  readonly kind: 'prompt' | 'resource';
  readonly key: string;
  readonly span: Span;
}

export function refIn({ b }: Frame, read: Envelope): CompletionRef | undefined {
  const ref = findMembers(b, read.from(Field.params), ['ref'])?.spans.get('ref');
  const members = ref === undefined ? undefined : findMembers(b, ref.from, ['type', 'name', 'uri'])?.spans;
  const text = (name: string): unknown => {
    const span = members?.get(name);
    return span === undefined ? undefined : JSON.parse(b.toString('utf8', span.from, span.to));
  };
  const kind = text('type') === 'ref/prompt' ? 'prompt' : 'resource';
  const member = kind === 'prompt' ? 'name' : 'uri';
  const span = members?.get(member);
  const key = text(member);
  return span === undefined || typeof key !== 'string' ? undefined : { kind, key, span };
}
