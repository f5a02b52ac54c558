// What one peer may take of this process. The defaults are for one person's machine with many agents on it.

export interface Limits {
  /** One message, without its newline. */
  readonly maxMessageBytes: number;
  /** Arrays and objects within each other in one message. */
  readonly maxDepth: number;
  readonly maxClients: number;
  /** Requests of one client that were handed to a server and are not answered. Further ones wait for their turn. */
  readonly maxInFlightPerClient: number;
  /** The same for one server, over all its clients. */
  readonly maxInFlightPerServer: number;
  /** Requests of one client that wait for their turn, before its socket is no longer read. */
  readonly maxWaitingBytesPerClient: number;
  /** Requests of all clients that wait for one server, before it is called busy. */
  readonly maxWaitingBytesPerServer: number;
  /** Bytes that a client has not taken, before it may ask nothing new; how much more there may be: crowded-clients.ts. */
  readonly maxQueuedBytesPerClient: number;
  /** Bytes that a server has not taken, before requests wait for it here, and who tells it more is not read. */
  readonly maxQueuedBytesPerServer: number;
  /** Resources that one client has subscribed to on one server: their URIs, and some bytes for each. */
  readonly maxSubscribedBytesPerClient: number;
  /** How long a client may take nothing of what is queued for it. */
  readonly stallTimeoutMs: number;
  /** From connecting to `initialize`. */
  readonly handshakeTimeoutMs: number;
  /** From starting a server to its answer to `initialize`. */
  readonly startTimeoutMs: number;
  /** How long a call may take, where its server's definition does not say; 0 leaves that to the client. Progress begins it anew, if that is set. */
  readonly callTimeoutMs: number;
  readonly progressExtendsTimeout: boolean;
  /** How long a call may take in all, however much progress it makes. */
  readonly maxCallMs: number;
  /** How long a call may keep the lane from other clients. */
  readonly maxLaneMs: number;
  /** Questions of one server that are not answered, and questions to one client. */
  readonly maxQuestions: number;
  /** How long a question is held until it is certain whom it is for. */
  readonly questionHeldMs: number;
  /** How long a client may take for its answer to one: it may be a person's. */
  readonly questionTimeoutMs: number;
  /** Tasks of one server, before the oldest are forgotten. */
  readonly maxTasksPerServer: number;
  /** Instances of one server, before clients wait for each other's conversations with it. */
  readonly maxInstancesPerServer: number;
  /** Servers that are being started at the same time: processes, and connections to remote ones. */
  readonly maxLocalStarts: number;
  readonly maxRemoteStarts: number;
  /** Requests that servers at a URL have not answered, over all of these servers. Further ones wait for their turn. */
  readonly maxRemoteCalls: number;
  /** Deaths of an instance within a minute, at which it counts as broken, and how long it is left alone then. */
  readonly maxDeathsPerMinute: number;
  readonly brokenMs: number;
  /** How long a process that was told to go may go on after SIGTERM. */
  readonly termGraceMs: number;
  /** Servers that have connected by themselves. */
  readonly maxDialIns: number;
  /** How long a server may run without any client, where its definition does not say. */
  readonly idleMs: number;
  /** How long a client that can resume may be away before its session is given up. */
  readonly resumeGraceMs: number;
  /** Sessions whose clients are away. */
  readonly maxParkedClients: number;
  /** What is kept for all of them together. */
  readonly maxParkedBytes: number;
  /** What was sent to one client that can resume and that it has not said to have. */
  readonly maxResumeBytesPerClient: number;
  /** How long calls may go on after the daemon was told to stop. */
  readonly drainTimeoutMs: number;
}

const MIB = 1024 * 1024;
/** What the bridge asks servers for itself has no client that would give it up. */
const OWN_TIMEOUT_MS = 30_000;

/** How long an answer to the bridge itself may take. */
export function ownTimeoutMs({ callTimeoutMs }: Pick<Limits, 'callTimeoutMs'>): number {
  return callTimeoutMs === 0 ? OWN_TIMEOUT_MS : callTimeoutMs;
}

export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 8 * MIB,
  maxDepth: 128,
  maxClients: 10_000,
  maxInFlightPerClient: 256,
  maxInFlightPerServer: 2048,
  maxWaitingBytesPerClient: MIB,
  maxWaitingBytesPerServer: 512 * MIB,
  maxQueuedBytesPerClient: 16 * MIB,
  maxQueuedBytesPerServer: MIB,
  maxSubscribedBytesPerClient: MIB,
  stallTimeoutMs: 10_000,
  handshakeTimeoutMs: 5_000,
  startTimeoutMs: 30_000,
  callTimeoutMs: 0,
  progressExtendsTimeout: true,
  maxCallMs: 3_600_000,
  maxLaneMs: 30_000,
  maxQuestions: 256,
  questionHeldMs: 20_000,
  questionTimeoutMs: 600_000,
  maxTasksPerServer: 10_000,
  maxInstancesPerServer: 8,
  maxLocalStarts: 4,
  maxRemoteStarts: 32,
  maxRemoteCalls: 1024,
  maxDeathsPerMinute: 5,
  brokenMs: 30_000,
  termGraceMs: 3_000,
  maxDialIns: 256,
  idleMs: 600_000,
  resumeGraceMs: 30_000,
  maxParkedClients: 4096,
  maxParkedBytes: 64 * MIB,
  maxResumeBytesPerClient: 8 * MIB,
  drainTimeoutMs: 10_000,
};
