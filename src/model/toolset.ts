// Named sets of tools: a client that asks for one sees these tools and no others, in the view that the set names.

import { anyOf } from '../util/glob.ts';

export interface Toolset {
  readonly name: string;
  /** Globs over tools, or `server:tool`. */
  readonly tools: readonly string[];
  readonly view: 'all' | 'discover';
}

/** The set that a client asks for. One that does not exist has no tools. */
export interface WantedToolset extends Toolset {
  readonly exists: boolean;
  /** The names of the existing ones, for messages. */
  readonly known: readonly string[];
}

const PREFIX = 'toolset:';

export const TOOLSET_NAME = /^[A-Za-z0-9_-]{1,64}$/;
export const TOOLSET_NAME_RULE = '1 to 64 letters, digits, - and _';

/** The set in the name of a view; undefined for other views. */
export function toolsetIn(view: string | undefined): string | undefined {
  return view?.startsWith(PREFIX) === true ? view.slice(PREFIX.length) : undefined;
}

/** The view by which a client asks for a set. */
export function toolsetView(name: string): string {
  return `${PREFIX}${name}`;
}

/** Globs over the servers that tools of a set may be of. */
export function serversOf({ tools }: Pick<Toolset, 'tools'>): readonly string[] {
  return tools.map((tool) => (tool.includes(':') ? tool.slice(0, tool.indexOf(':')) : '*'));
}

/** Decides if a set names a server as a whole, by a glob for servers or for all of a server's tools. */
export function namesServer({ tools }: Pick<Toolset, 'tools'>): (server: string) => boolean {
  return anyOf(tools.flatMap((tool) => (tool.includes(':') && !tool.endsWith(':*') ? [] : tool.replace(/:\*$/, ''))));
}
