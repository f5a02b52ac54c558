// Answers other daemons that ask if this one is present, and asks them the same: it measures the distance to a host,
// and checks that the daemon of its name is alive. The three questions of NATS' own tools for services ($SRV.PING,
// INFO, STATS) get the same answer, so `nats micro ls` shows each daemon.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../util/clock.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { membersOf } from '../util/json-value.ts';
import type { Bus } from './bus.ts';
import { isInbox, pingSubject, tokenOf } from './subject.ts';

const NAME = 'mcp-bridge';
const VERBS = ['PING', 'INFO', 'STATS'] as const;
const PATIENCE_MS = 1000;
const MOST_ANSWER_BYTES = 16 * 1024;

interface ServiceOptions {
  readonly bus: Bus;
  readonly tenant: string;
  readonly user: string;
  readonly run: string;
  readonly version: string;
  readonly host: string;
  /** Returns the number of calls of other hosts since the start. */
  readonly calls: () => number;
  /** Returns the number of unanswered calls, without those that only listen. */
  readonly openCalls: () => number;
  readonly startedAt: string;
}

/** One run of the daemon of a host. */
export interface AskedHost {
  readonly host: string;
  readonly run: string;
}

/** The answer of another daemon to a PING. */
export interface ServiceAnswer {
  readonly latencyMs: number;
  /** The number of calls that it works on for other hosts, as it says. */
  readonly calls: number;
}

export class ServiceAnswers {
  readonly #options: ServiceOptions;
  readonly #ends: (() => void)[];

  constructor(options: ServiceOptions) {
    this.#options = options;
    const { tenant, host, run } = options;
    this.#ends = [
      // Under NATS permissions, only a daemon that may use its host's name hears this subject.
      this.#listen(pingSubject({ tenant, user: '*', host }, run), 'PING'),
      ...VERBS.flatMap((verb) =>
        [`$SRV.${verb}`, `$SRV.${verb}.${NAME}`, `$SRV.${verb}.${NAME}.${run}`].map((subject) =>
          this.#listen(subject, verb),
        ),
      ),
    ];
  }

  #listen(subject: string, verb: (typeof VERBS)[number]): () => void {
    const { bus } = this.#options;
    return bus.subscribe(subject, ({ reply }) => {
      if (reply !== undefined && isInbox(reply))
        bus.publish({ subject: reply, headers: {}, data: Buffer.from(this.#answer(verb)) });
    });
  }

  #answer(verb: (typeof VERBS)[number]): string {
    const { run, version, host, calls, openCalls, startedAt } = this.#options;
    const of = {
      type: `io.nats.micro.v1.${verb.toLowerCase()}_response`,
      name: NAME,
      id: run,
      version,
      metadata: { host, calls: `${openCalls()}` },
    };
    const endpoint = { name: 'mcp', subject: 'mcp.v1.req.>', queue_group: '' };
    switch (verb) {
      case 'PING':
        return JSON.stringify(of);
      case 'INFO':
        return JSON.stringify({
          ...of,
          description: `MCP servers of ${host}`,
          endpoints: [{ ...endpoint, metadata: {} }],
        });
      case 'STATS': {
        const counts = {
          num_requests: calls(),
          num_errors: 0,
          last_error: '',
          processing_time: 0,
          average_processing_time: 0,
        };
        return JSON.stringify({ ...of, started: startedAt, endpoints: [{ ...endpoint, ...counts }] });
      }
    }
  }

  /** Asks each of these daemons if it is present. A run that does not answer soon is missing in the result. */
  async ask(hosts: readonly AskedHost[], clock: Clock): Promise<ReadonlyMap<string, ServiceAnswer>> {
    const { bus, tenant, user, host: own } = this.#options;
    const found = new Map<string, ServiceAnswer>();
    const missing = new Set(hosts.map(({ run }) => run));
    if (missing.size === 0) return found;
    const inbox = `_INBOX.${tokenOf(own)}.${randomBytes(12).toString('base64url')}`;
    let done: () => void = () => undefined;
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    const beganMs = clock.now();
    const end = bus.subscribe(`${inbox}.*`, ({ subject, isUnheard, data }) => {
      const run = hosts[Number(subject.slice(inbox.length + 1))]?.run;
      if (run === undefined || !missing.delete(run)) return;
      const latencyMs = Math.round((clock.now() - beganMs) * 100) / 100;
      if (!isUnheard) found.set(run, { latencyMs, calls: callsIn(data) });
      if (missing.size === 0) done();
    });
    for (const [i, { host, run }] of hosts.entries()) {
      const subject = pingSubject({ tenant, user, host }, run);
      bus.publish({ subject, reply: `${inbox}.${i}`, headers: {}, data: Buffer.alloc(0) });
    }
    const patience = clock.after(PATIENCE_MS, done);
    await all;
    patience.cancel();
    end();
    return found;
  }

  close(): void {
    for (const end of this.#ends) end();
  }
}

function callsIn(data: Uint8Array): number {
  if (data.length > MOST_ANSWER_BYTES) return 0;
  try {
    const { metadata } = membersOf(JSON.parse(Buffer.from(data).toString()));
    return Math.max(0, Math.trunc(Number(membersOf(metadata).calls))) || 0;
  } catch (error) {
    expectSyntaxError(error);
    return 0;
  }
}
