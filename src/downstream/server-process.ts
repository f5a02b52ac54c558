// One running process of a server: its group, pipes, end, and environment. It never outlives the daemon, and gets only
// those variables of the daemon's environment that INHERITED names.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { Events } from '../core/events.ts';
import { DEPTH_VARIABLE, nextDepth } from '../local/bridge-depth.ts';
import { checkDescriptors } from '../local/descriptors.ts';
import type { Limits } from '../model/limits.ts';
import type { StdioServer } from '../model/server-definition.ts';
import { systemCode } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Link } from '../wire/link.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import { StreamLink } from '../wire/stream-link.ts';
import type { ServerConnection } from './connection.ts';
import { type OrphanGuard, signalGroup } from './process-groups.ts';
import { ServerOutput } from './server-output.ts';

export interface LaunchContext {
  readonly environment: Environment;
  readonly cwd: string;
  readonly guard: OrphanGuard;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  /** Shares each turn of the event loop between all servers. */
  readonly pacer: ReadPacer;
  readonly maxFrameBytes: number;
  readonly limits: Limits;
  readonly events: Events;
  /** Takes an error of the bridge in an event of the process. */
  readonly failed: (error: unknown) => void;
}

/** Time between the end of a process's input and SIGTERM. */
const INPUT_GRACE_MS = 500;
/** The wait for a process's last output after its end. A grandchild may keep the pipe open for ever. */
const OUTPUT_GRACE_MS = 200;

/** An error with a code, as from a system call. */
class SpawnError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(`spawn: ${code}`);
    this.code = code;
  }
}

export class ServerProcess implements ServerConnection {
  readonly link: Link;
  /** Resolves with a sentence on how the process ended, once its output has been read. Never rejects. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly output: ServerOutput;
  readonly #context: LaunchContext;
  #hasExited = false;
  #wasKilled = false;

  readonly #server: string;

  constructor(definition: StdioServer, context: LaunchContext) {
    this.#server = definition.name;
    this.#context = context;
    checkDescriptors();
    if (definition.dataDir !== undefined) mkdirSync(definition.dataDir, { recursive: true, mode: 0o700 });
    this.#child = spawn(definition.command, definition.args, {
      cwd: definition.cwd ?? definition.dir ?? context.cwd,
      env: childEnvironment(context.environment, definition.env),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child.on('error', () => undefined); // #watch handles it; until then an unhandled 'error' would end the daemon
    this.output = new ServerOutput(definition, this.pid);
    const { stdin, stdout, stderr } = this.#child;
    // If no descriptors are left, spawn returns a child without pipes and reports the error one tick later.
    if (!stdin || !stdout || !stderr) throw new SpawnError('EMFILE');
    if (this.pid !== undefined) context.guard.add(this.pid);
    // A process blocks after about 96 KB if nobody reads its stderr.
    stderr.on('data', (chunk: Buffer) => this.#contain(() => this.output.push(chunk))).on('error', () => undefined);
    this.link = new StreamLink(stdout, stdin, context);
    this.ended = this.#watch(stdout);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get wasOpen(): boolean {
    return this.pid !== undefined;
  }

  lastWords(): string {
    return this.output.lastWords();
  }

  lastLine(): string {
    return this.output.lastLine();
  }

  safe(text: string): string {
    return this.output.safe(text);
  }

  /** Ends the process and its whole group; resolves when it is gone. */
  async stop(): Promise<void> {
    this.#child.stdin.end();
    const term = this.#context.clock.after(INPUT_GRACE_MS, () => signalGroup(this.pid, 'SIGTERM'));
    const kill = this.#context.clock.after(INPUT_GRACE_MS + this.#context.limits.termGraceMs, () => this.#kill());
    await this.ended;
    term.cancel();
    kill.cancel();
  }

  /** Ends the group at once. Counted once, even if dead processes of the group are still in the process table. */
  #kill(): void {
    if (!signalGroup(this.pid, 'SIGKILL') || this.#wasKilled) return;
    this.#wasKilled = true;
    this.#context.events.incident.tell('serversKilled', this.#server);
  }

  #watch(stdout: Readable): Promise<string> {
    return new Promise((resolve) => {
      let how = '';
      const finish = (): void => {
        this.output.end();
        stdout.destroy();
        resolve(how);
      };
      const exited = (sentence: string): void => {
        if (this.#hasExited) return;
        this.#hasExited = true;
        how = sentence;
        this.#context.clock.after(OUTPUT_GRACE_MS, finish); // first, so that the end is reported even if something below fails
        this.#sweepGroup();
        this.link.resume(); // a slow client must not delay its last output
        if (stdout.readableEnded || stdout.destroyed) return finish();
        stdout.once('end', finish);
      };
      this.#child.on('error', (error) =>
        this.#contain(() => exited(`could not be started: ${systemCode(error) ?? 'unknown error'}`)),
      );
      this.#child.on('exit', (code, signal) =>
        this.#contain(() => exited(signal === null ? `exited with code ${code}` : `was ended by ${signal}`)),
      );
    });
  }

  /** Runs a task and catches its errors: in an event handler they would end the daemon. */
  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#context.failed(error);
    }
  }

  /** Ends remaining processes of the group. */
  #sweepGroup(): void {
    const { pid } = this;
    if (pid === undefined) return;
    if (!signalGroup(pid, 'SIGTERM')) return this.#context.guard.drop(pid);
    this.#context.clock.after(this.#context.limits.termGraceMs, () => {
      this.#kill();
      this.#context.guard.drop(pid);
    });
  }
}

/** Variables for proxies and trusted certificates. */
const OF_THE_NETWORK = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
];

/** Everything that a server inherits from the daemon: what programs need to run, but no tokens or keys. */
const INHERITED = [
  ...OF_THE_NETWORK,
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
];

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of a child: INHERITED, and the variables that the definition declares. */
export function childEnvironment(own: Environment, declared: Readonly<Record<string, string>>): Record<string, string> {
  const inherited = INHERITED.flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const depth = nextDepth(own[DEPTH_VARIABLE]) ?? own[DEPTH_VARIABLE];
  return { ...Object.fromEntries(inherited), ...declared, [DEPTH_VARIABLE]: String(depth) };
}
