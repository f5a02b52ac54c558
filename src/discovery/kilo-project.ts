// What Kilo does not take from a project's file: whoever wrote it would learn what the environment and other files say.

import { diagnostic } from './diagnostic.ts';
import type { Entry, ParsedFile } from './formats/format.ts';
import { isInside } from './plugins.ts';
import { filesNamedIn, namesEnvironment, namesFile } from './text-variables.ts';
import { isTree, type Tree, treeAt, treeOf } from './tree.ts';

export function refuseAsKilo(entries: readonly Entry[], file: ParsedFile): Entry[] {
  const { value, path, report } = file;
  if (namesEnvironment(withoutHeaders(value))) {
    const message = `${path} names variables of the environment, so Kilo takes nothing of it. Nothing of it is used.`;
    report(diagnostic('ignored-location', message, { path }));
    return entries.map((entry) => ({ ...entry, refusal: 'Kilo drops a project’s file that names variables' }));
  }
  return entries.map((entry) => {
    const refusal = refusalOf(entry, file);
    if (refusal === undefined) return entry;
    const message = `${path}: "${entry.name}" is dropped by Kilo: ${refusal}. It is not used.`;
    report(diagnostic('ignored-location', message, { path, server: entry.name }));
    return { ...entry, refusal };
  });
}

function refusalOf({ fields }: Entry, { path, machine }: ParsedFile): string | undefined {
  const headers = isTree(fields) ? fields.headers : undefined;
  if (namesEnvironment(headers) || namesFile(headers)) return 'a project’s headers may not name variables or files';
  const dir = machine.path.dirname(path);
  const isOutside = (name: string): boolean =>
    name.startsWith('~') || !isInside(machine, machine.root, machine.path.resolve(dir, name));
  return filesNamedIn(fields).some(isOutside) ? 'it names a file outside the project' : undefined;
}

function withoutHeaders(value: unknown): unknown {
  if (!isTree(value)) return value;
  const servers = treeAt(value, 'mcp');
  return servers === undefined ? value : { ...value, mcp: mapTrees(servers) };
}

function mapTrees(servers: Tree): Tree {
  return treeOf(
    Object.entries(servers).map(([name, fields]) => [
      name,
      isTree(fields) ? treeOf(Object.entries(fields).filter(([key]) => key !== 'headers')) : fields,
    ]),
  );
}
