// `mcp-bridge call`: runs a tool, shows its progress, and prints its answer.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as textFrom } from 'node:stream/consumers';
import type { Answer, LogMessage, Progress, ToolClient } from '../../client/tool-client.ts';
import { BridgeError, messageOf, systemCode } from '../../util/bridge-error.ts';
import { printableJson } from '../../util/printable.ts';
import { DONE, FAILED, INTERRUPTED, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { patiently, timeoutIn } from '../patience.ts';
import { daemonCodeOf } from '../refused.ts';
import { type Blob, type Block, blobLine, callResult, shown } from '../render/call-result.ts';
import { ProgressLine, type Spinner, waitingFor } from '../render/spinner.ts';
import { hasPerson } from '../render/terminal.ts';
import { checkOut, STDOUT, saveBlobs, saveText } from '../saved-blobs.ts';
import { argumentsFrom, argumentsIn } from '../tool-arguments.ts';
import { ask, helpHint, ofCommand, type ToolCommandValues, withTools, wrongUsage } from '../tool-session.ts';

export interface CallValues extends ToolCommandValues {
  readonly server: string;
  readonly tool: string;
  readonly arguments?: readonly string[] | undefined;
  readonly args?: string | undefined;
  readonly 'args-file'?: string | undefined;
  readonly stdin?: boolean | undefined;
  readonly out?: string | undefined;
  readonly timeout?: string | undefined;
}

export async function call(values: CallValues, host: CliHost): Promise<number> {
  const timeoutMs = timeoutIn(values.timeout, 'call');
  checkOut(values.out, host.cwd);
  const given = await givenArguments(values, host);
  const line = new ProgressLine(values.tool, host);
  const use = async (client: ToolClient, spinner: Spinner) => {
    try {
      return await run(values, given, { client, host, timeoutMs, spinner, line });
    } catch (error) {
      throw asUsageError(error, values);
    }
  };
  const answer = await withTools(values, host, use, {
    onElicit: questionsFor(values, line, host),
  });
  return answer === undefined ? INTERRUPTED : print(answer, values, host);
}

/** Lets the server ask a person at a terminal. In a script nobody can answer. */
function questionsFor(
  { stdin }: CallValues,
  line: ProgressLine,
  host: CliHost,
): ((params: unknown) => Promise<object | undefined>) | undefined {
  if (stdin === true || !hasPerson(host)) return undefined;
  return async (params) => {
    const { answered } = await import('../elicitation.ts');
    return line.heldFor(answered(params, host));
  };
}

interface Running {
  readonly client: ToolClient;
  readonly host: CliHost;
  readonly timeoutMs: number | undefined;
  readonly spinner: Spinner;
  readonly line: ProgressLine;
}

/** Makes the call; undefined if the person has stopped it. */
async function run(values: CallValues, given: string | undefined, { client, host, timeoutMs, spinner, line }: Running) {
  const { server, tool, arguments: pairs = [] } = values;
  let isSilent = true;
  const waiting = (): string => (isSilent ? waitingFor([server]) : '');
  /** A message of the server replaces the waiting line. */
  const heard = <Said>(say: (said: Said) => void) => {
    return (said: Said): void => {
      isSilent = false;
      spinner.clear();
      say(said);
    };
  };
  const onProgress = heard((progress: Progress) => line.show(progress));
  const onLog = heard((message: LogMessage) => line.log(message));
  try {
    const run = async (signal: AbortSignal) => {
      const asked = ask(client, 'get_tool_details', { server, tool }, signal);
      const { inputSchema, changed, taskSupport } = await asked.catch(unknownDetails);
      const args = given ?? argumentsFrom(pairs, { server, tool, inputSchema });
      if (changed === true) host.stderr.write(changedLine(values));
      const wanted = `{"server":${JSON.stringify(server)},"tool":${JSON.stringify(tool)},"arguments":${args}}`;
      const options = { onProgress, onLog, signal, isAct: true };
      if (taskSupport === 'required') return client.callAsTask('execute_tool', wanted, options);
      return client.callTool('execute_tool', wanted, options);
    };
    return await spinner.during(waiting, patiently({ host, timeoutMs }, run));
  } finally {
    line.clear();
  }
}

const changedLine = ({ server, tool }: CallValues): string =>
  lineFor(
    new BridgeError('TOOL_CHANGED', `Tool ${tool} has changed since it was first seen or accepted`, {
      hint: `mcp-bridge tools ${server} --changed`,
    }),
  );

/** Ignores an error about a tool's details: the call is made anyway, so that it is refused and recorded. */
function unknownDetails(error: unknown): Readonly<Record<string, unknown>> {
  // A call would start the server again that has just failed to start.
  if (FAILED_SERVER.has(daemonCodeOf(error))) throw error;
  if (error instanceof BridgeError && error.code === 'REQUEST_REFUSED') return { inputSchema: UNKNOWN_SCHEMA };
  throw error;
}

const FAILED_SERVER: ReadonlySet<string> = new Set(['SERVER_START_FAILED', 'SERVER_CRASHED', 'SERVER_BROKEN']);
const UNKNOWN_SCHEMA = { additionalProperties: { type: ['string', 'array'] } };

/** Reports arguments that do not fit as wrong usage, whether the bridge or the server rejects them. */
function asUsageError(error: unknown, { server, tool }: CallValues): unknown {
  if (!(error instanceof BridgeError)) return error;
  if (error.code !== 'USAGE' && daemonCodeOf(error) !== 'TOOL_ARGUMENTS_INVALID') return error;
  const { message, hint, cause } = error;
  const see = `See: mcp-bridge describe ${server} ${tool}`;
  const isOwn = error.code === 'USAGE' && hint !== undefined && hint !== see && hint !== helpHint('call');
  const own = isOwn ? `${hint} ` : '';
  return new BridgeError('USAGE', message, { hint: `${own}${see}`, cause });
}

// --- its arguments ---

/** The arguments as JSON; undefined if they are given one by one. */
async function givenArguments(values: CallValues, host: CliHost): Promise<string | undefined> {
  const { arguments: pairs = [], args, 'args-file': file, stdin } = values;
  const ways = [pairs.length > 0, args !== undefined, file !== undefined, stdin === true];
  if (ways.filter(Boolean).length > 1 || [args, file].some(Array.isArray))
    throw wrongUsage('call', 'Arguments come in one way: KEY=VALUE, --args, --args-file or -');
  const read = (text: string, from: string): string => ofCommand('call', () => argumentsIn(text, from));
  if (stdin === true) return read(await textFrom(host.stdin), 'What comes from stdin');
  if (file !== undefined) return read(readArguments(resolve(host.cwd, file)), file);
  return args === undefined ? undefined : read(args, '--args');
}

function readArguments(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw wrongUsage('call', `Cannot read ${path}: ${systemCode(error) ?? messageOf(error)}`);
  }
}

