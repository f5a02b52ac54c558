// Descriptors that are left, for a process to be started and for a client to be taken in. Node opens the pipes of a child
// first, and where one more cannot be had it says so and never closes those that it has got. A connection for which there is
// no descriptor is closed by Node without a word. So one looks before.

import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

/** Three pipes, each with two ends, the one by which a child says that it runs, and those of the guard that is told of it. */
const OF_A_CHILD = 12;

/** Left for those who are told that there is no room, and for files. */
const IN_RESERVE = 6;
/** Clients that are taken in upon one look. */
const PER_LOOK = 3;

/** Throws as the system does. */
export function checkDescriptors(count = OF_A_CHILD): void {
  const taken: number[] = [];
  try {
    while (taken.length < count) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined || code === 'EMFILE' || code === 'ENFILE') throw error; // others say nothing of descriptors
  } finally {
    for (const fd of taken) closeSync(fd);
  }
}

/** The descriptors that clients may have: all but a reserve, whoever has taken the others. */
export class ClientDescriptors {
  #known = 0;

  /** There is room for one more client. One look is good for some of them, if they come in the same turn. */
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

/** Standard streams, and the one more that a child may be given. */
const LAST_OF_A_CHILD = 3;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Finds the descriptors that a child gets without being given them: those that whoever has started this process has left open. Linux
 * only; empty elsewhere. `among` names those to look at; without it all are.
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
