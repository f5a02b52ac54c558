// The table of settings: type, default, limits and description of each. The check of config files, the JSON Schema and
// the tables in docs/configuration.md are made from it (`node scripts/settings.mjs`), so a new setting is one row here.
// This file reads and checks nothing.

import { DEEPEST } from '../wire/json-grammar.ts';

/** Markdown. The JSON Schema has the same without links and marks. */
interface Words {
  readonly text: string;
  /** For limits only: what happens when it is exceeded. */
  readonly beyond?: string;
  /** The counters in `mcp-bridge status` that show this. */
  readonly counters?: readonly string[];
}

type Default<Value> = Value | undefined;

export interface CountSetting<Otherwise extends Default<number> = Default<number>> extends Words {
  readonly kind: 'count';
  readonly default: Otherwise;
  readonly least: number;
  readonly most?: number;
}

export interface FlagSetting extends Words {
  readonly kind: 'flag';
  readonly default: boolean;
}

export interface ChoiceSetting<Choice extends string = string, Otherwise extends Default<Choice> = Default<Choice>>
  extends Words {
  readonly kind: 'choice';
  readonly default: Otherwise;
  readonly choices: readonly Choice[];
}

export interface TextSetting extends Words {
  readonly kind: 'text';
  /** True if an empty text is allowed; it means the default. */
  readonly mayBeEmpty?: boolean;
}

export type Setting = CountSetting | FlagSetting | ChoiceSetting | TextSetting;
export type SettingsTable = Readonly<Record<string, Setting>>;

type ValueOf<Row extends Setting> =
  Row extends CountSetting<infer Otherwise>
    ? number | (undefined extends Otherwise ? undefined : never)
    : Row extends FlagSetting
      ? boolean
      : Row extends ChoiceSetting<infer Choice, infer Otherwise>
        ? Choice | (undefined extends Otherwise ? undefined : never)
        : Row extends { readonly mayBeEmpty: true }
          ? string
          : string | undefined;

/** The values of a section. */
export type SettingsOf<Table extends SettingsTable> = { readonly [Key in keyof Table]: ValueOf<Table[Key]> };

const MIB = 1024 * 1024;

type Bounds = Pick<CountSetting, 'least' | 'most'>;

function count(otherwise: number, bounds: Bounds, words: Words): CountSetting<number> {
  return { kind: 'count', default: otherwise, ...bounds, ...words };
}

function optionalCount(bounds: Bounds, words: Words): CountSetting<undefined> {
  return { kind: 'count', default: undefined, ...bounds, ...words };
}

function flag(otherwise: boolean, words: Words): FlagSetting {
  return { kind: 'flag', default: otherwise, ...words };
}

function choice<const Choice extends string>(
  otherwise: Choice,
  choices: readonly Choice[],
  words: Words,
): ChoiceSetting<Choice, Choice> {
  return { kind: 'choice', default: otherwise, choices, ...words };
}

function optionalChoice<const Choice extends string>(
  choices: readonly Choice[],
  words: Words,
): ChoiceSetting<Choice, undefined> {
  return { kind: 'choice', default: undefined, choices, ...words };
}

function text(words: Words): TextSetting {
  return { kind: 'text', ...words };
}

function defaultOf(row: Setting): unknown {
  if (row.kind !== 'text') return row.default;
  return row.mayBeEmpty === true ? '' : undefined;
}

/** The values of a section that says nothing. */
export function defaultsOf<Table extends SettingsTable>(table: Table): SettingsOf<Table> {
  const pairs = Object.entries(table).map(([key, row]) => [key, defaultOf(row)]);
  return Object.fromEntries(pairs) as SettingsOf<Table>;
}

