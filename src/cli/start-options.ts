// The options of `serve` and `connect`. They are in a separate file because these two load as little as possible; the
// options of all other commands are in options.ts.

import { VIEW_NAMES } from '../model/view-name.ts';
import { LOG_LEVELS } from '../util/logger.ts';

export interface Option {
  readonly type: 'string' | 'boolean';
  readonly describe: string;
  readonly choices?: readonly string[];
  /** One letter, used after one dash. */
  readonly alias?: string;
  /** True if it may be given several times, and all values are used. */
  readonly repeats?: boolean;
}
export type Options = Readonly<Record<string, Option>>;

export const WHERE = {
  'mcp-bridge-socket': {
    type: 'string',
    describe: 'The socket; else MCP_BRIDGE_SOCKET, the config file, or /tmp/mcp-bridge.sock',
  },
  config: { type: 'string', describe: 'The config file' },
} as const satisfies Options;

export const LOGGING = {
  'log-level': { type: 'string', describe: 'What to log', choices: LOG_LEVELS },
  'log-file': { type: 'string', describe: 'The file to log to, instead of stderr' },
} as const satisfies Options;

export const HTTP = {
  type: 'string',
  describe: 'Also listen for HTTP there: 127.0.0.1:4810, [::1]:4810 or unix:/path; else http.listen of the config',
} as const satisfies Option;

export const SERVE = {
  ...WHERE,
  ...LOGGING,
  http: HTTP,
  'config-dir': { type: 'string', describe: 'The directory to look for a config in, instead of the working directory' },
  'config-checked': {
    type: 'string',
    describe: 'A config that a command has just read: if it cannot be read now, what it said then is used',
  },
  autostarted: { type: 'boolean', describe: 'End when nobody has used it for daemon.idleExitMs' },
} as const satisfies Options;

export const CONNECT = {
  ...WHERE,
  server: { type: 'string', describe: 'The server to show, the same as --view server:NAME' },
  view: {
    type: 'string',
    describe: `What to show of the servers: ${VIEW_NAMES}; else MCP_BRIDGE_VIEW, or what the config says`,
  },
  toolset: { type: 'string', describe: 'The toolset to show, the same as --view toolset:NAME' },
  client: { type: 'string', describe: 'The program that starts it, such as cursor: for clients[].match of the config' },
  'mcp-client-id': {
    type: 'string',
    describe: 'The id to be known by; else MCP_CLIENT_ID, or client.id of the config file',
  },
  'no-autostart': { type: 'boolean', describe: 'Fail instead of starting a daemon' },
} as const satisfies Options;
