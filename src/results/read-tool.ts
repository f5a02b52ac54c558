// The tool `read_result`, with which a model reads the parts that were cut off, and the resource with the whole result.
// Both see only the results of the asking client.

import { StringDecoder } from 'node:string_decoder';
import type { Call, ClientRequest } from '../core/call.ts';
import { namedPlan } from '../core/call-plan.ts';
import { FairTurns } from '../core/fair-turns.ts';
import type { BridgeTools, JoinedView } from '../core/joined-view.ts';
import type { ListedItem } from '../core/listed-item.ts';
import type { PendingRequests } from '../core/pending-requests.ts';
import type { Session } from '../core/session.ts';
import { faultsIn, givenIn, type ToolTerms, toolItemsOf } from '../meta-tools/meta-tools.ts';
import { toolError } from '../meta-tools/tool-refusal.ts';
import type { ResultsSettings } from '../model/settings.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import { contentAt } from './content.ts';
import { type KeptResult, type KeptResults, ownerOf } from './kept-results.ts';
import type { ReadArguments, ReadableResult } from './reading.ts';
import { DEFAULT_MOST_BYTES, mostBytesIn, RESULT_URI } from './result-cutter.ts';

export const READ_RESULT = 'read_result';

export const READ_TERMS: ToolTerms = {
  description: 'Read the rest of a result that was cut. Its last lines say its id and where to go on.',
  parameters: {
    id: { type: 'string', isNeeded: true },
    offset: { type: 'number', description: 'Where to go on' },
    limit: { type: 'number', description: 'Bytes at most' },
    find: { type: 'string', description: 'Only lines with this text' },
    path: { type: 'string', description: 'Only this value of its JSON: items[0].name, items[*].id' },
  },
  onlyReads: true,
};

const ITEMS = toolItemsOf({ [READ_RESULT]: READ_TERMS });
const NO_ITEMS: readonly ListedItem[] = [];
const NAME_TEXT = JSON.stringify(READ_RESULT);
/** The limit of a page if the config has none. */
const LONGEST_PAGE = DEFAULT_MOST_BYTES;
const LONGEST_FIND = 500;
const LONGEST_PATH = 1000;

interface ReadToolContext {
  readonly settings: () => ResultsSettings;
  readonly kept: KeptResults;
  /** Resolves when all others have had a turn. */
  readonly pause: () => Promise<void>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Makes the tool for each view. */
export class ResultReading {
  readonly #context: ReadToolContext;
  readonly #turns = new FairTurns();

  constructor(context: ReadToolContext) {
    this.#context = context;
  }

