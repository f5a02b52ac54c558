// Finds out if the user trusts the present project: which path in a client's file is this project, through links and
// git worktrees too, and how Codex trusts directories.

import { basesOf } from './bases.ts';
import type { PlacedEntry } from './definition.ts';
import type { Gathering } from './gathering.ts';
import { type Machine, pathKey } from './machine.ts';
import type { SourceReader } from './source-reader.ts';
import { textAt, treeAt } from './tree.ts';

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

/** The directory whose trust makes another one trusted. */
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

/**
 * The main checkout of a worktree; undefined for other projects. Both sides must agree: a project's author can name any
 * repository in `.git`, but cannot write into that repository.
 */
export async function mainCheckoutOf(reader: SourceReader, { path, root }: Machine): Promise<string | undefined> {
  const link = path.join(root, '.git');
  const named = /^gitdir:\s*(.+?)\s*$/m.exec((await reader.peek(link, true)) ?? '')?.[1];
  if (named === undefined) return undefined;
  const own = path.resolve(root, named);
  const [worktrees, git] = [path.dirname(own), path.dirname(path.dirname(own))];
  if (path.basename(worktrees) !== 'worktrees' || path.basename(git) !== '.git') return undefined;
  const back = (await reader.peek(path.join(own, 'gitdir'), true))?.trim();
  if (back === undefined) return undefined;
  const [there, here] = await Promise.all([reader.realpath(path.resolve(own, back)), reader.realpath(link)]);
  return there === here ? path.dirname(git) : undefined;
}

/** Claude Code's file may list hundreds of projects: only those with the same name are checked. */
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