/** The resources that one peer may use. The defaults suit one person's machine with many agents. */
export const LIMITS = {
  maxMessageBytes: count(
    8 * MIB,
    { least: 1024, most: 1024 * MIB },
    {
      text: 'the longest message, without its newline',
      beyond:
        "one error, then the client's connection closes; the library and `connect` refuse the message themselves, and stay connected. A server's message is dropped",
      counters: ['oversizedFrames'],
    },
  ),
  maxDepth: count(
    128,
    { least: 8, most: DEEPEST },
    {
      text: 'how deep arrays and objects may be nested in one message',
      beyond: '-32600; if it is an answer of a server, the caller gets an error',
      counters: ['badFrames', 'serverNoise'],
    },
  ),
  maxClients: count(
    10_000,
    { least: 1 },
    {
      text: 'connections at once; fewer if there are not enough descriptors',
      beyond: 'an error, then the connection closes',
      counters: ['clientsRefused'],
    },
  ),
  maxInFlightPerClient: count(
    256,
    { least: 1 },
    {
      text: 'requests of one client that servers have not answered yet',
      beyond: 'further requests of the client wait for their turn',
      counters: ['waitedForClient'],
    },
  ),
  maxInFlightPerServer: count(
    2048,
    { least: 1 },
    {
      text: 'the same for one server, over all its clients',
      beyond: 'further requests wait, one client after the other in turn',
      counters: ['waitedForServer'],
    },
  ),
  maxWaitingBytesPerClient: count(
    MIB,
    { least: 0 },
    {
      text: "bytes of one client's requests that wait for their turn, or for a server to start",
      beyond: 'the bridge reads no more from the client until half of them are gone',
      counters: ['clientsPaused'],
    },
  ),
  maxWaitingBytesPerServer: count(
    512 * MIB,
    { least: 0 },
    {
      text: "bytes of all clients' requests that wait for one server",
      beyond: '-32603 with the code `SERVER_BUSY`',
      counters: ['serverBusy'],
    },
  ),
  maxQueuedBytesPerClient: count(
    16 * MIB,
    { least: 65_536 },
    {
      text: 'bytes that wait for a client which does not read',
      beyond:
        "from half of it on, progress, logs and list changes are dropped. At the limit, the client's further requests wait. At each further multiple of it, the bridge reads nothing from the client's server for up to 250 ms; if the client still reads nothing, it is cut off. At sixteen times the limit it is cut off in any case",
      counters: ['notificationsDropped', 'waitedForClient', 'clientsPaused', 'serversPaused', 'clientsOverQueued'],
    },
  ),
  maxQueuedBytesPerServer: count(
    MIB,
    { least: 65_536 },
    {
      text: 'bytes that wait for a server which does not read',
      beyond:
        'further requests wait. If a client sends the server notices or answers, the bridge does not read this client until the server reads again, or has stalled; then the notices are dropped',
      counters: ['waitedForServer', 'serversStalled', 'notificationsDropped'],
    },
  ),
  maxSubscribedBytesPerClient: count(
    MIB,
    { least: 0 },
    {
      text: 'bytes of the URIs that one client is subscribed to on one server, plus 256 for each',
      beyond: '-32600 to the client that subscribes',
      counters: ['subscriptionsRefused'],
    },
  ),
  stallTimeoutMs: count(
    10_000,
    { least: 1 },
    {
      text: 'how long a client or a server may read nothing while messages wait for it',
      beyond: 'the client is cut off; for a server, its clients no longer wait until it reads',
      counters: ['clientsStalled', 'serversStalled'],
    },
  ),
  handshakeTimeoutMs: count(
    5000,
    { least: 1 },
    {
      text: 'how long a client may be connected and silent',
      beyond: 'its connection is closed when another client needs the place',
      counters: ['handshakeTimeouts'],
    },
  ),
  startTimeoutMs: count(
    30_000,
    { least: 1 },
    {
      text: "the time from the start of a server to its answer to `initialize`, if the server's definition sets none",
      beyond: 'the start has failed, and the server is ended',
      counters: ['startTimeouts'],
    },
  ),
  callTimeoutMs: count(
    0,
    { least: 0 },
    {
      text: "how long a call may take, if the server's definition sets no time. With 0 the client decides, within `maxCallMs`",
      beyond: 'the call gets an error (`CALL_TIMED_OUT`) and the server a cancellation, with a precision of a second',
      counters: ['timeouts'],
    },
  ),
  progressExtendsTimeout: flag(true, {
    text: "a flag, not a limit: whether a progress notification restarts a call's time (`callTimeoutMs`)",
    beyond: 'with `false`, a call ends in spite of its progress',
  }),
  maxCallMs: count(
    3_600_000,
    { least: 1 },
    {
      text: 'how long a call may take in total, in spite of progress',
      beyond: 'the same as for `callTimeoutMs`',
      counters: ['timeouts'],
    },
  ),
  maxLaneMs: count(
    30_000,
    { least: 1 },
    {
      text: "how long a call that may ask its client something can keep other clients' calls waiting. Calls that wait because of `maxConcurrentCalls` wait as long",
      beyond:
        'the other clients get another instance; if `sharing` or `maxInstancesPerServer` forbids that, an error (`SERVER_BUSY`)',
      counters: ['serverBusy', 'instancesRefused'],
    },
  ),
  maxQuestions: count(
    256,
    { least: 1 },
    {
      text: 'unanswered questions of one server, and to one client',
      beyond: 'an error to the server',
      counters: ['questionsRefused'],
    },
  ),
  questionHeldMs: count(
    20_000,
    { least: 1 },
    {
      text: "how long the bridge holds a server's question until only one client can be meant",
      beyond: 'the question gets an error',
      counters: ['questionsUncertain'],
    },
  ),
  questionTimeoutMs: count(
    600_000,
    { least: 1 },
    {
      text: 'how long a client, perhaps a person, may take to answer a question',
      beyond: 'the client is told that the question is void, and the server gets an error',
      counters: ['questionTimeouts'],
    },
  ),
  maxSuspendedCalls: count(
    20_000,
    { least: 2 },
    {
      text: "calls of clients without a handshake that were answered with a question and wait for the client's answer. They wait for `questionTimeoutMs`. One user may have half of them",
      beyond: 'a question gets an error; the call continues',
      counters: ['suspensionsRefused', 'questionsRefused'],
    },
  ),
  maxSuspendedBytes: count(
    64 * MIB,
    { least: 2 },
    {
      text: 'bytes kept for these calls: their questions, answers of servers that came meanwhile, and 1024 for each call. One user may have half of them',
      beyond: 'the same; a kept answer becomes an error',
      counters: ['suspensionsRefused', 'questionsRefused'],
    },
  ),
  maxTasksPerServer: count(
    10_000,
    { least: 1 },
    {
      text: 'tasks of one server',
      beyond: 'the bridge forgets the oldest task: no client gets its notices any more',
      counters: ['tasksForgotten'],
    },
  ),
  maxInstancesPerServer: count(
    8,
    { least: 1 },
    {
      text: 'instances of one server that the bridge starts so that clients need not wait. Instances that cannot be shared do not count (only `maxClients` limits them): one for each client of a `dedicated` server, and one for each set of roots or of client capabilities that a server asks about',
      beyond: "clients wait for each other's conversations with the server",
      counters: ['instancesRefused'],
    },
  ),
  maxLocalStarts: count(
    4,
    { least: 1 },
    {
      text: 'processes that start at the same time',
      beyond:
        'servers wait for their turn. Clients take turns, so a client that needs many servers delays another client by one start. A start that takes longer than 3 s gives up its turn',
      counters: ['startsQueued'],
    },
  ),
  maxRemoteStarts: count(
    32,
    { least: 1 },
    {
      text: 'connections to remote servers that begin at the same time, and servers on other hosts whose lists are read at the same time',
      beyond: 'the same',
      counters: ['startsQueued'],
    },
  ),
  maxRemoteCalls: count(
    1024,
    { least: 1 },
    {
      text: 'unanswered requests to servers at a URL, over all these servers: each holds a connection. One server gets at most a quarter of them. At most a quarter of the descriptors is used',
      beyond: 'further requests wait for their turn',
    },
  ),
  maxDeathsPerMinute: count(
    5,
    { least: 1 },
    {
      text: 'deaths of an instance within a minute',
      beyond: 'for `brokenMs`, clients that need the server get an error at once (`SERVER_BROKEN`)',
      counters: ['serversBroken'],
    },
  ),
  brokenMs: count(
    30_000,
    { least: 1 },
    { text: 'how long the bridge does not start a broken server', beyond: 'it starts again' },
  ),
  termGraceMs: count(
    3000,
    { least: 0 },
    {
      text: 'how long a process may run after SIGTERM, which it gets half a second after the end of its input',
      beyond: 'it is killed, with its whole group',
      counters: ['serversKilled'],
    },
  ),
  maxDialIns: count(
    256,
    { least: 0 },
    { text: 'servers that have connected by themselves', beyond: '-32600 to the server', counters: ['dialInsRefused'] },
  ),
  maxToolNameLength: count(
    47,
    { least: 44, most: 128 },
    {
      text: 'characters in the name of a tool or prompt in the view `all`. Some clients put `mcp__mcp-bridge__` before it and allow 64 in total',
      beyond: 'the name is cut, and ends with a hash of the whole name',
    },
  ),
  idleMs: count(
    600_000,
    { least: 1 },
    {
      text: 'how long a server may run without any client, if its definition sets no time',
      beyond: 'the server is stopped',
      counters: ['idleStops'],
    },
  ),
  resumeGraceMs: count(
    30_000,
    { least: 0 },
    {
      text: 'how long a client that can resume may be away',
      beyond: 'its session is given up, and its calls are cancelled',
      counters: ['sessionsExpired'],
    },
  ),
  maxParkedClients: count(
    4096,
    { least: 0 },
    {
      text: 'sessions whose clients are away',
      beyond: 'a session whose connection drops is given up at once',
      counters: ['sessionsNotKept'],
    },
  ),
  maxParkedBytes: count(
    64 * MIB,
    { least: 0 },
    {
      text: 'bytes kept for all clients that are away',
      beyond:
        'the session with the most bytes is given up. If more than half of all bytes are messages that no client has asked for, it is the session with the most of those',
      counters: ['sessionsNotKept'],
    },
  ),
  maxResumeBytesPerClient: count(
    8 * MIB,
    { least: 0 },
    {
      text: 'bytes sent to a client that can resume, which it has not confirmed. One more message may be kept',
      beyond: 'the oldest are dropped. If the client cannot have received them, its session is given up',
      counters: ['sessionsNotKept'],
    },
  ),
  drainTimeoutMs: count(
    10_000,
    { least: 0 },
    {
      text: 'how long calls may run after somebody has stopped the daemon',
      beyond:
        'calls get an error; the next daemon takes the calls of clients that can resume. A client that reads its answers slowly has the same time again',
    },
  ),
};

