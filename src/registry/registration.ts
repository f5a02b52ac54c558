// Adds servers to a registry and removes them. A server must not fail because of a file: a failure becomes a warning,
// unless the caller wants an error.

import { RegistryFile } from '../local/registry-file.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { entryOf, idOf, type OwnProcess, type ServerInfo } from './registry-entry.ts';

export interface Outcome {
  /** True once the change is in the registry. */
  readonly isDone: boolean;
  readonly id: string;
  readonly file: string;
  /** One sentence each, for people: what went wrong now, or what was wrong with the file before. */
  readonly warnings: readonly string[];
}

export interface ChangeOptions {
  readonly file: string;
  readonly own: OwnProcess;
  /** True to throw an error instead of returning a warning. */
  readonly isStrict: boolean;
}

export async function register(info: ServerInfo, { file, own, isStrict }: ChangeOptions): Promise<Outcome> {
  // A program without types may pass anything.
  const said: Partial<ServerInfo> = isRecord(info) ? info : {};
  const id = idOf(said.name, said.pid ?? own.pid);
  return attempt({ id, file, isStrict }, async () => {
    const { entry } = entryOf(info, own);
    return new RegistryFile(file).change((servers) => void servers.set(id, entry));
  });
}

/** Removes an entry. A missing one is no fault. */
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
