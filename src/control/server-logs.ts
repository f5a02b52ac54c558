// `bridge/logs`: what the processes of a server have written on stderr lately.

import { isRecord, textOf } from '../util/json-value.ts';
import type { LogsReport } from './report.ts';
import type { ServersHere } from './servers-here.ts';
import { unknownServer } from './tool-changes.ts';

/** `after` has the byte behind which the text of a process is wanted, by its pid; then only whole lines are. */
export function logsOf(here: ServersHere, server: unknown, after: unknown): LogsReport {
  const name = textOf(server);
  const outputs = here.outputsOf(name);
  const transport = here.definitionOf(name)?.transport ?? (outputs.length > 0 ? 'stdio' : null);
  const positions = isRecord(after) ? after : undefined;
  return {
    server: name,
    transport,
    processes: outputs.map((output) => output.after(byteOf(positions?.[`${output.pid}`]), positions !== undefined)),
    unknown: transport === null ? unknownServer(name, here) : null,
  };
}

function byteOf(position: unknown): number {
  return typeof position === 'number' && Number.isSafeInteger(position) && position > 0 ? position : 0;
}
