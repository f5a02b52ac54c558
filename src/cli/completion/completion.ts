// `mcp-bridge completion`: a script for a shell, and the names that such a script asks for.

import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import type { ToolVerbValues } from '../tool-session.ts';
import type { NAMES, SHELLS } from '../verb-table.ts';
import { offeredNames } from './offered-names.ts';
import { SCRIPTS } from './scripts.ts';

export interface CompletionValues extends ToolVerbValues {
  readonly what?: (typeof SHELLS)[number] | (typeof NAMES)[number] | undefined;
  readonly server?: string | undefined;
}

export async function completion(values: CompletionValues, host: CliHost): Promise<number> {
  const { what = 'bash' } = values;
  const isShell = (word: string): word is keyof typeof SCRIPTS => Object.hasOwn(SCRIPTS, word);
  host.stdout.write(isShell(what) ? SCRIPTS[what]() : await offeredNames(what, values, host));
  return DONE;
}
