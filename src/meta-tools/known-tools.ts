// The tools of one server by name, found in the bytes of its lists. A definition is decoded on demand and not kept,
// because most are needed only once.

import { isForAppsOnly } from '../core/app-pages.ts';
import { itemsIn, keyOf } from '../core/lists.ts';
import type { ListPage } from '../core/server-knowledge.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { shortened } from '../util/printable.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

export interface ToolWords {
  readonly title: string;
  readonly description: string;
  /** Names of parameters. */
  readonly parameters: readonly string[];
}

export class KnownTool {
  readonly name: string;
  /** The name in the list, as JSON in latin1. */
  readonly nameText: string;
  /** The page with the definition, and its position there. */
  readonly #page: Buffer;
  readonly #from: number;
  readonly #to: number;
  #needsTask: boolean | undefined;

  constructor(name: string, nameText: string, page: Buffer, { from, to }: Span) {
    this.name = name;
    this.nameText = nameText;
    this.#page = page;
    this.#from = from;
    this.#to = to;
  }

  /** Decodes the whole definition. */
  decode(): Readonly<Record<string, unknown>> {
    const value: unknown = JSON.parse(this.#page.toString('utf8', this.#from, this.#to));
    return isRecord(value) ? value : {};
  }

  /** True if the server accepts calls only as tasks. */
  get needsTask(): boolean {
    this.#needsTask ??= membersOf(this.#member('execution')).taskSupport === 'required';
    return this.#needsTask;
  }

  /** The app page that shows it, and its allowed callers (MCP Apps). */
  get ui(): Readonly<Record<string, unknown>> | undefined {
    const { ui } = membersOf(this.#member('_meta'));
    return isRecord(ui) ? ui : undefined;
  }

  /** One line about its purpose. */
  get summary(): string {
    const text = textOf(this.#member('description')) || textOf(this.#member('title'));
    const [line = ''] = text.trim().split(/\r?\n/);
    return shortened(line, LONGEST_SUMMARY);
  }

  /** The texts for the search, in addition to its name. */
  get words(): ToolWords {
    const spans = findMembers(this.#page, this.#from, ['title', 'description', 'inputSchema'])?.spans;
    const schema = spans?.get('inputSchema');
    const properties = schema && findMembers(this.#page, schema.from, ['properties'])?.spans.get('properties');
    return {
      title: textOf(this.#valueAt(spans?.get('title'))),
      description: textOf(this.#valueAt(spans?.get('description'))),
      parameters: (properties && findMembers(this.#page, properties.from, [])?.others) ?? [],
    };
  }

  /** Decodes one member. Schemas are skipped, because they may have a megabyte. */
  #member(name: string): unknown {
    return this.#valueAt(findMembers(this.#page, this.#from, [name])?.spans.get(name));
  }

  #valueAt(span: Span | undefined): unknown {
    return span && JSON.parse(this.#page.toString('utf8', span.from, span.to));
  }
}

/** Summaries are short, because agents read many at once. */
const LONGEST_SUMMARY = 80;

interface ToolsOfList {
  readonly forModels: ReadonlyMap<string, KnownTool>;
  /** The names of tools that only apps may call (MCP Apps). */
  readonly forApps: ReadonlySet<string>;
}

const known = new WeakMap<readonly ListPage[], ToolsOfList>();

/**
 * The tools that a model may see. Usually the host hides the others; here only meta-tools are visible, so the bridge
 * does.
 */
export function toolsIn(pages: readonly ListPage[]): ReadonlyMap<string, KnownTool> {
  return listed(pages).forModels;
}

/** True for a tool that only apps may call. */
export function isToolOfApps(name: string, pages: readonly ListPage[]): boolean {
  return listed(pages).forApps.has(name);
}

function listed(pages: readonly ListPage[]): ToolsOfList {
  const before = known.get(pages);
  if (before !== undefined) return before;
  const tools = pages.flatMap(({ result }) => toolsOf(result));
  const forApps = new Set(tools.filter(([, { ui }]) => isForAppsOnly(ui)).map(([name]) => name));
  const made = { forModels: new Map(tools.filter(([name]) => !forApps.has(name))), forApps };
  known.set(pages, made);
  return made;
}

function toolsOf(result: Buffer): [string, KnownTool][] {
  return itemsIn('tools', result).flatMap((item): [string, KnownTool][] => {
    const named = keyOf('tools', result, item);
    if (named === undefined) return [];
    const { key, span } = named;
    return [[key, new KnownTool(key, result.latin1Slice(span.from, span.to), result, item)]];
  });
}
