// Whether a path that some file names is the project that we are in: written in another way, or through a link.

import { type Machine, pathKey } from './machine.ts';
import { basesOf } from './places/bases.ts';
import type { SourceReader } from './source-reader.ts';
import { treeAt } from './tree.ts';

/** Claude Code's file may have hundreds of projects: only those of the same name are looked at. */
const MOST_LOOKED_AT = 32;

export async function projectTest(reader: SourceReader, machine: Machine): Promise<(dir: string) => boolean> {
  const dirs = [machine.cwd, machine.root];
  const real = await Promise.all(dirs.map((dir) => reader.realpath(dir)));
  const own = new Set([...dirs, ...real].map((dir) => pathKey(machine, dir)));
  const isOwn = (dir: string): boolean => own.has(pathKey(machine, dir));
  const linked = await linkedKeys(reader, machine, isOwn);
  return (dir) => isOwn(dir) || linked.has(dir);
}

async function linkedKeys(
  reader: SourceReader,
  machine: Machine,
  isOwn: (dir: string) => boolean,
): Promise<ReadonlySet<string>> {
  const { path, cwd, root } = machine;
  const [file = ''] = basesOf(machine).get('CLAUDE_FILE')?.dirs ?? [];
  const reading = await reader.read(file, 'json');
  const projects = reading.kind === 'document' ? treeAt(reading.document.value, 'projects') : undefined;
  const nameOf = (dir: string): string => path.basename(dir).toLowerCase();
  const names = new Set([cwd, root].map(nameOf));
  const asked = Object.keys(projects ?? {})
    .filter((dir) => path.isAbsolute(dir) && names.has(nameOf(dir)) && !isOwn(dir))
    .slice(0, MOST_LOOKED_AT);
  const found = await Promise.all(asked.map(async (dir) => (isOwn(await reader.realpath(dir)) ? [dir] : [])));
  return new Set(found.flat());
}
