// Ends the servers when the daemon is killed without a chance to do it itself. A small shell reads from a pipe which
// process groups there are; when the pipe closes, its writer is gone, and the shell ends what is left.

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

  /** Lets the shell end. */
  close(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #tell(line: string): void {
    this.#shell ??= this.#spawn();
    this.#shell.stdin?.write(line);
  }

  #spawn(): ChildProcess {
    // In a session of its own: what a terminal sends to the daemon's group must not reach it.
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    const gone = (): void => {
      if (this.#shell === shell) this.#shell = undefined;
    };
    shell.on('error', gone).on('exit', gone);
    shell.stdin?.on('error', gone); // there is none where there are no descriptors left
    shell.unref();
    return shell;
  }
}

// Signals to a process of ours and all that it has started.

/** Whether there was anyone left to get the signal. `leader` leads the group; undefined if it never ran. */
export function signalGroup(leader: number | undefined, signal: NodeJS.Signals): boolean {
  if (leader === undefined) return false;
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if (systemCode(error) === 'ESRCH' || systemCode(error) === 'EPERM') return false;
    throw error;
  }
}
