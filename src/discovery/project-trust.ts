// Codex's own trust in directories: what the files of a trusted one say is approved as far as that trust covers it
// (client-approvals.ts). It is decided for each directory: by its own entry, else by that of the project's root, else by
// that of the repository's main checkout.

import type { PlacedEntry } from './definition.ts';
import type { Gathering } from './gathering.ts';
import { pathKey } from './machine.ts';
import { basesOf } from './places/bases.ts';
import { textAt, treeAt } from './tree.ts';
import { mainCheckoutOf } from './worktree.ts';

export async function trustCodexProjects(
  entries: readonly PlacedEntry[],
  gathering: Gathering,
): Promise<PlacedEntry[]> {
  const isWaiting = (entry: PlacedEntry): boolean => entry.client === 'codex' && entry.awaitsApproval;
  if (!entries.some(isWaiting)) return [...entries];
  const trustedDirOf = await trustIn(
    entries.flatMap((entry) => (isWaiting(entry) ? (entry.location.project ?? []) : [])),
    gathering,
  );
  return entries.map((entry) => {
    const trustedDir = isWaiting(entry) ? trustedDirOf(entry.location.project ?? '') : undefined;
    return trustedDir === undefined ? entry : { ...entry, trustedDir };
  });
}

/** The directory by whose trust another one is trusted. */
async function trustIn(dirs: readonly string[], gathering: Gathering): Promise<(dir: string) => string | undefined> {
  const { reader, machine } = gathering;
  const levels = await trustLevels(gathering);
  const main = await mainCheckoutOf(reader, machine);
  const asked = [...new Set([...dirs, machine.root, ...(main === undefined ? [] : [main])])];
  const real = await Promise.all(asked.map((dir) => reader.realpath(dir)));
  const own = new Map(
    asked.map((dir, i) => [dir, levels.get(pathKey(machine, dir)) ?? levels.get(pathKey(machine, real[i] ?? dir))]),
  );
  return (dir) => {
    const deciding = [dir, machine.root, main ?? ''].find((candidate) => own.get(candidate) !== undefined);
    return deciding !== undefined && own.get(deciding) === 'trusted' ? deciding : undefined;
  };
}

async function trustLevels({ reader, machine }: Gathering): Promise<ReadonlyMap<string, string>> {
  const [dir = ''] = basesOf(machine).get('CODEX')?.dirs ?? [];
  const reading = await reader.read(machine.path.join(dir, 'config.toml'), 'toml');
  const projects = reading.kind === 'document' ? (treeAt(reading.document.value, 'projects') ?? {}) : {};
  return new Map(
    Object.keys(projects).flatMap((path) => {
      const level = textAt(projects, path, 'trust_level');
      return level === undefined ? [] : [[pathKey(machine, path), level] as const];
    }),
  );
}