/** Detection of clients that have gone silently. */
export const LIVENESS = {
  pingPeriodMs: count(
    30_000,
    { least: 0 },
    { text: 'after how much silence the daemon pings a client; 0 means never' },
  ),
  maxMissedPings: count(
    3,
    { least: 1 },
    { text: 'after how many unanswered pings in a row a client is cut off, if it used to answer' },
  ),
  cutOffSilentClients: flag(false, {
    text: 'whether this also applies to clients that have never answered a ping, such as a person with `nc`',
  }),
};

export const DAEMON = {
  idleExitMs: count(
    600_000,
    { least: 0 },
    {
      text: 'a daemon that `connect` or another command has started (`serve --autostarted`) ends after this time without any client and any server that dials in, connected or away; 0 means never. A daemon from `start` or `serve` stays',
    },
  ),
};

export type DaemonSettings = SettingsOf<typeof DAEMON>;
export const DEFAULT_DAEMON: DaemonSettings = defaultsOf(DAEMON);

/** Programs of models that call tools. */
export const CODE_MODE = {
  enabled: flag(false, {
    text: 'whether models may run programs: the view `code`, and the tool `run_code` in `discover` ([Code mode](code-mode.md))',
  }),
  python: flag(false, {
    text: 'whether programs may also be written in Python (`run_python`). Needs `pyodide`, and a machine that can confine the process ([Code mode](code-mode.md#python))',
  }),
  timeoutMs: count(
    60_000,
    { least: 100, most: 3_600_000 },
    {
      text: 'how long a program may take, without the time in which a person is asked something. A program may ask for less time',
    },
  ),
  maxMemoryBytes: count(
    64 * MIB,
    { least: 16 * MIB, most: 2048 * MIB },
    { text: 'the memory of a program in JavaScript' },
  ),
  maxPythonMemoryBytes: count(
    512 * MIB,
    { least: 256 * MIB, most: 4096 * MIB },
    { text: 'the memory of a process that runs a program in Python' },
  ),
  maxOutputBytes: count(
    64 * 1024,
    { least: 256, most: 8 * MIB },
    { text: 'how many bytes a program may print and return, together' },
  ),
  maxCalls: count(
    1000,
    { least: 1 },
    { text: 'how many calls of tools, searches and looks at types a program may make' },
  ),
  maxPrograms: count(
    16,
    { least: 1, most: 1000 },
    { text: 'how many processes run programs, for all clients together. One client may use a quarter of them at once' },
  ),
};

