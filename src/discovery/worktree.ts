// The main checkout of a git worktree, for what a client decides once for all worktrees of a repository.

import type { Machine } from './machine.ts';
import type { SourceReader } from './source-reader.ts';

/**
 * Undefined where the project is no worktree. Both sides have to say so: whoever wrote a project can name any repository
 * in its `.git`, but not write into that one.
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
