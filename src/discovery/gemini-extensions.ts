// Extensions of the Gemini CLI: those that are linked, which live where their author works on them, and what a user's
// settings add to the servers of any.

import type { PlacedEntry } from './definition.ts';
import type { Location } from './locations.ts';
import type { Machine } from './machine.ts';
import { basesOf } from './places/bases.ts';
import type { SourceReader } from './source-reader.ts';
import { isTree, member, type Tree, textAt, textsAt, treeAt, treeOf } from './tree.ts';

const INSTALL_FILE = '.gemini-extension-install.json';

export async function linkedExtensions(reader: SourceReader, machine: Machine): Promise<Location[]> {
  const { path } = machine;
  const [dir = ''] = basesOf(machine).get('GEMINI')?.dirs ?? [];
  const extensions = path.join(dir, 'extensions');
  const names = reader.fewOf([...(await reader.list(extensions))].sort(), extensions, false);
  const found = await Promise.all(names.map((name) => linkAt(reader, machine, path.join(extensions, name))));
  return found.flat().map((source) => ({
    client: 'gemini-cli',
    scope: 'extension',
    format: 'gemini-extension',
    path: path.join(source, 'gemini-extension.json'),
    pattern: [],
    project: undefined,
    instead: undefined,
  }));
}

async function linkAt(reader: SourceReader, { path }: Machine, dir: string): Promise<string[]> {
  const reading = await reader.read(path.join(dir, INSTALL_FILE), 'json');
  if (reading.kind !== 'document' || textAt(reading.document.value, 'type') !== 'link') return [];
  const source = textAt(reading.document.value, 'source');
  return source !== undefined && path.isAbsolute(source) ? [path.resolve(source)] : [];
}

const STARTS = ['command', 'url', 'httpUrl', 'tcp', 'type'];

/** An entry of settings that starts nothing by itself is what its user changes of the extension's server. */
export function mergeExtensions(entries: readonly PlacedEntry[]): PlacedEntry[] {
  const isGemini = ({ client }: PlacedEntry): boolean => client === 'gemini-cli';
  const changes = entries.filter((entry) => isGemini(entry) && isChange(entry));
  if (changes.length === 0) return [...entries];
  const merged = new Set<PlacedEntry>();
  const result = entries.map((entry) => {
    if (!isGemini(entry) || entry.extension === undefined) return entry;
    const own = changes.filter(({ name }) => name === entry.name);
    for (const change of own) merged.add(change);
    // The strongest comes first.
    return own.reduceRight(withChange, entry);
  });
  return result.filter((entry) => !merged.has(entry));
}

/** What a project says is no change of its user's. */
function isChange({ extension, fields, awaitsApproval }: PlacedEntry): boolean {
  return (
    extension === undefined &&
    !awaitsApproval &&
    isTree(fields) &&
    !STARTS.some((key) => member(fields, key) !== undefined)
  );
}

function withChange(below: PlacedEntry, { fields, sources }: PlacedEntry): PlacedEntry {
  if (!isTree(below.fields) || !isTree(fields)) return below;
  return { ...below, fields: mergedFields(below.fields, fields), sources: [...below.sources, ...sources] };
}

/** A tool is used if both allow it, and neither excludes it. */
function mergedFields(below: Tree, above: Tree): Tree {
  const lists = [below, above].map((fields) =>
    Array.isArray(fields.includeTools) ? textsAt(fields, 'includeTools') : undefined,
  );
  const allowed = lists.filter((list) => list !== undefined);
  const includeTools = allowed.reduce((all, list) => all.filter((tool) => list.includes(tool)), allowed[0] ?? []);
  const excludeTools = [...textsAt(below, 'excludeTools'), ...textsAt(above, 'excludeTools')];
  return treeOf([
    ...Object.entries({ ...below, ...above }),
    ['env', { ...treeAt(below, 'env'), ...treeAt(above, 'env') }],
    ['excludeTools', [...new Set(excludeTools)]],
    ...(allowed.length === 0 ? [] : [['includeTools', includeTools] as const]),
  ]);
}