export type CodeModeSettings = SettingsOf<typeof CODE_MODE>;
export const DEFAULT_CODE_MODE: CodeModeSettings = defaultsOf(CODE_MODE);

/** The audit log. A config without the section has none. */
export const AUDIT = {
  enabled: flag(true, {
    text: 'whether the daemon records each call and each refusal. With `false` you keep the section and record nothing',
  }),
  file: text({
    text: 'the file, relative to the config file. Without it `audit.jsonl` in `$XDG_STATE_HOME/mcp-bridge/` (else `~/.local/state/…`)',
  }),
  maxBytes: count(16 * MIB, { least: 65_536 }, { text: 'the file is renamed to `FILE.1` before it grows beyond this' }),
  keep: count(4, { least: 1, most: 1000 }, { text: 'how many renamed files are kept' }),
  arguments: flag(false, {
    text: 'whether the log has the arguments, **with the secrets in them**, instead of a hash',
  }),
  onFailure: choice('continue', ['continue', 'refuse'], {
    text: 'what happens to calls while they cannot be recorded: `continue`, or `refuse` (`AUDIT_FAILED`)',
  }),
};

/** Traces and metrics. The address and what goes along with it are read in config/telemetry-settings.ts. */
export const TELEMETRY = {
  traces: flag(true, { text: 'whether traces are sent' }),
  metrics: flag(true, { text: 'whether metrics are sent' }),
  arguments: flag(false, {
    text: 'whether spans have the arguments of tools, **with the secrets in them**',
  }),
  results: flag(false, {
    text: 'whether spans have the results of tools and the error messages of servers, **with the secrets in them**',
  }),
  serviceName: text({ text: 'the name of the bridge in traces and metrics; `mcp-bridge` without it' }),
};

