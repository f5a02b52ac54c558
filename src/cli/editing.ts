// What the commands that change config files share: the host for the room `editing`, and the report of the changes.

import { platform } from 'node:os';
import type { EditReport } from '../editing/edit-report.ts';
import type { EditingHost } from '../editing/editing-host.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { printableTabbed } from './render/table.ts';
import { tilde, widthOf, wrappedLines } from './render/terminal.ts';

export function editingHostOf({ cwd, homedir, environment, node, program }: CliHost): EditingHost {
  return { platform: platform(), cwd, homedir, environment, node, program, now: () => new Date() };
}

export function tell({ lines, diff }: EditReport, host: CliHost): number {
  for (const line of lines) host.stdout.write(`${wrappedLines(tilde(line, host), { width: widthOf(host) })}\n`);
  for (const line of diff.split('\n').slice(0, -1)) host.stdout.write(`${printableTabbed(line)}\n`);
  return DONE;
}
