// The resources of a joined view, by their URIs. A URI belongs to the server that lists it, or has a template for it, or,
// since a server need not list what its tools speak of, to whichever of them has it.

import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Binding } from './binding.ts';
import type { Call, ClientRequest } from './call.ts';
import type { JoinedPart } from './joined-list.ts';
import { isOfApp, type JoinedBinding, type JoinedLists } from './joined-lists.ts';
import type { PendingRequests } from './pending-requests.ts';
import { INVALID_PARAMS, rpcError, rpcErrorOf } from './rpc-error.ts';
import { TemplateSet } from './uri-template.ts';

export interface Place {
  readonly binding: Binding;
  /** Its URI there. */
  readonly uri: string;
}

export class JoinedResources {
  readonly #lists: JoinedLists;
  readonly #pending: PendingRequests;

  constructor(lists: JoinedLists, pending: PendingRequests) {
    this.#lists = lists;
    this.#pending = pending;
  }

  /** Reads it, subscribes to it, or ends that. */
  submit(request: ClientRequest, read: Envelope): void {
    const call = this.#pending.open(request, read);
    if (call === undefined) return;
    const uri = read.decode(request.frame.b, Field.uri);
    if (typeof uri !== 'string') return this.#pending.refuse(call, rpcError(INVALID_PARAMS, 'params.uri is missing'));
    call.hasNamedUri = this.#lists.inward(uri) !== undefined;
    const { isCertain } = candidatesFor(uri, this.#lists);
    const learning = isCertain ? undefined : this.learn();
    if (learning === undefined) return this.#tryEach(call, request, this.#placesFor(uri, request));
    this.#pending.later(call, request, learning, (kept) => this.#tryEach(call, kept, this.#placesFor(uri, kept)));
  }

  /** Has all servers asked whose resources are not known; undefined if all are. */
  learn(): Promise<void> | undefined {
    if (this.#lists.isKnown('resources') && this.#lists.isKnown('templates')) return undefined;
    return this.#lists.whenListed('resources').then(() => this.#lists.whenListed('templates'));
  }

  /** The URI by which the client knows a server's resource, or has subscribed to it; '' for the server's own. */
  outwardUri(joined: JoinedBinding, uri: string): string {
    const { instance, session } = joined.binding;
    if (isOfApp(uri)) return '';
    const owner = this.#lists.ownerOf('resources', uri);
    const isOwn = owner === undefined || owner === joined;
    return isOwn && instance?.sharedSettings.subscriptions.isNamed(session, uri) !== true
      ? ''
      : this.#lists.outward(joined, uri);
  }

  /** The likeliest place. */
  placeOf(uri: string): Place | undefined {
    return candidatesFor(uri, this.#lists).found[0];
  }

  #placesFor(uri: string, { role }: ClientRequest): readonly Place[] {
    const { found } = candidatesFor(uri, this.#lists);
    return role === 'unsubscribe' ? subscribedOf(found) : found;
  }

  /** Asks the first; if that refuses, the next. A server that lists it is the only one asked. */
  #tryEach(call: Call, request: ClientRequest, [place, ...others]: readonly Place[]): void {
    if (place === undefined) return this.#pending.refuse(call, rpcErrorOf(this.#lists.noSuchResource()));
    const read = this.#pending.read(request.frame);
    const frame = changedFrame(request.frame, read.span(Field.uri), JSON.stringify(place.uri));
    const next = (): void =>
      this.#pending.later(call, request, Promise.resolve(), (kept) => this.#tryEach(call, kept, others));
    call.onRefusal = others.length === 0 ? undefined : next;
    this.#pending.give(call, { ...request, frame }, place.binding.use());
  }
}

/** Where it may be, most likely first; certain where one server says that it has it. */
function candidatesFor(uri: string, lists: JoinedLists): { found: readonly Place[]; isCertain: boolean } {
  const named = lists.inward(uri);
  if (named !== undefined) return { found: [{ binding: named.joined.binding, uri: named.uri }], isCertain: true };
  const owner = lists.ownerOf('resources', uri) ?? lists.ownerOf('templates', uri);
  if (owner !== undefined) return { found: [{ binding: owner.binding, uri }], isCertain: true };
  const having = lists.bindings.filter(({ binding }) => binding.profile?.declares('resources') === true);
  const matching = having.filter((joined) => hasTemplateFor(uri, joined, lists));
  const others = having.filter((joined) => !matching.includes(joined));
  return { found: [...matching, ...others].map(({ binding }) => ({ binding, uri })), isCertain: false };
}

/**
 * Where the client has subscribed to it, if anywhere: any server may say that the subscription has ended, also one that
 * has never heard of it.
 */
function subscribedOf(places: readonly Place[]): readonly Place[] {
  const found = places.filter(
    ({ binding, uri }) => binding.instance?.sharedSettings.subscriptions.has(binding.session, uri) === true,
  );
  return found.length === 0 ? places : found;
}

const templates = new WeakMap<JoinedPart, TemplateSet>();

function hasTemplateFor(uri: string, joined: JoinedBinding, lists: JoinedLists): boolean {
  const part = lists.partOf(joined, 'templates');
  if (part === undefined) return false;
  const set = templates.get(part) ?? new TemplateSet(part.ownKeys.keys());
  templates.set(part, set);
  return set.fits(uri);
}
