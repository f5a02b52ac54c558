// Named tool sets: a client that asks for a set sees only its tools, in the view that the set names.

import { anyOf } from '../util/glob.ts';

export interface Toolset {
  readonly name: string;
  /** Globs over tools, or `server:tool`. */
  readonly tools: readonly string[];
  readonly view: 'all' | 'discover';
}

/** The set that a client asks for. An unknown set has no tools. */
export interface WantedToolset extends Toolset {
  readonly exists: boolean;
  /** The names of all existing sets, for messages. */
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

/** Globs for the servers whose tools the set may contain. */
export function serversOf({ tools }: Pick<Toolset, 'tools'>): readonly string[] {
  return tools.map((tool) => (tool.includes(':') ? tool.slice(0, tool.indexOf(':')) : '*'));
}

/** Checks if a set names a whole server, by a glob for servers or for all tools of a server. */
export function namesServer({ tools }: Pick<Toolset, 'tools'>): (server: string) => boolean {
  return anyOf(tools.flatMap((tool) => (tool.includes(':') && !tool.endsWith(':*') ? [] : tool.replace(/:\*$/, ''))));
}
