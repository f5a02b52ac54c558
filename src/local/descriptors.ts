// Checks that descriptors are free, for a new process and for a new client. Node opens a child's pipes first; if one
// fails, it reports an error and never closes the others. If a connection gets no descriptor, Node closes it silently.
// So the daemon checks before.

import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

/**
 * Three pipes with two ends each, the one that reports the child's start, and those of the guard that is told about the
 * child.
 */
const OF_A_CHILD = 12;

/** Kept free for clients that are refused, and for files. */
const IN_RESERVE = 6;
/** The number of clients that one check admits. */
const PER_LOOK = 3;

/** Throws the system's error if so many descriptors are not free. */
export function checkDescriptors(count = OF_A_CHILD): void {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined || code === 'EMFILE' || code === 'ENFILE') throw error; // others do not concern descriptors
  } finally {
    for (const fd of taken) closeSync(fd);
  }
}

/** The descriptors that clients may have: all but a reserve, whatever has taken the others. */
export class ClientDescriptors {
  #known = 0;

  /** True if there is room for one more client. One check admits several clients in the same turn. */
  hasRoom(): boolean {
    if (this.#known > 0) {
      this.#known--;
      return true;
    }
    try {
      checkDescriptors(IN_RESERVE);
    } catch (error) {
      expectSystemError(error);
      return false;
    }
    this.#known = PER_LOOK - 1;
    setImmediate(() => {
      this.#known = 0;
    });
    return true;
  }
}

/** The standard streams, and one more that a child may be given. */
const LAST_OF_A_CHILD = 3;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Finds the descriptors that every child inherits: those that this process's parent has left open. Linux only; empty
 * elsewhere. `among` names the ones to check; without it all are checked.
 */
export function inheritedDescriptors(among?: readonly number[]): readonly number[] {
  try {
    const all = among ?? readdirSync('/proc/self/fd').map(Number);
    return all.filter((fd) => fd > LAST_OF_A_CHILD && isInheritable(fd));
  } catch (error) {
    expectSystemError(error);
    return [];
  }
}

function isInheritable(fd: number): boolean {
  try {
    const [, flags] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch (error) {
    expectSystemError(error); // closed meanwhile
    return false;
  }
}
