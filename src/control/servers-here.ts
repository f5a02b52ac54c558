// The servers of one directory, as the control methods see them, and the answer to `bridge/logs`. It reads the pool of
// servers and changes only the acceptance of tools.

import type { SeenTools } from '../catalog/seen-tools.ts';
import type { Server } from '../core/server.ts';
import type { ServerOutput } from '../downstream/server-output.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import type { ToolChangePolicy } from '../model/tool-rules.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { LogsReport } from './report.ts';

/** A server's tools as first seen, and the policy for changed ones. */
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

  /** The servers of `cwd` must have been searched before. */
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

  /** Writes what was seen to files; false if that failed. */
  keepSeen(): boolean {
    return this.#pool.keepSeen();
  }
}

/**
 * Answers `bridge/logs`. `after` has a byte position per pid where the text begins; then only whole lines are returned.
 */
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

/** The error for a server that does not exist. */
export function unknownServer(name: string, { names }: ServersHere): { message: string; hint: string; near: string[] } {
  const near = nearest(name, names);
  return {
    message: `There is no server ${JSON.stringify(name.slice(0, 128))}`,
    hint: suggestion(near) ?? 'mcp-bridge servers lists all.',
    near,
  };
}
