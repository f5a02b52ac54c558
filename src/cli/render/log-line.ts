// One line of the daemon's log for people: when, how bad, what, and the fields. What is no line of its logger, such as a
// trace of Node's, is shown as it is. Whatever others have said in it is escaped.

import { expectSyntaxError } from '../../util/expected-error.ts';
import { isRecord } from '../../util/json-value.ts';
import { printableJson } from '../../util/printable.ts';
import type { Colours } from './colour.ts';
import { printable, printableTabbed } from './table.ts';

/** Needs no quotes to be read as one value. */
const PLAIN = /^[^\s"=]+$/;

/** `showsSocket`: the lines of several daemons stand among each other. */
export function readableLine(line: string, colours: Colours | undefined, showsSocket = false): string {
  const record = recordIn(line);
  if (record === undefined) return printableTabbed(line.replace(/\r$/, ''));
  const { time, level, message, socket, ...others } = record;
  const fields = showsSocket && socket !== undefined ? { ...others, socket } : others;
  const levelText = printable(`${level}`);
  const padded = levelText.padEnd(5);
  const shownLevel = colours?.level(padded) ?? padded;
  const shownFields = Object.entries(fields).map(([name, value]) => `  ${printable(name)}=${valueText(value)}`);
  return `${printable(`${time}`)} ${shownLevel} ${printable(`${message}`)}${shownFields.join('')}`;
}

/** For scripts, which may still come by a terminal: what is no line of the logger is one object too, with nothing but it. */
export function jsonLine(line: string): string {
  return printableJson(recordIn(line) === undefined ? JSON.stringify({ message: line }) : line);
}

/** The socket of the daemon that has logged it; undefined if it names none. */
export function socketIn(line: string): string | undefined {
  const socket = recordIn(line)?.socket;
  return typeof socket === 'string' ? socket : undefined;
}

function recordIn(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && ['time', 'level', 'message'].every((name) => typeof value[name] === 'string')
      ? value
      : undefined;
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // somebody else's line
  }
}

function valueText(value: unknown): string {
  return printable(typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value));
}
