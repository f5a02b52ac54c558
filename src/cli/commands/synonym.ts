// `mcp-bridge config synonym`: adds synonyms to the bridge's own config, so that a search for one word finds the
// others.

import { addSynonyms } from '../../editing/own-synonyms.ts';
import { editingHostOf } from '../editing.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { printable } from '../render/table.ts';
import { tilde } from '../render/terminal.ts';
import { reloadIfRunning } from '../running-daemon.ts';

export interface SynonymValues {
  readonly words: readonly string[];
  readonly config?: string | undefined;
}

export async function synonym(values: SynonymValues, host: CliHost): Promise<number> {
  const { file, words, isChanged } = await addSynonyms(values.words, { config: values.config }, editingHostOf(host));
  if (isChanged) await reloadIfRunning({ config: values.config }, host);
  const said = isChanged ? 'was written into' : 'stands already in';
  host.stdout.write(`${printable(tilde(`${words.join(', ')}: ${said} ${file}`, host))}\n`);
  return DONE;
}
