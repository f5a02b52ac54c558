// The headers for a server at a URL: those of its definition, the user in its URL, and those that its headersHelper
// prints, a command that runs for each connection. All of them are secret: they are never logged, and never part of an
// error.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { HeadersHelper, RemoteServer } from '../model/server-definition.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { ByteRing } from '../util/byte-ring.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { decoded } from '../util/given-secrets.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { fillIn } from '../util/variables.ts';
import { signalGroup } from './process-groups.ts';
import { redactEach } from './server-output.ts';
import { childEnvironment, type Environment, type LaunchContext } from './server-process.ts';

export type HeaderMap = Readonly<Record<string, string>>;

/** The headers of the definition with their variables filled in. The variables are added to `used`. */
export function configuredHeaders(
  { name: server, headers, isFilledIn }: RemoteServer,
  environment: Environment,
  used: Map<string, string>,
): HeaderMap {
  const filled = Object.entries(headers).map(([name, value]) => {
    const place = `The header ${name} of server ${server}`;
    const text = isFilledIn ? value : fillIn(value, environment, place, used);
    if (!isHeader(name, text))
      throw new BridgeError('SERVER_START_FAILED', `${place} is not a header that HTTP allows`, { server });
    return [name, text] as const;
  });
  return Object.fromEntries(filled);
}

/** Names and values by RFC 9110, 5.1 and 5.5. Node's own check would load `node:http` with the daemon. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** True if HTTP can carry the header. `fetch` would repeat a bad value in its error. */
export function isHeader(name: string, value: string): boolean {
  return NAME.test(name) && VALUE.test(value);
}

/** All headers of the maps. If names are equal except for case, the later one wins. */
export function mergedHeaders(...maps: readonly HeaderMap[]): HeaderMap {
  const merged = new Headers();
  for (const map of maps) for (const [name, value] of Object.entries(map)) merged.set(name, value);
  return Object.fromEntries(merged);
}

/** The URL without user and password, and a header with them: `fetch` refuses a URL that contains them. */
export function urlWithUser(url: string): { readonly url: string; readonly authorization: string | undefined } {
  const bare = parsedUrl(url);
  if (bare === undefined) return { url, authorization: undefined };
  const { username, password } = bare;
  if (username === '' && password === '') return { url, authorization: undefined };
  bare.username = '';
  bare.password = '';
  const user = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64');
  return { url: bare.href, authorization: `Basic ${user}` };
}

export type HelperContext = Pick<LaunchContext, 'environment' | 'cwd' | 'guard' | 'clock'>;

const TIME_LIMIT_MS = 10_000;
const MOST_BYTES = 65_536;
const STDERR_BYTES = 4096;
const LONGEST_LAST_WORDS = 200;

interface Outcome {
  /** The problem, as the end of a sentence; undefined if the helper ended well. */
  readonly problem: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the headersHelper, if there is one. The signal ends it, with its process group. */
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
    // If no descriptors are left, spawn returns a child without pipes.
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#print(chunk));
    this.#child.stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    this.#child.on('exit', (code, by) => {
      if (code !== 0) this.#problem ??= by === null ? `exited with code ${code}` : `was ended by ${by}`;
      signalGroup(this.#child.pid, 'SIGKILL'); // remaining processes would keep the pipes open
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
    // A process outside its group may keep the pipes open for ever.
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }
}

/** The headers in the text, or what is wrong with it. */
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

/** The helper's last line on stderr, without any word that it printed on stdout. */
function hintFor({ stdout, stderr }: Outcome): string {
  const words = stdout.split(/[\s"',:{}[\]]+/).map((word) => ['output', word] as const);
  const last = redactEach(stderr.trimEnd().split('\n').at(-1) ?? '', words);
  const shown = last.replace(/\p{Cc}/gu, '').slice(0, LONGEST_LAST_WORDS);
  if (shown === '') return 'It must print a JSON object of headers, each a string, and exit with 0.';
  return `Its last words were: ${shown}`;
}
