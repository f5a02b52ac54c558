// Registers servers and takes them out again. A server must not fail because a file does: what goes wrong is told as a
// warning, unless whoever calls wants to hear of it as an error.

import { RegistryFile } from '../local/registry-file.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { entryOf, idOf, type OwnProcess, type ServerInfo } from './registry-entry.ts';

export interface Outcome {
  /** True once the change is in the registry. */
  readonly isDone: boolean;
  readonly id: string;
  readonly file: string;
  /** For people, in one sentence each: what went wrong, or what was wrong with the file before. */
  readonly warnings: readonly string[];
}

export interface ChangeOptions {
  readonly file: string;
  readonly own: OwnProcess;
  /** Fail with an error instead of a warning. */
  readonly isStrict: boolean;
}

export async function register(info: ServerInfo, { file, own, isStrict }: ChangeOptions): Promise<Outcome> {
  // Programs without types pass anything.
  const said: Partial<ServerInfo> = isRecord(info) ? info : {};
  const id = idOf(said.name, said.pid ?? own.pid);
  return attempt({ id, file, isStrict }, async () => {
    const { entry } = entryOf(info, own);
    return new RegistryFile(file).change((servers) => void servers.set(id, entry));
  });
}

/** One that is not there, or not any more, is none to complain about. */
export async function unregister(id: string, { file, isStrict }: ChangeOptions): Promise<Outcome> {
  return attempt({ id, file, isStrict }, async () => {
    const registry = new RegistryFile(file);
    const { servers, warning } = await registry.read();
    if (warning === undefined && !servers.has(id)) return [];
    return registry.change((entries) => void entries.delete(id));
  });
}

type Attempted = Pick<Outcome, 'id' | 'file'> & Pick<ChangeOptions, 'isStrict'>;

async function attempt({ isStrict, ...place }: Attempted, task: () => Promise<string[]>): Promise<Outcome> {
  try {
    return { isDone: true, ...place, warnings: await task() };
  } catch (error) {
    if (isStrict) throw error;
    const hint = error instanceof BridgeError && error.hint !== undefined ? `. ${error.hint}` : '';
    return { isDone: false, ...place, warnings: [`${messageOf(error)}${hint}`] };
  }
}