export const OTLP = {
  protocol: choice('http/protobuf', ['http/protobuf', 'http/json'], { text: 'how the data are written' }),
  timeoutMs: count(10_000, { least: 1 }, { text: 'how long the collector may take to answer' }),
};

/** Clients over HTTP. The address and the lists are read in config/http-settings.ts. */
export const HTTP = {
  tokens: flag(true, {
    text: 'whether clients over TCP need a [token](http.md#tokens). `false` lets in every program and every user of this machine, so it is not possible if other machines reach the bridge',
  }),
  allowRemote: flag(false, {
    text: 'whether `listen` may be an address that other machines reach. It needs tokens, and `tls` or `behindProxy`',
  }),
  behindProxy: flag(false, {
    text: 'whether your own proxy is in front of the bridge and does TLS for it',
  }),
};

/** Results of tools that are too long for a model. */
export const RESULTS = {
  maxBytes: optionalCount(
    { least: 0 },
    {
      text: 'how many bytes of text a result may have. A longer result is cut at a line or an item, and kept for `read_result` ([Results](results.md)). 0 cuts nothing. The default is 100,000 in the view `discover`, and 0 in `all`. Results in the view `server:NAME` are never cut',
    },
  ),
  keepMs: count(
    600_000,
    { least: 1000, most: 86_400_000 },
    { text: 'how long the bridge keeps the whole of a cut result' },
  ),
  maxMemoryBytes: count(
    16 * MIB,
    { least: 65_536 },
    { text: 'bytes of these results in memory. More goes to files that only you can read, the oldest results first' },
  ),
  maxDiskBytes: count(
    256 * MIB,
    { least: 0 },
    {
      text: 'bytes of these files. If no room is left, the client with the most bytes loses its oldest result (`resultsForgotten`). No client gets more than half of the room',
    },
  ),
};

export type ResultsSettings = SettingsOf<typeof RESULTS>;
export const DEFAULT_RESULTS: ResultsSettings = defaultsOf(RESULTS);

/** Daemons of other hosts. The addresses and the lists are read in config/federation-settings.ts. */
export const FEDERATION = {
  tenant: text({
    text: 'the organisation whose hosts meet; `default` without it. It has letters, digits, `-` and `_`, and is in the subjects',
  }),
  user: text({
    text: 'the user of this daemon; `_` without it. It has letters, digits, `-` and `_`. It is in the subjects, so permissions of NATS can decide what the daemon may do',
  }),
  host: text({
    text: 'the name of this host. It is required, and no other host may have it. It begins with a letter or a digit and has letters, digits, `.`, `-` and `_`, at most 63',
  }),
  bulkConnection: flag(true, {
    text: 'whether parts of long messages have a connection of their own, so short messages do not wait for them; `true` without it',
  }),
};

export const AGENTS = {
  enabled: flag(false, {
    text: 'whether language models get the tools `list_agents`, `send_message` and `read_messages`, and a mailbox',
  }),
  maxPerSecond: count(
    50,
    { least: 1 },
    { text: 'messages a second of one client, and between two clients; twice as many at once (`TOO_MANY_MESSAGES`)' },
  ),
  maxMessageBytes: count(MIB, { least: 1 }, { text: 'one message (`MESSAGE_TOO_LARGE`)' }),
  maxInFlight: count(
    64,
    { least: 1 },
    { text: 'unanswered requests of one client to others, and of others to it (`CLIENT_BUSY`)' },
  ),
  maxHops: count(
    8,
    { least: 1 },
    { text: 'how often a message may be passed on, or a letter answered by another (`MESSAGE_LOOP`)' },
  ),
};

