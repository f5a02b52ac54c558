// The options of each command, declared once: for Node's parser, which `serve` and `connect` use because it loads fast,
// and for yargs, which explains them to people.

import { VIEW_NAMES } from '../model/view-name.ts';
import { CONNECT, HTTP, LOGGING, type Options, WHERE } from './start-options.ts';

export { CONNECT, SERVE, WHERE } from './start-options.ts';

/** How people write a time. */
const TIME = '500ms, 2s, 5m, or a number of milliseconds';

const TOOL_COMMAND = {
  ...WHERE,
  'no-autostart': CONNECT['no-autostart'],
  json: { type: 'boolean', describe: 'Print JSON, for scripts' },
} as const satisfies Options;

export const SERVERS = {
  ...TOOL_COMMAND,
  running: { type: 'boolean', describe: 'Show the servers that run and say so in a registry; asks no daemon' },
} as const satisfies Options;

export const REFRESH = TOOL_COMMAND;

export const TOOLS = {
  ...TOOL_COMMAND,
  all: { type: 'boolean', describe: 'Show disabled and blocked tools too' },
  changed: { type: 'boolean', describe: 'Show what has changed since tools were first seen or accepted' },
  accept: { type: 'boolean', describe: 'Show the changes, and accept them' },
  yes: { type: 'boolean', describe: 'Do not ask' },
} as const satisfies Options;

export const SEARCH = {
  ...TOOL_COMMAND,
  server: { type: 'string', describe: 'Only tools of this server' },
  limit: { type: 'string', describe: 'The most results; else 10' },
} as const satisfies Options;

export const DESCRIBE = TOOL_COMMAND;

export const UI = {
  ...WHERE,
  'no-autostart': CONNECT['no-autostart'],
  write: { type: 'boolean', describe: 'Let the page change things: cancel, approve, accept, try a tool' },
  'no-open': { type: 'boolean', describe: 'Print the address alone, and open no browser' },
} as const satisfies Options;

export const CALL = {
  ...TOOL_COMMAND,
  args: { type: 'string', describe: 'The arguments, as JSON' },
  'args-file': { type: 'string', describe: 'A file that has the arguments, as JSON; - is stdin' },
  stdin: { type: 'boolean', describe: 'Read the arguments from stdin, as JSON; the same as -' },
  out: {
    type: 'string',
    describe: 'Save images, audio and files here, or else the text; several go into a directory; - is stdout',
  },
  timeout: { type: 'string', describe: `Cancel the call after this time: ${TIME}` },
} as const satisfies Options;

export const AUTH = {
  config: WHERE.config,
  'no-browser': { type: 'boolean', describe: 'Only print the page to sign in at' },
  logout: { type: 'boolean', describe: 'Forget the sign-in' },
} as const satisfies Options;

export const LISTING = {
  ...WHERE,
  json: { type: 'boolean', describe: 'Print JSON, for scripts' },
} as const satisfies Options;

export const HOSTS = {
  ...LISTING,
  'make-buckets': { type: 'boolean', describe: 'Make what hosts keep in NATS, as an administrator; asks no daemon' },
} as const satisfies Options;

const INTERVAL = {
  type: 'string',
  describe: 'Seconds between updates, or a time such as 500ms or 5m; else 1',
} as const;
export const TOP = { ...LISTING, interval: INTERVAL } as const satisfies Options;
export const STATUS = {
  ...LISTING,
  watch: { type: 'boolean', describe: 'Keep showing it until q or Ctrl-C' },
  interval: INTERVAL,
} as const satisfies Options;

export const LOGS = {
  ...LISTING,
  lines: { type: 'string', alias: 'n', describe: 'The number of last lines; else 50' },
  follow: { type: 'boolean', alias: 'f', describe: 'Follow the log until Ctrl-C' },
  all: { type: 'boolean', describe: 'Lines of daemons at other sockets too' },
} as const satisfies Options;

export const EVENTS = {
  ...LISTING,
  follow: { type: 'boolean', alias: 'f', describe: 'Show what happens from now on, calls too, until Ctrl-C' },
  lines: { type: 'string', alias: 'n', describe: 'The number of past events; else 50, and 10 with --follow' },
  kind: {
    type: 'string',
    repeats: true,
    describe: 'Only events of this kind, such as call or instance.died; may be given several times',
  },
  server: { type: 'string', repeats: true, describe: 'Only of this server; may be given several times' },
  client: { type: 'string', repeats: true, describe: 'Only of this client; may be given several times' },
  tool: { type: 'string', repeats: true, describe: 'Only of this tool; may be given several times' },
  calls: { type: 'string', describe: 'The most calls of a second to show; else 1000' },
} as const satisfies Options;

export const UPGRADE = { ...WHERE, http: HTTP, 'log-level': LOGGING['log-level'] } as const satisfies Options;
export const RESTART = {
  ...UPGRADE,
  'if-older': { type: 'boolean', describe: 'Only if the daemon is of another build than this program, and not newer' },
} as const satisfies Options;
export const START = { ...UPGRADE, json: LISTING.json } as const satisfies Options;

export const CONFIG = { config: WHERE.config, json: LISTING.json } as const satisfies Options;
export const DOCTOR = {
  ...LISTING,
  'mcp-client-id': CONNECT['mcp-client-id'],
  start: { type: 'boolean', describe: 'Also start each server, one after the other' },
} as const satisfies Options;
export const DEMO = {
  hosts: { type: 'boolean', describe: 'Three hosts that meet on NATS; needs a nats-server on this machine' },
} as const satisfies Options;
export const COMPLETION = { ...WHERE } as const satisfies Options;
export const SEND = {
  ...LISTING,
  params: { type: 'string', describe: 'The params, as JSON' },
  notify: { type: 'boolean', describe: 'Send a notification, which is not answered' },
  message: { type: 'string', describe: 'A text for its mailbox, instead of a method' },
  'in-reply-to': { type: 'string', describe: 'The id of the message that the text answers' },
  timeout: { type: 'string', describe: `Give up after this time: ${TIME}` },
} as const satisfies Options;

