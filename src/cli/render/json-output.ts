// JSON for scripts that may still come by a terminal: what could move the cursor or turn a line around is escaped, as JSON
// itself only does with the oldest of these characters.

import { printableJson } from '../../util/printable.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';

/** All that a command has to say with `--json`; its exit code. */
export function printJson(value: unknown, host: CliHost): number {
  host.stdout.write(jsonText(value));
  return DONE;
}

export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
}
