// The places of registries of running servers: this program's, and others' in the same format.

import { join } from 'node:path';
import { PROJECT_DIR } from '../local/registry-file.ts';
import { stateDir } from '../local/state-dir.ts';

const FILE = 'mcp_servers.json';

/** The owner of a registry file. The author of a project owns the project's file. */
export type RegistryScope = 'project' | 'user' | 'named';

export interface RegistryPlace {
  readonly scope: RegistryScope;
  readonly file: string;
}

export interface RegistrySurroundings {
  readonly cwd: string;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function projectRegistry(cwd: string): string {
  return join(cwd, PROJECT_DIR, FILE);
}

export function userRegistry({ environment, homedir }: Omit<RegistrySurroundings, 'cwd'>): string {
  return join(stateDir(environment, homedir), FILE);
}

/** All known registries for a directory. */
export function knownRegistries(surroundings: RegistrySurroundings, named: readonly string[] = []): RegistryPlace[] {
  const { cwd } = surroundings;
  const places: RegistryPlace[] = [
    { scope: 'project', file: projectRegistry(cwd) },
    { scope: 'project', file: join(cwd, '.nisaba', FILE) },
    { scope: 'user', file: userRegistry(surroundings) },
    ...named.map((file) => ({ scope: 'named', file }) as const),
  ];
  const seen = new Set<string>();
  return places.filter(({ file }) => !seen.has(file) && seen.add(file));
}