  toolsOf(view: JoinedView): BridgeTools {
    const most = (): number => mostBytesIn(view.name, this.#context.settings());
    return new ReadTool({ ...this.#context, pending: view.pending, turns: this.#turns, most });
  }
}

interface OneViewContext extends ReadToolContext {
  readonly pending: PendingRequests;
  readonly turns: FairTurns;
  /** The view's limit for results, which also limits pages; 0 for none. */
  readonly most: () => number;
}

class ReadTool implements BridgeTools {
  readonly #context: OneViewContext;

  constructor(context: OneViewContext) {
    this.#context = context;
  }

  get items(): readonly ListedItem[] {
    return this.#context.most() === 0 ? NO_ITEMS : ITEMS;
  }

  get hasResources(): boolean {
    return this.#context.most() !== 0;
  }

  call(session: Session, request: ClientRequest, envelope: Envelope): boolean {
    const { b } = request.frame;
    if (!envelope.has(Field.name) || envelope.raw(b, Field.name) !== NAME_TEXT || !this.#isOf(session)) return false;
    const { arguments: args = {} } = membersOf(envelope.decode(b, Field.params));
    const call = this.#context.pending.open(session, request, envelope, namedPlan('call', false, errorOf));
    if (call === undefined) return true;
    const read = (): Promise<string> => this.#read(call, argumentsIn(args, this.#context.most() || LONGEST_PAGE));
    this.#later(call, request, read, (text) => call.output.answer(call.idText, textResult(text)));
    return true;
  }

  /** True while results are cut, or while one that was cut is still kept. */
  #isOf(session: Session): boolean {
    return this.#context.most() !== 0 || this.#context.kept.hasAnyOf(ownerOf(session));
  }

  readResource(session: Session, request: ClientRequest, envelope: Envelope): boolean {
    const uri = envelope.has(Field.uri) ? envelope.decode(request.frame.b, Field.uri) : undefined;
    if (typeof uri !== 'string' || !uri.startsWith(RESULT_URI)) return false;
    const call = this.#context.pending.open(session, request, envelope);
    if (call === undefined) return true;
    const read = async (): Promise<Buffer> => {
      const kept = this.#context.kept.find(ownerOf(session), uri.slice(RESULT_URI.length));
      if (kept === undefined) throw new BridgeError('RESOURCE_NOT_FOUND', 'There is no such result of this client');
      return resourceOf(uri, await this.#wholeOf(kept), this.#pauseFor(call));
    };
    this.#later(call, request, read, (result) => call.output.answerBytes(call.idText, result));
    return true;
  }

  /** Answers a call when its turn has come. */
  #later<Read>(call: Call, request: ClientRequest, read: () => Promise<Read>, answer: (read: Read) => void): void {
    const { pending, turns } = this.#context;
    const outcome: { value?: Read } = {};
    const known = turns.run(ownerOf(call.session), async () => {
      if (isOpen(call)) outcome.value = await read();
    });
    pending.later(call, request, known, () => {
      const { value } = outcome;
      if (value !== undefined) pending.answer(call, () => answer(value));
    });
  }

  async #read(call: Call, { id, ...args }: NamedArguments): Promise<string> {
    const kept = this.#context.kept.find(ownerOf(call.session), id);
    if (kept === undefined) throw noSuchResult(id);
    const whole = await this.#wholeOf(kept);
    const { readWhole } = await import('./reading.ts');
    return readWhole(whole, args, this.#pauseFor(call));
  }

  #pauseFor(call: Call): () => Promise<void> {
    return async () => {
      await this.#context.pause();
      if (!isOpen(call)) throw new BridgeError('CLIENT_GONE', 'Nobody waits for the answer');
    };
  }

  async #wholeOf(kept: KeptResult): Promise<ReadableResult> {
    const bytes = await this.#context.kept.bytesOf(kept);
    if (bytes === undefined) throw noSuchResult(kept.id);
    return { bytes, parts: contentAt(bytes, kept.at, kept.structured)?.parts ?? [], structured: kept.structured };
  }
}

/** True while somebody waits for the answer. */
function isOpen(call: Call): boolean {
  return call.session.calls.get(call.id) === call;
}

interface NamedArguments extends ReadArguments {
  readonly id: string;
}

/** Reads the arguments; throws an error that says what is wrong. */
function argumentsIn(said: unknown, most: number): NamedArguments {
  if (!isRecord(said)) throw badArguments(['params.arguments must be an object']);
  const args = givenIn(said, READ_TERMS);
  const faults = faultsIn(args, READ_TERMS);
  const { id, find, path } = args;
  if (find === '' || (typeof find === 'string' && find.length > LONGEST_FIND))
    faults.push(`find must have 1 to ${LONGEST_FIND} characters`);
  if (typeof path === 'string' && path.length > LONGEST_PATH) faults.push(`path may have ${LONGEST_PATH} characters`);
  if (find !== undefined && path !== undefined) faults.push('find and path do not go together');
  const offset = countIn(args, 'offset', { least: 0, otherwise: 0 }, faults);
  const limit = countIn(args, 'limit', { least: 1, otherwise: most }, faults);
  if (faults.length > 0) throw badArguments(faults);
  return {
    id: String(id),
    offset,
    limit: Math.min(limit, most),
    find: typeof find === 'string' ? find : undefined,
    path: typeof path === 'string' ? path : undefined,
  };
}

function countIn(
  args: Arguments,
  name: string,
  { least, otherwise }: { readonly least: number; readonly otherwise: number },
  faults: string[],
): number {
  const value = args[name];
  if (typeof value !== 'number') return otherwise;
  if (Number.isSafeInteger(value) && value >= least) return value;
  faults.push(`${name} must be a whole number, ${least} or more`);
  return otherwise;
}

function badArguments(faults: readonly string[]): BridgeError {
  return new BridgeError('TOOL_ARGUMENTS_INVALID', `${READ_RESULT}: ${faults.join('; ')}`);
}

function noSuchResult(id: string): BridgeError {
  return new BridgeError('RESULT_NOT_FOUND', `There is no result ${JSON.stringify(id.slice(0, 64))} of this client`, {
    hint: 'Results are kept for some minutes: call the tool again.',
  });
}

function errorOf(error: BridgeError): string {
  return toolError(error, { server: '', tool: '' });
}

function textResult(text: string): string {
  return JSON.stringify({ content: [{ type: 'text', text }] });
}

const LINE_BREAK = Buffer.from('\\n');
const NEWLINE = Buffer.from('\n');

/** The number of bytes written as JSON at a time. */
const PIECE_BYTES = 64 * 1024;

/** A whole result as a text resource, in the bytes of its server, followed by a newline. */
async function resourceOf(uri: string, { bytes, parts }: ReadableResult, pause: () => Promise<void>): Promise<Buffer> {
  const pieces: Buffer[] = [Buffer.from(`{"contents":[{"uri":${JSON.stringify(uri)},"mimeType":"text/plain","text":"`)];
  for (const [i, { kind, read, label }] of parts.entries()) {
    if (i > 0) pieces.push(LINE_BREAK);
    if (kind === 'text') pieces.push(bytes.subarray(read.from, read.to));
    else if (kind === 'data') pieces.push(insideString(label));
    else {
      const decoder = new StringDecoder('utf8');
      for (let from = read.from; from < read.to; from += PIECE_BYTES) {
        pieces.push(insideString(decoder.write(bytes.subarray(from, Math.min(from + PIECE_BYTES, read.to)))));
        await pause();
      }
    }
  }
  return Buffer.concat([...pieces, Buffer.from('"}]}'), NEWLINE]);
}

function insideString(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}
