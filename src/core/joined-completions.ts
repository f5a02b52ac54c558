// Completions in a joined view: `ref` names a prompt, or the URI of a resource or template, and the server that has it is
// asked under the name that it knows.

import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Binding } from './binding.ts';
import type { Call, ClientRequest } from './call.ts';
import { type CompletionRef, refIn } from './completion-ref.ts';
import type { JoinedLists } from './joined-lists.ts';
import type { JoinedResources } from './joined-resources.ts';
import type { PendingRequests } from './pending-requests.ts';
import { INVALID_PARAMS, rpcError } from './rpc-error.ts';
import type { Session } from './session.ts';

const NO_SUCH_REF: string = rpcError(INVALID_PARAMS, 'params.ref names nothing that is known');

export class JoinedCompletions {
  readonly #session: Session;
  readonly #lists: JoinedLists;
  readonly #resources: JoinedResources;
  readonly #pending: PendingRequests;

  constructor(
    session: Session,
    parts: { readonly lists: JoinedLists; readonly resources: JoinedResources; readonly pending: PendingRequests },
  ) {
    this.#session = session;
    this.#lists = parts.lists;
    this.#resources = parts.resources;
    this.#pending = parts.pending;
  }

  submit(request: ClientRequest, read: Envelope): void {
    const ref = refIn(request.frame, read);
    if (ref === undefined) return this.#session.answerError(read.raw(request.frame.b, Field.id), NO_SUCH_REF);
    const call = this.#pending.open(request, read);
    if (call === undefined) return;
    const learning = this.#learn(ref);
    if (learning === undefined) this.#pass(call, request, ref);
    else this.#pending.later(call, request, learning, (kept) => this.#passKept(call, kept));
  }

  /** Has the servers asked whose lists decide who is to complete it; undefined if they are known. */
  #learn({ kind, key }: CompletionRef): Promise<void> | undefined {
    if (kind === 'resource') return this.#resources.learn();
    const found = this.#lists.find('prompts', key);
    return found !== undefined && 'alias' in found ? this.#lists.learn(found, 'prompts') : undefined;
  }

  #passKept(call: Call, kept: ClientRequest): void {
    const ref = refIn(kept.frame, this.#pending.read(kept.frame));
    if (ref !== undefined) this.#pass(call, kept, ref);
    else this.#pending.refuse(call, NO_SUCH_REF);
  }

  #pass(call: Call, request: ClientRequest, ref: CompletionRef): void {
    const target = this.#targetOf(ref);
    if (target === undefined) return this.#pending.refuse(call, NO_SUCH_REF);
    const frame = changedFrame(request.frame, ref.span, JSON.stringify(target.key));
    this.#pending.give(call, { ...request, frame }, target.binding.use());
  }

  #targetOf({ kind, key }: CompletionRef): { readonly binding: Binding; readonly key: string } | undefined {
    if (kind === 'resource') {
      const place = this.#resources.placeOf(key);
      return place === undefined ? undefined : { binding: place.binding, key: place.uri };
    }
    const found = this.#lists.find('prompts', key);
    if (found === undefined || 'alias' in found) return undefined;
    return { binding: found.binding, key: JSON.parse(Buffer.from(found.ownKey, 'latin1').toString()) as string };
  }
}