export const ATTACH = { ...WHERE, 'no-autostart': CONNECT['no-autostart'] } as const satisfies Options;

const PROJECT = {
  ...WHERE,
  cwd: { type: 'string', describe: 'The directory of the project, instead of the working directory' },
  json: LISTING.json,
} as const satisfies Options;

export const DISCOVER = {
  ...PROJECT,
  all: { type: 'boolean', describe: 'Also show servers that are not used, and all remarks' },
  client: { type: 'string', repeats: true, describe: 'Only what this client has; may be given several times' },
  explain: { type: 'string', describe: 'Everything about the definitions of this name' },
  plugin: { type: 'string', repeats: true, describe: 'The directory of an Agent Plugin; may be given several times' },
} as const satisfies Options;

export const POLICY = PROJECT;

export const REJECT = {
  ...PROJECT,
  'all-from': { type: 'string', describe: 'Everything that waits in this file' },
} as const satisfies Options;

export const APPROVE = {
  ...REJECT,
  yes: { type: 'boolean', describe: 'Do not ask' },
} as const satisfies Options;

const OWN_CONFIG = {
  type: 'string',
  describe: "The bridge's config file; else the one in your config directory",
} as const;
const DRY_RUN = { type: 'boolean', describe: 'Show what would change, and change nothing' } as const;
const NO_CLIENT_CLI = {
  type: 'boolean',
  describe: "Change the client's file directly, not with its own command",
} as const;

export const ADD = {
  config: OWN_CONFIG,
  env: { type: 'string', repeats: true, describe: 'A variable for it, KEY=VALUE; may be given several times' },
  cwd: { type: 'string', describe: 'The directory that it runs in' },
  url: { type: 'string', describe: 'The URL of the server, instead of a command' },
  type: { type: 'string', describe: 'The transport at the URL', choices: ['http', 'sse', 'ws', 'auto'] },
  header: { type: 'string', repeats: true, describe: "A header for it, 'Name: value'; may be given several times" },
  description: { type: 'string', describe: 'What it is, for people' },
} as const satisfies Options;

export const SYNONYM = { config: OWN_CONFIG } as const satisfies Options;

export const REMOVE = { config: OWN_CONFIG } as const satisfies Options;

export const IMPORT = {
  config: OWN_CONFIG,
  all: { type: 'boolean', describe: 'From every client' },
  'dry-run': DRY_RUN,
} as const satisfies Options;

export const UNINSTALL = { 'dry-run': DRY_RUN, 'no-client-cli': NO_CLIENT_CLI } as const satisfies Options;

export const ANNOUNCE = {
  remove: { type: 'boolean', describe: 'Remove the server from the registry' },
  url: { type: 'string', describe: 'The URL at which it takes requests' },
  pid: { type: 'string', describe: 'The process of the server; else this command, which then keeps running' },
  project: { type: 'boolean', describe: 'In the registry of the project in this directory, not in your own' },
} as const satisfies Options;

export const INPUT = { ...PROJECT } as const satisfies Options;
export const URL_OF = {
  ...LISTING,
  server: { type: 'string', describe: 'The URL of this server alone' },
  view: { type: 'string', describe: `The URL of this view: ${VIEW_NAMES}` },
} as const satisfies Options;
export const TOKEN = {
  view: { type: 'string', describe: `The one view that it may see: ${VIEW_NAMES}; else any` },
  servers: {
    type: 'string',
    repeats: true,
    describe: 'The servers that it may use, such as git*; may be given several times; else all',
  },
  expires: { type: 'string', describe: 'When it ends: a time such as 12h, 30d or 8w; else when it is revoked' },
  json: LISTING.json,
} as const satisfies Options;
export const TOOLSET = {
  config: OWN_CONFIG,
  view: { type: 'string', describe: 'How its clients see the tools; else all', choices: ['all', 'discover'] },
  remove: { type: 'boolean', describe: 'Remove the toolset' },
  json: LISTING.json,
} as const satisfies Options;
export const SWITCH = { ...WHERE, cwd: PROJECT.cwd } as const satisfies Options;
export const RESOURCES = {
  ...TOOL_COMMAND,
  server: { type: 'string', describe: 'Only of this server; else of all' },
  out: { type: 'string', describe: 'Save content that is not text to this file; - is stdout' },
} as const satisfies Options;
export const PROMPTS = { ...TOOL_COMMAND, server: RESOURCES.server } as const satisfies Options;

export const SERVICE = {
  ...WHERE,
  'dry-run': DRY_RUN,
  force: { type: 'boolean', describe: 'Also replace or remove units that were changed by hand' },
} as const satisfies Options;

export const INSTALL = {
  'mcp-bridge-socket': { type: 'string', describe: 'The socket that the client is to use; else MCP_BRIDGE_SOCKET' },
  config: OWN_CONFIG,
  http: { type: 'boolean', describe: 'Give the client a URL, and a token of its own, instead of a program to start' },
  view: {
    type: 'string',
    describe: `The view that the client asks for: ${VIEW_NAMES}; config leaves it to the config`,
  },
  replace: { type: 'boolean', describe: "Move the client's own servers behind the bridge" },
  yes: { type: 'boolean', describe: 'Do not ask, even if rules of the client would no longer apply' },
  ...UNINSTALL,
  json: LISTING.json,
} as const satisfies Options;
