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
  /** Bytes that a client has not taken, before it may ask nothing new; at three times that it is cut off. */
  readonly maxQueuedBytesPerClient: number;
  /** How long a client may take nothing of what is queued for it. */
  readonly stallTimeoutMs: number;
  /** From connecting to `initialize`. */
  readonly handshakeTimeoutMs: number;
  /** From starting a server to its answer to `initialize`. */
  readonly startTimeoutMs: number;
  /** How long a call may take, where its server's definition does not say. Progress begins it anew, if that is set. */
  readonly callTimeoutMs: number;
  readonly progressExtendsTimeout: boolean;
  /** How long a call may take in all, however much progress it makes. */
  readonly maxCallMs: number;
  /** Instances of one server, before clients wait for each other's conversations with it. */
  readonly maxInstancesPerServer: number;
  /** Servers that are being started at the same time: processes, and connections to remote ones. */
  readonly maxLocalStarts: number;
  readonly maxRemoteStarts: number;
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

export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 8 * MIB,
  maxDepth: 128,
  maxClients: 10_000,
  maxInFlightPerClient: 256,
  maxInFlightPerServer: 2048,
  maxWaitingBytesPerClient: MIB,
  maxWaitingBytesPerServer: 512 * MIB,
  maxQueuedBytesPerClient: 16 * MIB,
  stallTimeoutMs: 10_000,
  handshakeTimeoutMs: 5_000,
  startTimeoutMs: 30_000,
  callTimeoutMs: 30_000,
  progressExtendsTimeout: true,
  maxCallMs: 600_000,
  maxInstancesPerServer: 8,
  maxLocalStarts: 4,
  maxRemoteStarts: 32,
  idleMs: 600_000,
  resumeGraceMs: 30_000,
  maxParkedClients: 4096,
  maxParkedBytes: 64 * MIB,
  maxResumeBytesPerClient: 8 * MIB,
  drainTimeoutMs: 10_000,
};
