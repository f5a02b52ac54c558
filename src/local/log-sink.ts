// Log lines as JSON, to stderr or appended to a file. Never to stdout: in `connect` that belongs to the protocol.

import { closeSync, openSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from '../util/logger.ts';
import { printableJson } from '../util/printable.ts';

/** Writes lines from this level on. `common` is in each line, whatever the line says of it. */
export function jsonLogger(level: LogLevel, write: (line: string) => void, common?: LogFields): Logger {
  const least = LOG_LEVELS.indexOf(level);
  const at = (name: LogLevel) => {
    if (LOG_LEVELS.indexOf(name) < least) return () => undefined;
    return (message: string, fields?: LogFields) =>
      write(lineOf({ time: new Date().toISOString(), level: name, message, ...fields, ...common }));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A log is read on terminals: JSON itself escapes only the oldest of the characters that these obey. */
function lineOf(record: object): string {
  return `${printableJson(JSON.stringify(record))}\n`;
}

/** The most bytes that wait for a log that nobody reads. */
const MOST_UNREAD_BYTES = 1024 * 1024;

/** For a pipe that may be read slowly, or not at all: beyond a bound lines are lost, and counted where the log goes on. */
export function lossyWriter(stream: Pick<Writable, 'write' | 'writableLength'>): (line: string) => void {
  let lost = 0;
  return (line) => {
    if (stream.writableLength > MOST_UNREAD_BYTES) return void lost++;
    if (lost > 0) {
      const message = 'lines were lost, because nobody has read the log';
      stream.write(lineOf({ time: new Date().toISOString(), level: 'warn', message, lost }));
      lost = 0;
    }
    stream.write(line);
  };
}

/** O_APPEND keeps the lines of several writers whole; a line that cannot be written is lost, and nothing else. */
export function openLogFile(path: string): { write: (line: string) => void; close: () => void } {
  let fd: number;
  try {
    fd = openSync(path, 'a', 0o600);
  } catch (error) {
    throw new BridgeError(
      'CONFIG_INVALID',
      `Cannot write the log file ${path}: ${systemCode(error) ?? 'unknown error'}`,
      {
        cause: error,
        hint: 'Choose another one with --log-file, or leave it out to log to stderr.',
      },
    );
  }
  return {
    write: (line) => {
      try {
        writeSync(fd, line);
      } catch (error) {
        expectSystemError(error);
      }
    },
    close: () => closeSync(fd),
  };
}
