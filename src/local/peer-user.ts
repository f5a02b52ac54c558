// The user at the other end of a local TCP connection, from the kernel's table. Only Linux has one.

import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { expectSystemError } from '../util/expected-error.ts';

const LOCAL = 1;
const REMOTE = 2;
const UID = 7;
/** The start of an IPv4 address in the IPv6 table; each four bytes there are a number in the machine's byte order. */
const MAPPED = endianness() === 'LE' ? '0000000000000000FFFF0000' : '00000000000000000000FFFF';

/** Both ends of a connection, as its socket says. */
export interface ConnectionEnds {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/**
 * The uid of the process at the other end of an IPv4 connection; undefined where that cannot be known. Addresses count
 * as well as ports: another user may have the same port at another address of this machine.
 */
export async function peerUser(ends: ConnectionEnds): Promise<number | undefined> {
  const [theirs, ours] = [
    placeOf(ends.remoteAddress, ends.remotePort),
    placeOf(ends.localAddress, ends.localPort),
  ] as const;
  if (theirs === undefined || ours === undefined) return undefined;
  for (const [table, before] of [
    ['/proc/net/tcp', ''],
    ['/proc/net/tcp6', MAPPED],
  ] as const) {
    const lines = (await linesOf(table)).map((line) => line.trim().split(/\s+/));
    const line = lines.find((fields) => fields[LOCAL] === before + theirs && fields[REMOTE] === before + ours);
    if (line !== undefined) return Number(line[UID]);
  }
  return undefined;
}

/** The address as the table spells it, such as `0100007F:1F90` for 127.0.0.1:8080. */
function placeOf(address = '', port = 0): string | undefined {
  const bytes = /^(?:::ffff:)?(\d+)\.(\d+)\.(\d+)\.(\d+)$/i.exec(address)?.slice(1).map(Number);
  if (bytes === undefined) return undefined;
  const ordered = endianness() === 'LE' ? bytes.toReversed() : bytes;
  return `${ordered.map((byte) => hex(byte, 2)).join('')}:${hex(port, 4)}`;
}

const hex = (number: number, digits: number): string => number.toString(16).toUpperCase().padStart(digits, '0');

async function linesOf(table: string): Promise<string[]> {
  try {
    return (await readFile(table, 'latin1')).split('\n').slice(1);
  } catch (error) {
    expectSystemError(error);
    return [];
  }
}
