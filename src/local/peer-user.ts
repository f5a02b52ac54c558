// The user at the other end of a TCP connection of this machine, by the kernel's own table. Only Linux has one.

import { readFile } from 'node:fs/promises';
import { expectSystemError } from '../util/expected-error.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const LOCAL = 1;
const REMOTE = 2;
const UID = 7;

/** The uid of whoever holds the port `peer` of a connection to our port `own`; undefined where that cannot be known. */
export async function peerUser(peer: number, own: number): Promise<number | undefined> {
  const [peerHex, ownHex] = [peer, own].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  for (const table of TABLES) {
    const lines = (await linesOf(table)).map((line) => line.trim().split(/\s+/));
    const line = lines.find(
      (fields) => fields[LOCAL]?.endsWith(peerHex ?? '') && fields[REMOTE]?.endsWith(ownHex ?? ''),
    );
    if (line !== undefined) return Number(line[UID]);
  }
  return undefined;
}

async function linesOf(table: string): Promise<string[]> {
  try {
    return (await readFile(table, 'latin1')).split('\n').slice(1);
  } catch (error) {
    expectSystemError(error);
    return [];
  }
}
