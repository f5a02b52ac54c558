// `toolsets`: reads named sets of tools. A faulty set has no tools: a client that asks for it sees less, never more.

import { TOOLSET_NAME, TOOLSET_NAME_RULE, type Toolset } from '../model/toolset.ts';
import type { Reader } from './reader.ts';
import type { PatternBudget } from './tool-rules.ts';

const KEYS = ['tools', 'view'];

export function toolsetsOf(reader: Reader, value: unknown, budget: PatternBudget | undefined): readonly Toolset[] {
  const sets = reader.section(value, 'toolsets');
  return Object.entries(sets).map(([name, entry]) => toolsetOf(reader, name, entry, budget));
}

function toolsetOf(reader: Reader, name: string, entry: unknown, budget: PatternBudget | undefined): Toolset {
  const place = `toolsets.${name}`;
  const before = reader.errors;
  const section = reader.section(entry, place);
  reader.keys(section, place, KEYS);
  const fields = reader.meant(section, place, KEYS);
  if (!TOOLSET_NAME.test(name)) reader.fault(place, `needs a name of ${TOOLSET_NAME_RULE}`);
  const tools = reader.texts(fields.tools, `${place}.tools`);
  if (fields.tools === undefined) reader.fault(`${place}.tools`, 'is missing', 'such as ["github:*"]');
  if (reader.errors === before)
    for (const problem of tools.flatMap((glob) => budget?.problemWith(glob) ?? []))
      reader.fault(`${place}.tools`, problem);
  const view = reader.text(fields.view, `${place}.view`) ?? 'all';
  if (view !== 'all' && view !== 'discover') reader.fault(`${place}.view`, 'is all or discover');
  return { name, tools: reader.errors > before ? [] : tools, view: view === 'discover' ? 'discover' : 'all' };
}
