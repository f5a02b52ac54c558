// The tools of one server, taken out of the bytes of its answers, by their own names. Decoded when somebody asks.

import type { ListPage } from '../core/known-server.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers } from '../wire/json-members.ts';

export class KnownTool {
  readonly name: string;
  /** Its name as JSON, of which each character is one byte. */
  readonly nameText: string;
  readonly #bytes: Buffer;
  #definition: Readonly<Record<string, unknown>> | undefined;

  constructor(name: string, nameText: string, bytes: Buffer) {
    this.name = name;
    this.nameText = nameText;
    this.#bytes = bytes;
  }

  get definition(): Readonly<Record<string, unknown>> {
    this.#definition ??= this.decode();
    return this.#definition;
  }

  /** The same, not kept: for who looks at thousands of them once. */
  decode(): Readonly<Record<string, unknown>> {
    const value: unknown = JSON.parse(this.#bytes.toString());
    return isRecord(value) ? value : {};
  }

  /** One line of what it does. */
  get summary(): string {
    const { description, title } = this.definition;
    const [line = ''] = (textOf(description) || textOf(title)).trim().split(/\r?\n/);
    return line.length <= LONGEST_SUMMARY ? line : `${line.slice(0, LONGEST_SUMMARY - 1)}…`;
  }
}

/** An agent looks at many of them at once. */
const LONGEST_SUMMARY = 80;

const known = new WeakMap<readonly ListPage[], ReadonlyMap<string, KnownTool>>();

export function toolsIn(pages: readonly ListPage[]): ReadonlyMap<string, KnownTool> {
  const tools = known.get(pages) ?? new Map(pages.flatMap(({ result }) => toolsOf(result)));
  known.set(pages, tools);
  return tools;
}

function toolsOf(result: Buffer): [string, KnownTool][] {
  const list = findMembers(result, 0, ['tools'])?.spans.get('tools');
  const items = (list && findItems(result, list.from)) ?? [];
  return items.flatMap(({ from, to }): [string, KnownTool][] => {
    const span = findMembers(result, from, ['name'])?.spans.get('name');
    const name: unknown = span && JSON.parse(result.toString('utf8', span.from, span.to));
    if (span === undefined || typeof name !== 'string') return [];
    return [[name, new KnownTool(name, result.latin1Slice(span.from, span.to), result.subarray(from, to))]];
  });
}
