// The table of settings: the type, the default and the bounds of each, and the words that say what it is for. The check of
// a config file, the JSON Schema and the tables of docs/configuration.md come from it (`node scripts/settings.mjs`), so a
// new setting is one row here. Nothing is read here, and nothing is checked.

import { DEEPEST } from '../wire/json-grammar.ts';

/** Markdown. The JSON Schema has the same without links and marks. */
interface Words {
  readonly text: string;
  /** Limits only: what happens beyond it. */
  readonly beyond?: string;
  /** The counters of `mcp-bridge status` that count this. */
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
  /** An empty text is the default, and is allowed. */
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

/** The resources that one peer may take of this process. The defaults are for one person's machine with many agents on it. */
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
      text: 'arrays and objects within each other in one message',
      beyond: '-32600; an answer of a server becomes an error of its caller',
      counters: ['badFrames', 'serverNoise'],
    },
  ),
  maxClients: count(
    10_000,
    { least: 1 },
    {
      text: 'connections at once. Lowered to what the descriptors allow',
      beyond: 'an error, then the connection closes',
      counters: ['clientsRefused'],
    },
  ),
  maxInFlightPerClient: count(
    256,
    { least: 1 },
    {
      text: 'requests of one client that a server has and has not answered',
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
      beyond: 'the client is not read until half of them have gone',
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
      text: 'bytes that a client has not taken',
      beyond:
        "from half of it on, progress, logs and list changes are dropped. At it, the client's further requests wait. At twice it, and at each further such amount, the client must have taken something; its server is not read for up to 250 ms meanwhile. Else the client is cut off, and at sixteen times in any case",
      counters: ['notificationsDropped', 'waitedForClient', 'clientsPaused', 'serversPaused', 'clientsOverQueued'],
    },
  ),
  maxQueuedBytesPerServer: count(
    MIB,
    { least: 65_536 },
    {
      text: 'bytes that a server has not taken',
      beyond:
        'further requests wait. A client that sends the server notices or answers is not read until the server has taken some, or has stalled: then the server goes without the notices',
      counters: ['waitedForServer', 'serversStalled', 'notificationsDropped'],
    },
  ),
  maxSubscribedBytesPerClient: count(
    MIB,
    { least: 0 },
    {
      text: 'URIs that one client is subscribed to on one server, and 256 bytes for each',
      beyond: '-32600 to the client that subscribes',
      counters: ['subscriptionsRefused'],
    },
  ),
  stallTimeoutMs: count(
    10_000,
    { least: 1 },
    {
      text: 'how long a client or a server may take nothing of what is queued for it',
      beyond: 'the client is cut off; clients of such a server no longer wait for that',
      counters: ['clientsStalled', 'serversStalled'],
    },
  ),
  handshakeTimeoutMs: count(
    5000,
    { least: 1 },
    {
      text: 'how long a client may be connected without a word',
      beyond: 'its connection is closed when another client needs the place',
      counters: ['handshakeTimeouts'],
    },
  ),
  startTimeoutMs: count(
    30_000,
    { least: 1 },
    {
      text: "from starting a server to its answer to `initialize`, where the server's definition does not say",
      beyond: 'the start has failed, and the server is ended',
      counters: ['startTimeouts'],
    },
  ),
  callTimeoutMs: count(
    0,
    { least: 0 },
    {
      text: "how long a call may take, where the server's definition does not say. 0 leaves the time to the client, within `maxCallMs`",
      beyond: 'the call gets an error (`CALL_TIMED_OUT`) and the server a cancel, to the second',
      counters: ['timeouts'],
    },
  ),
  progressExtendsTimeout: flag(true, {
    text: "a flag, no limit: whether a progress notification starts a call's time (`callTimeoutMs`) again",
    beyond: 'with `false`, a call that makes progress ends as any other',
  }),
  maxCallMs: count(
    3_600_000,
    { least: 1 },
    {
      text: 'how long a call may take in all, however much progress it makes',
      beyond: 'the same as for `callTimeoutMs`',
      counters: ['timeouts'],
    },
  ),
  maxLaneMs: count(
    30_000,
    { least: 1 },
    {
      text: "how long a call that may ask its client something may keep other clients' calls waiting. The same time for calls that wait because of `maxConcurrentCalls`",
      beyond:
        'the other clients get an instance of their own; where `sharing` or `maxInstancesPerServer` forbids that, an error (`SERVER_BUSY`)',
      counters: ['serverBusy', 'instancesRefused'],
    },
  ),
  maxQuestions: count(
    256,
    { least: 1 },
    {
      text: 'questions of one server, and questions to one client, that are not answered',
      beyond: 'an error to the server',
      counters: ['questionsRefused'],
    },
  ),
  questionHeldMs: count(
    20_000,
    { least: 1 },
    {
      text: 'how long a question of a server is held until it is certain which client it is for',
      beyond: 'the question gets an error',
      counters: ['questionsUncertain'],
    },
  ),
  questionTimeoutMs: count(
    600_000,
    { least: 1 },
    {
      text: 'how long a client, perhaps a person, may take to answer a question',
      beyond: 'the question is taken back, and the server gets an error',
      counters: ['questionTimeouts'],
    },
  ),
  maxSuspendedCalls: count(
    20_000,
    { least: 2 },
    {
      text: 'calls of clients without a handshake that were answered with a question, and wait for the answer. They wait for `questionTimeoutMs`. One user may have half of them',
      beyond: 'a question gets an error; the call goes on',
      counters: ['suspensionsRefused', 'questionsRefused'],
    },
  ),
  maxSuspendedBytes: count(
    64 * MIB,
    { least: 2 },
    {
      text: 'bytes that are kept for these calls: their questions, the answers of servers that came meanwhile, and 1024 for each call. One user may have half of them',
      beyond: 'the same; a kept answer becomes an error',
      counters: ['suspensionsRefused', 'questionsRefused'],
    },
  ),
  maxTasksPerServer: count(
    10_000,
    { least: 1 },
    {
      text: 'tasks of one server',
      beyond: 'the oldest task is forgotten: no client hears of it any more',
      counters: ['tasksForgotten'],
    },
  ),
  maxInstancesPerServer: count(
    8,
    { least: 1 },
    {
      text: 'instances of one server that are started so that nobody has to wait. Instances that cannot be shared are bounded by `maxClients`: one for each client of a `dedicated` server, and one for each set of roots or of client capabilities that a server asks about',
      beyond: "clients wait for each other's conversations with the server",
      counters: ['instancesRefused'],
    },
  ),
  maxLocalStarts: count(
    4,
    { least: 1 },
    {
      text: 'processes that are being started at the same time',
      beyond:
        'servers wait for their turn. Clients take turns, so one that needs many servers holds up another one by one start. A start that takes longer than 3 s gives its turn away',
      counters: ['startsQueued'],
    },
  ),
  maxRemoteStarts: count(
    32,
    { least: 1 },
    {
      text: 'connections to remote servers that are being made at the same time, and servers on other hosts whose lists are read',
      beyond: 'the same',
      counters: ['startsQueued'],
    },
  ),
  maxRemoteCalls: count(
    1024,
    { least: 1 },
    {
      text: 'requests that servers at a URL have not answered, over all these servers: each holds a connection. One server gets no more than a quarter of them. Lowered to a quarter of what the descriptors allow',
      beyond: 'further requests wait for their turn',
    },
  ),
  maxDeathsPerMinute: count(
    5,
    { least: 1 },
    {
      text: 'deaths of an instance within a minute',
      beyond: 'clients that need the server are told so at once (`SERVER_BROKEN`), for `brokenMs`',
      counters: ['serversBroken'],
    },
  ),
  brokenMs: count(
    30_000,
    { least: 1 },
    { text: 'how long a broken server is left alone', beyond: 'it is started again' },
  ),
  termGraceMs: count(
    3000,
    { least: 0 },
    {
      text: 'how long a process may go on after SIGTERM, which comes half a second after the end of its input',
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
      text: 'the characters of a name of a tool or prompt in the view `all`. Some clients put `mcp__mcp-bridge__` before it and take 64 in all',
      beyond: 'the name is cut, and ends with a hash of the whole',
    },
  ),
  idleMs: count(
    600_000,
    { least: 1 },
    {
      text: "how long a server may run without any client, where the server's definition does not say",
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
      text: 'bytes that are kept for all clients that are away',
      beyond:
        'the session with the most bytes is given up, or, while more than half of them are what no client has asked for, the one with the most of those',
      counters: ['sessionsNotKept'],
    },
  ),
  maxResumeBytesPerClient: count(
    8 * MIB,
    { least: 0 },
    {
      text: 'bytes that were sent to a client that can resume, and that it has not confirmed. One message more may be kept',
      beyond: 'the oldest are dropped. If the client cannot have had those, its session is given up',
      counters: ['sessionsNotKept'],
    },
  ),
  drainTimeoutMs: count(
    10_000,
    { least: 0 },
    {
      text: 'how long calls may go on after the daemon was told to stop',
      beyond:
        'calls get an error; those of clients that can resume are left to the next daemon. A client that reads its answers slowly has as long again',
    },
  ),
};

