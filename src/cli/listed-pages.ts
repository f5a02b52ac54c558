// A list of the protocol, page by page to its end.

import type { ToolClient } from '../client/tool-client.ts';
import { membersOf } from '../util/json-value.ts';
import { recordsIn } from './tool-session.ts';

/** A server may go on for ever. */
const MOST_PAGES = 1000;

export async function everyPage(
  client: ToolClient,
  kind: 'resources' | 'prompts',
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const found: Readonly<Record<string, unknown>>[] = [];
  let cursor: unknown;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { result } = await client.request(`${kind}/list`, JSON.stringify(cursor === undefined ? {} : { cursor }));
    const members = membersOf(result);
    found.push(...recordsIn(members[kind]));
    cursor = members.nextCursor;
    if (typeof cursor !== 'string') break;
  }
  return found;
}