export const MAILBOX = {
  maxMessages: count(
    100,
    { least: 1 },
    { text: 'letters that one client may leave unread. Beyond it the sender gets `MAILBOX_FULL`' },
  ),
  maxBytes: count(MIB, { least: 1 }, { text: 'the same in bytes' }),
};

/** The lists of servers that are kept between runs. */
export const CACHE = {
  enabled: flag(true, {
    text: "whether the next daemon keeps the servers' lists of this one, in `$XDG_CACHE_HOME/mcp-bridge/catalog` (else `~/.cache/…`)",
  }),
  ttl: count(
    3600,
    { least: 0 },
    {
      text: 'for how many seconds a list counts while its server does not run. If a server cannot start, its list is shown even later, and marked. The file of a server is removed after 30 days without use',
    },
  ),
};

export const DISCOVERY = {
  enabled: flag(true, {
    text: "whether the bridge offers servers from other programs' files. `mcp-bridge discover` shows them anyway",
  }),
  precedence: choice('scope', ['scope', 'first-wins'], {
    text: 'which of several definitions of one name is used. `scope`: in each client the one with the stronger scope, so one for each client. `first-wins`: only the first in the list of places',
  }),
  registryHosts: choice('loopback', ['loopback', 'any'], {
    text: 'where servers in registries may be: `loopback` is this machine only, `any` is any machine',
  }),
  timeoutMs: count(
    0,
    { least: 0 },
    {
      text: 'how long a tool may take without progress if `execute_tool` runs it and its server allows more; 0 sets no limit. A change applies at once',
    },
  ),
};

/** Settings that a server may have wherever it is defined. */
export const SERVER = {
  sharing: optionalChoice(['auto', 'shared', 'dedicated'], {
    text: '`auto`: clients share a process if nothing prevents it ([Protocol](protocol.md#instances)). `shared`: they always share it, and wait for each other. `dedicated`: a process for each client. For the default see [below](#serversettingsname). A server that answers `initialize` differently for different programs needs `dedicated`: clients that share it share one answer ([ADR 39](adr/0039-capabilities-that-servers-decide-by.md))',
  }),
  maxConcurrentCalls: optionalCount(
    { least: 0 },
    {
      text: "how many calls of its tools run at a time in one process; 0 means no limit. The default is 1 for programs that lose data when several calls write (`server-memory`), else 0. A cancelled or timed-out call counts until the server answers it, or for 5 s. If other clients' calls fill the limit and none of them ends for `limits.maxLaneMs`, waiting calls get an error (`SERVER_BUSY`); a client's own calls may delay its next ones longer",
    },
  ),
  trustHints: flag(false, {
    text: 'whether the bridge repeats a call after a crash if its tool has `readOnlyHint` or `idempotentHint`',
  }),
  description: { kind: 'text', mayBeEmpty: true, text: 'for people' },
  timeoutMs: optionalCount(
    { least: 1 },
    {
      text: 'how long a call to it may take without progress; else `limits.callTimeoutMs`, which sets no limit by default',
    },
  ),
  startTimeoutMs: optionalCount({ least: 1 }, { text: 'how long it may take to start; else `limits.startTimeoutMs`' }),
  idleMs: optionalCount({ least: 1 }, { text: 'how long it may run without any client; else `limits.idleMs`' }),
} as const satisfies SettingsTable;

/** Settings of a server that connects by itself: those that do not depend on how it is started. */
export const DIAL_IN = {
  description: SERVER.description,
  timeoutMs: SERVER.timeoutMs,
  startTimeoutMs: SERVER.startTimeoutMs,
  trustHints: SERVER.trustHints,
};

/** The sections, by their paths in a config file. */
export const SETTINGS: Readonly<Record<string, SettingsTable>> = {
  limits: LIMITS,
  liveness: LIVENESS,
  daemon: DAEMON,
  codeMode: CODE_MODE,
  audit: AUDIT,
  telemetry: TELEMETRY,
  'telemetry.otlp': OTLP,
  http: HTTP,
  results: RESULTS,
  federation: FEDERATION,
  agents: AGENTS,
  'agents.mailbox': MAILBOX,
  discovery: DISCOVERY,
  'discovery.cache': CACHE,
  'mcpServers.*': SERVER,
  'serverSettings.*': SERVER,
  'dialIn.*': DIAL_IN,
};
