// `mcp-bridge completion`: a script for a shell, and the names that such a script asks for.

import { type Command, NAMES, SHELLS } from '../../command.ts';
import { DONE } from '../../exit-code.ts';
import type { CliHost } from '../../host.ts';
import type { ToolCommandValues } from '../../tool-session.ts';
import { offeredNames } from './offered-names.ts';
import { shellScript } from './scripts.ts';

export interface CompletionValues extends ToolCommandValues {
  readonly what?: (typeof SHELLS)[number] | (typeof NAMES)[number] | undefined;
  readonly server?: string | undefined;
}

export async function completion(
  values: CompletionValues,
  commands: Readonly<Record<string, Command>>,
  host: CliHost,
): Promise<number> {
  const { what = 'bash' } = values;
  const names = NAMES.find((name) => name === what);
  const shell = SHELLS.find((name) => name === what) ?? 'bash';
  host.stdout.write(names === undefined ? shellScript(shell, commands) : await offeredNames(names, values, host));
  return DONE;
}
