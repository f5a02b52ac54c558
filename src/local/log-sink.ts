// Writes log lines as JSON to stderr, or appends them to a file. It never writes to stdout: in `connect` that belongs
// to the protocol.

import { closeSync, openSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from '../util/logger.ts';
import { printableJson } from '../util/printable.ts';

/** Writes lines of this level and above. Every line has `common`; a field of the line never replaces it. */
export function jsonLogger(level: LogLevel, write: (line: string) => void, common?: LogFields): Logger {
  const least = LOG_LEVELS.indexOf(level);
  const at = (name: LogLevel) => {
    if (LOG_LEVELS.indexOf(name) < least) return () => undefined;
    return (message: string, fields?: LogFields) =>
      write(lineOf({ time: new Date().toISOString(), level: name, message, ...fields, ...common }));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Escapes more than JSON does: JSON escapes only the oldest control characters, and terminals obey newer ones. */
function lineOf(record: object): string {
  return `${printableJson(JSON.stringify(record))}\n`;
}

/** The most bytes that wait for a log that nobody reads. */
const MOST_UNREAD_BYTES = 1024 * 1024;

/**
 * Writes to a pipe whose reader may be slow or absent. Beyond the limit, lines are lost; their number is logged when
 * the pipe works again.
 */
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

/**
 * Opens a log file. O_APPEND keeps the lines of several writers whole. A line that cannot be written is lost, and
 * nothing else.
 */
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
