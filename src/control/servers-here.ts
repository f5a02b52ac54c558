// The servers that there are for those who work in one directory, as the control methods see them.

import type { SeenTools } from '../catalog/seen-tools.ts';
import type { Server } from '../core/server.ts';
import type { ServerOutput } from '../downstream/server-output.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import type { ToolChangePolicy } from '../model/tool-rules.ts';

export interface SeenToolsOf {
  readonly seen: SeenTools;
  readonly policy: ToolChangePolicy;
}

/** The servers of all directories. */
interface ServersEverywhere {
  names(cwd: string | undefined): readonly string[];
  find(name: string, cwd: string | undefined): Server | undefined;
  definitionOf(name: string, cwd: string | undefined): ServerDefinition | undefined;
  outputsOf(name: string): ServerOutput[];
  seenOf(name: string, cwd: string | undefined): SeenToolsOf | undefined;
  keepSeen(): boolean;
}

export class ServersHere {
  readonly names: readonly string[];
  readonly #pool: ServersEverywhere;
  readonly #cwd: string | undefined;

  /** What there is in `cwd` has been found out. */
  constructor(pool: ServersEverywhere, cwd: string | undefined) {
    this.names = pool.names(cwd);
    this.#pool = pool;
    this.#cwd = cwd;
  }

  find(name: string): Server | undefined {
    return this.#pool.find(name, this.#cwd);
  }

  definitionOf(name: string): ServerDefinition | undefined {
    return this.#pool.definitionOf(name, this.#cwd);
  }

  outputsOf(name: string): ServerOutput[] {
    return this.#pool.outputsOf(name);
  }

  seenOf(name: string): SeenToolsOf | undefined {
    return this.#pool.seenOf(name, this.#cwd);
  }

  /** Writes down what was seen of tools; whether it could be. */
  keepSeen(): boolean {
    return this.#pool.keepSeen();
  }
}