/** How the daemon finds out that a client has gone without a word. */
export const LIVENESS = {
  pingPeriodMs: count(30_000, { least: 0 }, { text: 'a client that is silent for so long is pinged; 0 pings nobody' }),
  maxMissedPings: count(
    3,
    { least: 1 },
    { text: 'pings in a row without an answer, after which a client that used to answer is cut off' },
  ),
  cutOffSilentClients: flag(false, {
    text: 'whether that also goes for clients that have never answered a ping, such as a person with `nc`',
  }),
};

export const DAEMON = {
  idleExitMs: count(
    600_000,
    { least: 0 },
    {
      text: 'a daemon that `connect` or another command has started (`serve --autostarted`) ends when no client and no server that dials in has been connected, or away, for so long; 0 is for ever. One that was started with `start` or `serve` stays',
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
    { text: 'how long a program may take, without the time in which a person is asked something. It may ask for less' },
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
    { text: 'what a program may print and return, together' },
  ),
  maxCalls: count(
    1000,
    { least: 1 },
    { text: 'the calls of tools that a program may make, with its searches and looks at types' },
  ),
  maxPrograms: count(
    16,
    { least: 1, most: 1000 },
    { text: 'the processes that run programs, of all clients together. One client may run a quarter of them at once' },
  ),
};

export type CodeModeSettings = SettingsOf<typeof CODE_MODE>;
export const DEFAULT_CODE_MODE: CodeModeSettings = defaultsOf(CODE_MODE);

/** The record of calls. A config without the section has none. */
export const AUDIT = {
  enabled: flag(true, {
    text: 'whether each call and each refusal is recorded. `false` keeps the section and records nothing',
  }),
  file: text({
    text: 'the file, relative to the config file. Without it `audit.jsonl` in `$XDG_STATE_HOME/mcp-bridge/` (else `~/.local/state/…`)',
  }),
  maxBytes: count(16 * MIB, { least: 65_536 }, { text: 'the file is renamed to `FILE.1` before it grows beyond this' }),
  keep: count(4, { least: 1, most: 1000 }, { text: 'how many renamed files are kept' }),
  arguments: flag(false, {
    text: 'whether arguments are recorded as they are, **with the secrets in them**, instead of a hash',
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
    text: 'whether clients over TCP need a [token](http.md#tokens). `false` lets in every program and every user of this machine, so it is refused where other machines reach the bridge',
  }),
  allowRemote: flag(false, {
    text: 'whether `listen` may be an address that other machines reach. It needs tokens, and `tls` or `behindProxy`',
  }),
  behindProxy: flag(false, {
    text: 'whether a proxy of yours stands before the bridge and speaks TLS for it',
  }),
};

/** Results of tools that are long for a model. */
export const RESULTS = {
  maxBytes: optionalCount(
    { least: 0 },
    {
      text: 'the bytes of text in one result. More is cut at a line or an item, and kept for `read_result` ([Results](results.md)). 0 cuts nothing. Without it 100,000 in the view `discover`, and nothing is cut in `all`. A server that is seen alone (`server:NAME`) is never cut',
    },
  ),
  keepMs: count(600_000, { least: 1000, most: 86_400_000 }, { text: 'how long a result that was cut is kept whole' }),
  maxMemoryBytes: count(
    16 * MIB,
    { least: 65_536 },
    { text: 'the bytes of such results in memory. More is written to files for their user alone, the oldest first' },
  ),
  maxDiskBytes: count(
    256 * MIB,
    { least: 0 },
    {
      text: 'the bytes in these files. Where there is no room left, the client with most loses its oldest result (`resultsForgotten`). No client gets more than half of the room',
    },
  ),
};

export type ResultsSettings = SettingsOf<typeof RESULTS>;
export const DEFAULT_RESULTS: ResultsSettings = defaultsOf(RESULTS);

/** Daemons of other hosts. The addresses and the lists are read in config/federation-settings.ts. */
export const FEDERATION = {
  tenant: text({ text: 'the organisation whose hosts meet; `default` without it. It stands in the subjects' }),
  user: text({ text: 'the user of this daemon, by whose subjects NATS decides what it may ask; `_` without it' }),
  host: text({
    text: 'the name of this host, which no other one has. It has to be set. It begins with a letter or a digit, and goes on with letters, digits, `.`, `-` and `_`, at most 63 in all',
  }),
  bulkConnection: flag(true, {
    text: 'whether long answers come on a connection of their own, so that short ones do not wait behind them',
  }),
};

export const AGENTS = {
  enabled: flag(false, {
    text: 'whether language models get the tools `list_agents`, `send_message` and `read_messages`, and a mailbox',
  }),
  maxPerSecond: count(
    50,
    { least: 1 },
    { text: 'messages of one client, and between two of them; twice as many at once (`TOO_MANY_MESSAGES`)' },
  ),
  maxMessageBytes: count(MIB, { least: 1 }, { text: 'one message (`MESSAGE_TOO_LARGE`)' }),
  maxInFlight: count(
    64,
    { least: 1 },
    { text: 'requests of one client to others that are not answered, and of others to it (`CLIENT_BUSY`)' },
  ),
  maxHops: count(
    8,
    { least: 1 },
    { text: 'how often a message may be handed on, or a letter answered by another (`MESSAGE_LOOP`)' },
  ),
};

export const MAILBOX = {
  maxMessages: count(
    100,
    { least: 1 },
    { text: 'messages that one client may leave unread (`MAILBOX_FULL`, told to the sender)' },
  ),
  maxBytes: count(MIB, { least: 1 }, { text: 'the same in bytes' }),
};

/** The lists of servers that are kept between runs. */
export const CACHE = {
  enabled: flag(true, {
    text: 'whether what servers say of themselves is kept from one run of the daemon to the next, in `$XDG_CACHE_HOME/mcp-bridge/catalog` (else `~/.cache/…`)',
  }),
  ttl: count(
    3600,
    { least: 0 },
    {
      text: 'how many seconds it holds while a server does not run. If a server cannot be started, it is shown beyond that, and marked. The file of a server that nobody has used for 30 days is removed',
    },
  ),
};

export const DISCOVERY = {
  enabled: flag(true, {
    text: 'whether servers that other programs define are offered. `mcp-bridge discover` shows them anyway',
  }),
  precedence: choice('scope', ['scope', 'first-wins'], {
    text: 'which of several definitions of one name is used. `scope`: in each client the stronger scope, and one of each client. `first-wins`: the first in the list of places, over everything',
  }),
  registryHosts: choice('loopback', ['loopback', 'any'], {
    text: 'whether servers that registries list may be on this machine only, or on `any`',
  }),
  timeoutMs: count(
    0,
    { least: 0 },
    {
      text: 'how long a tool that `execute_tool` runs may take without progress, if its server allows more; 0 sets no limit. A change applies at once',
    },
  ),
};

/** Settings that a server may have wherever it is defined. */
export const SERVER = {
  sharing: optionalChoice(['auto', 'shared', 'dedicated'], {
    text: '`auto`: clients share a process where nothing speaks against it ([Protocol](protocol.md#instances)). `shared`: they always do, and wait for each other. `dedicated`: one for each client. Without it see [below](#serversettingsname). A server that answers `initialize` differently for different programs needs `dedicated`: clients that share it share one answer ([ADR 39](adr/0039-capabilities-that-servers-decide-by.md))',
  }),
  maxConcurrentCalls: optionalCount(
    { least: 0 },
    {
      text: "how many calls of its tools a process gets at a time, 0 for no bound. Without it 1 for programs that are known to lose what is written at the same time (`server-memory`), else 0. A call that was cancelled, or whose time was up, holds its place until the server answers it after all, or for 5 s. Where calls of other clients take all places and none of them ends for `limits.maxLaneMs`, the waiting calls get an error (`SERVER_BUSY`); a client's own calls may keep its next ones waiting for as long as they take",
    },
  ),
  trustHints: flag(false, {
    text: 'whether a call in flight at a crash is made once more if its tool says `readOnlyHint` or `idempotentHint`',
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

/** Settings of a server that connects by itself: what does not depend on how it is started. */
export const DIAL_IN = {
  description: SERVER.description,
  timeoutMs: SERVER.timeoutMs,
  startTimeoutMs: SERVER.startTimeoutMs,
  trustHints: SERVER.trustHints,
};

/** The sections by the places that they have in a config file. */
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
