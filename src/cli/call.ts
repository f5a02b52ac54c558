// `mcp-bridge call`: runs a tool, shows how it goes on, and prints what it answers.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { text as textFrom } from 'node:stream/consumers';
import type { Answer, LogMessage, Progress, ToolClient } from '../client/tool-client.ts';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { type Blob, blobLine, callResult, shown } from './call-result.ts';
import { DONE, FAILED, INTERRUPTED, lineFor } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { patiently, timeoutIn } from './patience.ts';
import { ProgressLine } from './progress-line.ts';
import { daemonCodeOf } from './refused.ts';
import { checkOut, saveBlobs } from './saved-blobs.ts';
import { argumentsFrom, argumentsIn } from './tool-arguments.ts';
import { ask, ofVerb, type ToolVerbValues, withTools, wrongUsage } from './tool-session.ts';

export interface CallValues extends ToolVerbValues {
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
  const answer = await withTools(values, host, async (client) => {
    try {
      return await runGiven(values, given, { client, host, timeoutMs });
    } catch (error) {
      throw asMisfit(error, values);
    }
  });
  return answer === undefined ? INTERRUPTED : print(answer, values, host);
}

async function runGiven(values: CallValues, given: string | undefined, running: Running): Promise<Answer | undefined> {
  const { server, tool, arguments: pairs = [] } = values;
  const { client, host } = running;
  const asked = ask(client, 'get_tool_details', { server, tool });
  if (given === undefined) {
    const { inputSchema, changed } = await asked.catch(unknownDetails);
    const args = argumentsFrom(pairs, { server, tool, inputSchema });
    if (changed === true) host.stderr.write(changedLine(values));
    return run(values, args, running);
  }
  const told = asked.then(
    ({ changed }) => changed === true && host.stderr.write(changedLine(values)),
    () => undefined, // the call says it
  );
  const answer = await run(values, given, running);
  if (answer !== undefined) await told;
  return answer;
}

const changedLine = ({ server, tool }: CallValues): string =>
  lineFor(
    new BridgeError('TOOL_CHANGED', `Tool ${tool} has changed since it was first seen or accepted`, {
      hint: `mcp-bridge tools ${server} --changed`,
    }),
  );

/** Of a tool whose details are refused, the call is what is to be refused, and recorded: it is made with what there is. */
function unknownDetails(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof BridgeError && error.code === 'REQUEST_REFUSED') return { inputSchema: UNKNOWN_SCHEMA };
  throw error;
}

const UNKNOWN_SCHEMA = { additionalProperties: { type: ['string', 'array'] } };

/** Arguments that do not fit are wrong usage, whoever has found it. */
function asMisfit(error: unknown, { server, tool }: CallValues): unknown {
  if (!(error instanceof BridgeError)) return error;
  if (error.code !== 'USAGE' && daemonCodeOf(error) !== 'TOOL_ARGUMENTS_INVALID') return error;
  const { message, hint = '', cause } = error;
  const see = `See: mcp-bridge describe ${server} ${tool}`;
  const own = /^(?:$|See: |get_tool_details )/.test(hint) ? '' : `${hint} `;
  return new BridgeError('USAGE', message, { hint: `${own}${see}`, cause });
}

// --- its arguments ---

/** Those that are given as JSON; undefined if they are given one by one. */
async function givenArguments(values: CallValues, host: CliHost): Promise<string | undefined> {
  const { arguments: pairs = [], args, 'args-file': file, stdin } = values;
  const ways = [pairs.length > 0, args !== undefined, file !== undefined, stdin === true];
  if (ways.filter(Boolean).length > 1 || [args, file].some(Array.isArray))
    throw wrongUsage('call', 'Arguments come in one way: KEY=VALUE, --args, --args-file or -');
  const read = (text: string, from: string): string => ofVerb('call', () => argumentsIn(text, from));
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

// --- the call ---

interface Running {
  readonly client: ToolClient;
  readonly host: CliHost;
  readonly timeoutMs: number | undefined;
}

/** Undefined if the person has ended it. */
async function run(
  { server, tool }: CallValues,
  args: string,
  { client, host, timeoutMs }: Running,
): Promise<Answer | undefined> {
  const line = new ProgressLine(tool, host);
  const wanted = `{"server":${JSON.stringify(server)},"tool":${JSON.stringify(tool)},"arguments":${args}}`;
  const onProgress = (progress: Progress): void => line.show(progress);
  const onLog = (message: LogMessage): void => line.log(message);
  try {
    return await patiently({ host, timeoutMs }, (signal) =>
      client.callTool('execute_tool', wanted, { onProgress, onLog, signal }),
    );
  } finally {
    line.clear();
  }
}

// --- its answer ---

function print(answer: Answer, { json, out }: CallValues, host: CliHost): number {
  const { isError, blocks } = callResult(answer.result);
  const stream = isError && json !== true ? host.stderr : host.stdout;
  const isTerminal = (stream as { readonly isTTY?: boolean }).isTTY === true;
  if (json === true) stream.write(`${answer.text()}\n`);
  for (const block of json === true ? [] : blocks) {
    if (block.kind === 'text') stream.write(shown(block.text, isTerminal));
    else if (block.kind === 'note') stream.write(`${block.text}\n`);
    else if (out === undefined) stream.write(`${blobLine(block)}; --out FILE saves it\n`);
  }
  if (out !== undefined && !isError)
    save(
      blocks.filter((block) => block.kind === 'blob'),
      out,
      host,
    );
  return isError ? FAILED : DONE;
}

function save(blobs: readonly Blob[], out: string, host: CliHost): void {
  if (blobs.length === 0)
    throw new BridgeError('FILE_UNUSABLE', 'Nothing was saved: the answer has no image, audio or file');
  for (const line of saveBlobs(blobs, out, host.cwd)) host.stderr.write(`${line}\n`);
}
