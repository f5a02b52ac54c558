// Process groups of servers: sends them signals, and ends them if the daemon is killed and cannot. For that, a small
// shell reads the group ids from a pipe. When the pipe closes, the daemon has gone, and the shell ends the remaining
// groups.

import { type ChildProcess, spawn } from 'node:child_process';
import { systemCode } from '../util/bridge-error.ts';

const SCRIPT = `
trap '' INT TERM HUP
groups=' '
while read -r what group; do
  case $what in
    add) groups="$groups$group " ;;
    drop) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -TERM "-$group" 2>/dev/null; done
[ "$groups" = ' ' ] || sleep 1
for group in $groups; do kill -KILL "-$group" 2>/dev/null; done
`;

export class OrphanGuard {
  #shell: ChildProcess | undefined;

  add(group: number): void {
    this.#tell(`add ${group}\n`);
  }

  drop(group: number): void {
    this.#tell(`drop ${group}\n`);
  }

  /** Closes the pipe, so that the shell ends. */
  close(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #tell(line: string): void {
    this.#shell ??= this.#spawn();
    this.#shell.stdin?.write(line);
  }

  #spawn(): ChildProcess {
    // The shell has its own session: a terminal's signals to the daemon's group must not reach it.
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    const gone = (): void => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.on('error', gone).on('exit', gone);
    shell.stdin?.on('error', gone); // undefined if no descriptors are left
    shell.unref();
    return shell;
  }
}

/** Signals the group of `leader`, which is undefined if it never ran. Returns false if no process was left. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): boolean {
  if (leader === undefined) return false;
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if (systemCode(error) === 'ESRCH' || systemCode(error) === 'EPERM') return false;
    throw error;
  }
}