// --- its answer ---

function print(answer: Answer, { json, out }: CallValues, host: CliHost): number {
  const { isError, blocks } = callResult(answer.result);
  const isSaved = out !== undefined && !isError;
  // Content that goes to a file, or alone to stdout, is not printed as well.
  const savesText = isSaved && !blocks.some(({ kind }) => kind === 'blob');
  const stream = isError && json !== true ? host.stderr : isSaved && out === STDOUT ? host.stderr : host.stdout;
  if (json === true) stream.write(`${printableJson(answer.text())}\n`);
  else if (!savesText) show(blocks, stream, isSaved);
  if (isSaved) save(blocks, out, host);
  return isError ? FAILED : DONE;
}

function show(blocks: readonly Block[], stream: CliHost['stdout'], isSaved: boolean): void {
  const isTerminal = isTerminalOf(stream);
  for (const block of blocks) {
    if (block.kind === 'text') stream.write(shown(block.text, isTerminal));
    else if (block.kind === 'note') stream.write(`${block.text}\n`);
    else if (!isSaved) stream.write(`${blobLine(block)}; --out FILE saves it\n`);
  }
}

const isTerminalOf = (stream: CliHost['stdout']): boolean => (stream as { readonly isTTY?: boolean }).isTTY === true;

/** Saves images, audio and files; if the answer has none, its text. */
function save(blocks: readonly Block[], out: string, host: CliHost): void {
  if (blocks.length === 0) throw new BridgeError('FILE_UNUSABLE', 'Nothing was saved: the answer is empty');
  const blobs = blocks.filter((block) => block.kind === 'blob');
  if (out === STDOUT) return writeOut(blocks, blobs, host);
  const lines = blobs.length > 0 ? saveBlobs(blobs, out, host.cwd) : [saveText(textOf(blocks), out, host.cwd)];
  for (const line of lines) host.stderr.write(`${line}\n`);
}

/** Writes an answer to a pipe. */
function writeOut(blocks: readonly Block[], blobs: readonly Blob[], host: CliHost): void {
  const [blob] = blobs;
  const isTerminal = isTerminalOf(host.stdout);
  if (blob === undefined) {
    const text = textOf(blocks);
    host.stdout.write(isTerminal ? shown(text, true) : text);
    return;
  }
  const problem = blobs.length > 1 ? 'there are several' : isTerminal ? 'it is no text, and this is a terminal' : '';
  if (problem !== '')
    throw new BridgeError('FILE_UNUSABLE', `Nothing was written: ${problem}`, { hint: '--out FILE saves it.' });
  host.stdout.write(blob.bytes);
}

/** A single text unchanged; several texts with a line end after each. */
function textOf(blocks: readonly Block[]): string {
  const texts = blocks.flatMap((block) => (block.kind === 'blob' ? [] : block.text));
  return texts.length === 1 ? (texts[0] ?? '') : texts.map((text) => shown(text, false)).join('');
}
