// What a daemon is made of that comes from outside it: its settings, its places, and the process that it runs in.

import type { Config } from '../config/config.ts';
import type { MemoryReport } from '../control/report.ts';
import type { Limits } from '../model/limits.ts';
import type { Logger } from '../util/logger.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import type { FinderPorts } from './followed-servers.ts';

export interface DaemonOptions {
  readonly socketPath: string;
  /** The descriptor of that socket, where somebody has bound it already. */
  readonly activatedFd?: number | undefined;
  readonly config: Config;
  readonly limits: Limits;
  /** The directory in which a config is looked for that is not named. */
  readonly configDir: string;
  readonly finder: FinderPorts;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Where what servers say is kept; undefined to keep nothing. */
  readonly catalogDir: string | undefined;
  /** Where it is kept what their tools looked like; undefined to keep nothing. */
  readonly seenToolsDir: string | undefined;
  /** Where calls are recorded, if the config does not say. */
  readonly auditFile: string;
  readonly logger: Logger;
  readonly version: string;
  /** The version and what the program was made of. */
  readonly build: string;
  readonly pid: number;
  readonly memory: () => MemoryReport;
  /** Whether nobody has asked for it but a client that needed one: then it ends when nobody uses it. */
  readonly isAutostarted: boolean;
  /** Called when the daemon is to stop. */
  readonly onStopRequested: (reason: LeavingReason) => void;
}
