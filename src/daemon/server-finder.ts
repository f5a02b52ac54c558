// Finds out which servers there are for a directory: reads the config, has discovery look through the files of all
// clients, and takes what is to be served. What cannot be read any more counts as it was read last.

import type { LoadedConfig } from '../config/load.ts';
import type { StdioServer } from '../core/server-definition.ts';
import type { OwnProcess } from '../discovery/own-discovery.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Logger } from '../util/logger.ts';
import type { FoundServers } from './definitions.ts';

export interface ServerFinderOptions {
  readonly process: OwnProcess;
  readonly config: LoadedConfig;
  /** Reads it again. */
  readonly loadConfig: () => Promise<LoadedConfig>;
  /** What is offered where there is nothing else at all, and no config. */
  readonly example: StdioServer;
  readonly logger: Logger;
}

export class ServerFinder {
  readonly #options: ServerFinderOptions;
  #config: LoadedConfig;
  /** Why the config that was read last is not the one that is there. */
  #configFault: string | undefined;

  constructor(options: ServerFinderOptions) {
    this.#options = options;
    this.#config = options.config;
  }

  get config(): LoadedConfig {
    return this.#config;
  }

  get configFaults(): readonly string[] {
    return this.#configFault === undefined ? this.#config.faults : [this.#configFault, ...this.#config.faults];
  }

  async readConfig(): Promise<void> {
    try {
      this.#config = await this.#options.loadConfig();
      this.#configFault = undefined;
    } catch (error) {
      const hint = error instanceof BridgeError ? ` ${error.hint ?? ''}` : '';
      this.#configFault = `${messageOf(error)}${hint} What it said before still counts.`;
      this.#options.logger.warn('config', { file: this.#config.file, fault: this.#configFault });
    }
  }

  async find(dir: string): Promise<FoundServers> {
    const { config, file } = this.#config;
    try {
      const { discoverHere, servedServers } = await import('../discovery/own-discovery.ts');
      const { servers, diagnostics } = await discoverHere(this.#options.process, { cwd: dir, config: this.#config });
      const served = servedServers(servers, config);
      if (served.size === 0 && file === undefined) served.set(this.#options.example.name, this.#options.example);
      const faults = diagnostics.filter(({ level }) => level === 'error').map(({ message }) => message);
      return { servers: served, faults };
    } catch (error) {
      this.#options.logger.error('servers could not be looked for', { dir, error: messageOf(error) });
      const own = new Map(config.servers.map((definition) => [definition.name, definition]));
      return { servers: own, faults: [`Servers could not be looked for: ${messageOf(error)}`] };
    }
  }
}
