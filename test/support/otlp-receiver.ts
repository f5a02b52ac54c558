// A collector for tests: a real HTTP server that takes OTLP as JSON or as protobuf, reads it, and keeps the spans and metrics.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { type Fields, messageIn } from './otlp-protobuf.ts';

type Attributes = Record<string, string | number | boolean>;

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Attributes;
  readonly status: { readonly code: number; readonly message: string };
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  readonly resource: Attributes;
}

interface ReceivedPoint {
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly number[];
  readonly buckets: readonly number[];
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  /** 1 for delta, 2 for cumulative. */
  readonly temporality: number;
  readonly points: readonly ReceivedPoint[];
  readonly resource: Attributes;
}

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const Kind = { server: 2, client: 3 } as const;

export class OtlpReceiver {
  readonly requests: ReceivedRequest[] = [];
  readonly spans: ReceivedSpan[] = [];
  /** The last report of each metric. */
  readonly metrics = new Map<string, ReceivedMetric>();
  readonly #server: Server;
  #wake: (() => void)[] = [];
  /** Answers a request in place of a collector that takes all. */
  answer: ((request: ReceivedRequest, response: ServerResponse) => void) | undefined;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => void receiver.#take(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get servers(): ReceivedSpan[] {
    return this.spans.filter(({ kind }) => kind === Kind.server);
  }

  get clients(): ReceivedSpan[] {
    return this.spans.filter(({ kind }) => kind === Kind.client);
  }

  /** Waits until something has come for which this is no longer undefined. */
  async until<Found>(found: (receiver: OtlpReceiver) => Found | undefined): Promise<Found> {
    for (;;) {
      const result = found(this);
      if (result !== undefined) return result;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** The span of a kind and a name, once it has come. */
  span(kind: keyof typeof Kind, name: string): Promise<ReceivedSpan> {
    return this.until(() => this.spans.find((span) => span.kind === Kind[kind] && span.name === name));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    const received = { path: request.url ?? '', headers: request.headers, body };
    this.requests.push(received);
    if (this.answer !== undefined) this.answer(received, response);
    else {
      this.#read(received);
      response.writeHead(200, { 'content-type': request.headers['content-type'] }).end(isJson(received) ? '{}' : '');
    }
    for (const wake of this.#wake.splice(0)) wake();
  }

  #read(request: ReceivedRequest): void {
    const { path, body } = request;
    const isOfTraces = path.endsWith('/v1/traces');
    const message = isJson(request)
      ? (JSON.parse(body.toString()) as Fields)
      : messageIn(isOfTraces ? 'TracesData' : 'MetricsData', body);
    if (isOfTraces) this.spans.push(...spansIn(message));
    else for (const metric of metricsIn(message)) this.metrics.set(metric.name, metric);
  }
}

const isJson = ({ headers }: ReceivedRequest): boolean => headers['content-type'] === 'application/json';

function list(message: Fields, key: string): Fields[] {
  return (message[key] ?? []) as Fields[];
}

function spansIn(message: Fields): ReceivedSpan[] {
  return list(message, 'resourceSpans').flatMap((group) =>
    list(group, 'scopeSpans').flatMap((scope) =>
      list(scope, 'spans').map((span) => {
        const status = (span.status ?? {}) as Fields;
        return {
          name: String(span.name),
          kind: Number(span.kind),
          traceId: String(span.traceId),
          spanId: String(span.spanId),
          parentSpanId: String(span.parentSpanId ?? ''),
          traceState: String(span.traceState ?? ''),
          startNs: BigInt(span.startTimeUnixNano as string),
          endNs: BigInt(span.endTimeUnixNano as string),
          attributes: attributesIn(span),
          status: { code: Number(status.code ?? 0), message: String(status.message ?? '') },
          events: list(span, 'events').map((event) => ({ name: String(event.name), attributes: attributesIn(event) })),
          resource: attributesIn(group.resource as Fields),
        };
      }),
    ),
  );
}

function metricsIn(message: Fields): ReceivedMetric[] {
  return list(message, 'resourceMetrics').flatMap((group) =>
    list(group, 'scopeMetrics').flatMap((scope) =>
      list(scope, 'metrics').map((metric) => {
        const histogram = metric.histogram as Fields;
        return {
          name: String(metric.name),
          unit: String(metric.unit),
          temporality: Number(histogram.aggregationTemporality),
          points: list(histogram, 'dataPoints').map((point) => ({
            attributes: attributesIn(point),
            count: Number(point.count),
            sum: Number(point.sum),
            bounds: point.explicitBounds as number[],
            buckets: (point.bucketCounts as unknown[]).map(Number),
          })),
          resource: attributesIn(group.resource as Fields),
        };
      }),
    ),
  );
}

function attributesIn(message: Fields): Attributes {
  return Object.fromEntries(
    list(message, 'attributes').map(({ key, value }) => {
      const [kind, plain] = Object.entries(value as Fields)[0] ?? [];
      return [String(key), kind === 'intValue' ? Number(plain) : (plain as string | number | boolean)];
    }),
  );
}
