// A letter as its sender writes it, in the params of `bridge/post` or the arguments of a tool.

import { invalidParams } from './invalid-params.ts';

export interface LetterDraft {
  readonly to: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
}

/** Throws what is wrong with it. */
export function letterIn({ to, text, inReplyTo }: Readonly<Record<string, unknown>>): LetterDraft {
  if (typeof to !== 'string' || to === '') throw invalidParams('params.to must be the id of a client');
  if (typeof text !== 'string' || text === '') throw invalidParams('params.text must be a text');
  if (inReplyTo !== undefined && (typeof inReplyTo !== 'string' || inReplyTo.length > 64))
    throw invalidParams('params.inReplyTo must be the id of a message');
  return { to, text, inReplyTo };
}
