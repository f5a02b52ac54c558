// Codex's own trust in a project: once its user has said so, what the project's files say is merged like the rest.

import type { PlacedEntry } from './definition.ts';
import type { Gathering } from './gathering.ts';
import { basesOf } from './places/bases.ts';
import { textAt, treeAt } from './tree.ts';

export async function trustCodexProjects(
  entries: readonly PlacedEntry[],
  gathering: Gathering,
): Promise<PlacedEntry[]> {
  const isWaiting = (entry: PlacedEntry): boolean => entry.client === 'codex' && entry.awaitsApproval;
  if (!entries.some(isWaiting) || !(await isTrusted(gathering))) return [...entries];
  return entries.map((entry) => (isWaiting(entry) ? { ...entry, awaitsApproval: false } : entry));
}

async function isTrusted({ reader, machine, isProject }: Gathering): Promise<boolean> {
  const [dir = ''] = basesOf(machine).get('CODEX')?.dirs ?? [];
  const reading = await reader.read(machine.path.join(dir, 'config.toml'), 'toml');
  const projects = reading.kind === 'document' ? (treeAt(reading.document.value, 'projects') ?? {}) : {};
  return Object.keys(projects).some((path) => isProject(path) && textAt(projects, path, 'trust_level') === 'trusted');
}
