// The data about one request while it is under way: the bridge's answering side (SERVER), and its asking side at each
// server (CLIENT). Only requests whose trace is sent keep more than times and names.

import type { ObservedClient, ObservedInstance } from '../core/events.ts';
import type { NamedMethod } from './convention.ts';
import type { TraceParent } from './trace-context.ts';

/** The failure of one side, if it is no success. */
export interface Failure {
  /** The convention's `error.type`. */
  readonly type: string;
  /** The code of a JSON-RPC error; undefined if there was none. */
  readonly status?: string | undefined;
  /** The bridge's own code; '' for none. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/** An event during a span. */
export interface SpanNote {
  readonly name: string;
  readonly atMs: number;
  readonly why: string;
}

const NOT_YET = -1;

/** The CLIENT side of a request at one server. */
export class ServerLeg {
  /** The request that it was first sent for. Another request may continue it. */
  readonly request: RequestTrace;
  readonly instance: ObservedInstance;
  readonly server: string;
  readonly spanId: string;
  readonly requestId: number;
  readonly sentMs: number;
  /** The name sent to the server, in JSON spelling; '' for none. */
  readonly target: string;
  /** The time of the server's answer, or when it was clear that none would come. */
  endedMs = NOT_YET;
  failure: Failure | undefined;
  result: string | undefined;

  constructor(leg: Pick<ServerLeg, 'request' | 'instance' | 'server' | 'spanId' | 'requestId' | 'sentMs' | 'target'>) {
    this.request = leg.request;
    this.instance = leg.instance;
    this.server = leg.server;
    this.spanId = leg.spanId;
    this.requestId = leg.requestId;
    this.sentMs = leg.sentMs;
    this.target = leg.target;
  }

  get hasEnded(): boolean {
    return this.endedMs !== NOT_YET;
  }
}

export class RequestTrace {
  readonly client: ObservedClient;
  readonly method: NamedMethod;
  /** The name in `params`, in JSON spelling; '' for none. */
  readonly target: string;
  readonly startedMs: number;
  readonly parent: TraceParent | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
  failure: Failure | undefined;
  /** True once its answer was written, or nobody waits for it. */
  isOver = false;
  leg: ServerLeg | undefined;
  /** Only set if the trace is sent. */
  details: RequestDetails | undefined;

  constructor(
    request: Pick<
      RequestTrace,
      'client' | 'method' | 'target' | 'startedMs' | 'parent' | 'traceId' | 'spanId' | 'isSampled'
    >,
  ) {
    this.client = request.client;
    this.method = request.method;
    this.target = request.target;
    this.startedMs = request.startedMs;
    this.parent = request.parent;
    this.traceId = request.traceId;
    this.spanId = request.spanId;
    this.isSampled = request.isSampled;
  }
}

export interface RequestDetails {
  readonly id: string;
  readonly uri: string | undefined;
  readonly state: string | undefined;
  readonly toolArguments: string | undefined;
  /** The arguments of the inner tool, if this one calls another. */
  aimedArguments: string | undefined;
  result: string | undefined;
  readonly notes: SpanNote[];
}
