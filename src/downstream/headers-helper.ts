// A command that prints the headers for a server at a URL, run anew for each connection. What it prints is secret: it
// is never logged, and in no error.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { HeadersHelper, RemoteServer } from '../model/server-definition.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { ByteRing } from '../util/byte-ring.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { childEnvironment, redactEach } from './child-env.ts';
import type { LaunchContext } from './child-process.ts';
import { signalGroup } from './process-group.ts';
import { type HeaderMap, isHeader } from './remote-headers.ts';

export type HelperContext = Pick<LaunchContext, 'environment' | 'cwd' | 'guard' | 'clock'>;

const TIME_LIMIT_MS = 10_000;
const MOST_BYTES = 65_536;
const STDERR_BYTES = 4096;
const LONGEST_LAST_WORDS = 200;

interface Outcome {
  /** What was wrong; undefined if it ended well. */
  readonly problem: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** No headers without a helper. Ended, with its process group, when the signal is given. */
export async function helperHeaders(
  definition: RemoteServer,
  context: HelperContext,
  signal: AbortSignal,
): Promise<HeaderMap> {
  if (definition.headersHelper === undefined || signal.aborted) return {};
  const outcome = await new HelperRun(definition, definition.headersHelper, context).untilOver(signal);
  const read = outcome.problem ?? readHeaders(outcome.stdout);
  if (typeof read !== 'string') return read;
  const { name } = definition;
  throw new BridgeError('SERVER_START_FAILED', `The headersHelper of server ${name} ${read}`, {
    server: name,
    hint: hintFor(outcome),
  });
}

class HelperRun {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #context: HelperContext;
  readonly #printed: Buffer[] = [];
  readonly #stderr = new ByteRing(STDERR_BYTES);
  #printedBytes = 0;
  #problem: string | undefined;

  constructor({ name, url }: RemoteServer, { command, cwd }: HeadersHelper, context: HelperContext) {
    this.#context = context;
    const declared = { CLAUDE_CODE_MCP_SERVER_NAME: name, CLAUDE_CODE_MCP_SERVER_URL: url };
    this.#child = spawn('/bin/sh', ['-c', command], {
      cwd: cwd ?? context.cwd,
      env: childEnvironment(context.environment, declared),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
  }

  async untilOver(signal: AbortSignal): Promise<Outcome> {
    const { clock, guard } = this.#context;
    const { pid } = this.#child;
    const timer = clock.after(TIME_LIMIT_MS, () => this.#end(`did not end within ${TIME_LIMIT_MS / 1000} s`));
    const stop = (): void => this.#end('was stopped');
    signal.addEventListener('abort', stop);
    if (pid !== undefined) guard.add(pid);
    await this.#untilClosed();
    if (pid !== undefined) guard.drop(pid);
    signal.removeEventListener('abort', stop);
    timer.cancel();
    return {
      problem: this.#problem,
      stdout: Buffer.concat(this.#printed).toString('utf8'),
      stderr: this.#stderr.text(),
    };
  }

  #untilClosed(): Promise<void> {
    // Without descriptors for its pipes, spawn gives a child that has none.
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#print(chunk));
    this.#child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    this.#child.on('exit', (code, by) => {
      if (code !== 0) this.#problem ??= by === null ? `exited with code ${code}` : `was ended by ${by}`;
      signalGroup(this.#child.pid, 'SIGKILL'); // what it has left behind would hold the pipes open
    });
    return new Promise((resolve) => {
      this.#child.on('close', () => resolve());
      this.#child.on('error', (error) => {
        this.#problem ??= `could not be started: ${systemCode(error) ?? 'unknown error'}`;
        resolve();
      });
    });
  }

  #print(chunk: Buffer): void {
    this.#printedBytes += chunk.length;
    if (this.#printedBytes > MOST_BYTES) return this.#end(`printed more than ${MOST_BYTES} bytes`);
    this.#printed.push(chunk);
  }

  #end(problem: string): void {
    this.#problem ??= problem;
    signalGroup(this.#child.pid, 'SIGKILL');
    // Someone outside its group may hold the pipes for ever.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }
}

/** The headers, or what is wrong with the text. */
function readHeaders(text: string): HeaderMap | string {
  let headers: unknown;
  try {
    headers = JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    return 'did not print JSON';
  }
  if (!isRecord(headers)) return 'did not print a JSON object';
  const entries = Object.entries(headers);
  if (!entries.every(([, value]) => typeof value === 'string')) return 'printed a header whose value is not a string';
  if (!entries.every(([name, value]) => isHeader(name, textOf(value))))
    return 'printed a header that HTTP does not allow';
  return headers as HeaderMap;
}

/** Its last line on stderr, without any word of what it has printed. */
function hintFor({ stdout, stderr }: Outcome): string {
  const words = stdout.split(/[\s"',:{}[\]]+/).map((word) => ['output', word] as const);
  const last = redactEach(stderr.trimEnd().split('\n').at(-1) ?? '', words);
  const shown = last.replace(/\p{Cc}/gu, '').slice(0, LONGEST_LAST_WORDS);
  if (shown === '') return 'It must print a JSON object of headers, each a string, and exit with 0.';
  return `Its last words were: ${shown}`;
}
