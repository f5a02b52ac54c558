// Whose a resource is, in a joined view: the server that lists its URI, or one that has a template for it, or, since a
// server need not list what its tools speak of, whichever of them has it.

import type { JoinedLeg, JoinedLists } from './joined-lists.ts';
import type { Leg } from './leg.ts';
import { matchesTemplate } from './uri-template.ts';

export interface Place {
  readonly leg: Leg;
  /** Its URI there. */
  readonly uri: string;
}

/** Where it may be, most likely first; certain where one server says that it has it. */
export function candidatesFor(uri: string, lists: JoinedLists): { found: readonly Place[]; isCertain: boolean } {
  const named = lists.inward(uri);
  if (named !== undefined) return { found: [{ leg: named.joined.leg, uri: named.uri }], isCertain: true };
  const owner = lists.ownerOf('resources', uri) ?? lists.ownerOf('templates', uri);
  if (owner !== undefined) return { found: [{ leg: owner.leg, uri }], isCertain: true };
  const having = lists.legs.filter(({ leg }) => leg.face?.declares('resources') === true);
  const matching = having.filter((joined) => hasTemplateFor(uri, joined, lists));
  const others = having.filter((joined) => !matching.includes(joined));
  return { found: [...matching, ...others].map(({ leg }) => ({ leg, uri })), isCertain: false };
}

/**
 * Where the client has subscribed to it, if anywhere: any server may say that the subscription has ended, also one that
 * has never heard of it.
 */
export function subscribedOf(places: readonly Place[]): readonly Place[] {
  const found = places.filter(({ leg, uri }) => leg.backend?.wishes.state.hasSubscribed(leg.session, uri) === true);
  return found.length === 0 ? places : found;
}

function hasTemplateFor(uri: string, joined: JoinedLeg, lists: JoinedLists): boolean {
  const templates = lists.partOf(joined, 'templates')?.ownKeys.keys() ?? [];
  return [...templates].some((template) => matchesTemplate(template, uri));
}
