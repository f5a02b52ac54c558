// A client that says the same things in the same order every time, spelled in ways that a bridge could lose, and that
// answers each question of a server. Each of its requests is marked in `_meta`, so that both legs can be compared.

import { extended, membersAt, replaced, spelled } from './json-places.ts';
import type { Ends } from './tap.ts';

/** Where the id and the marks of a request go. */
const ID = '«id»';
const META = '«meta»';

export interface Step {
  /** One line, with the places for id and marks. */
  readonly line: string;
  /** True if its answer is waited for. */
  readonly isRequest: boolean;
  /** Methods of messages that come because of it, besides its answer. */
  readonly waitsFor: readonly string[];
  /** Cancelled when this has come; then no answer is waited for. */
  readonly cancelAt?: string | undefined;
}

interface Options {
  /** Further members of `_meta`. */
  readonly meta?: string;
  readonly waitsFor?: readonly string[];
  readonly cancelAt?: string;
  /** True if its answer comes at the end of everything. */
  readonly isOpen?: boolean;
}

const metaOf = (meta: string | undefined): string => `"_meta":{${META}${meta === undefined ? '' : `,${meta}`}}`;

/** The object's text with one more member, its first. */
const joined = (member: string, object: string): string =>
  /^\{\s*\}$/.test(object) ? `{${member}}` : `{${member},${object.slice(1)}`;

/** A request; `params` is the text of an object. */
export function ask(
  method: string,
  params = '{}',
  { meta, waitsFor = [], cancelAt, isOpen = false }: Options = {},
): Step {
  const line = `{"jsonrpc":"2.0","id":${ID},"method":"${method}","params":${joined(metaOf(meta), params)}}`;
  return { line, isRequest: !isOpen, waitsFor, cancelAt };
}

/** A call of a tool; `args` is the text of an object. */
export const call = (name: string, args = '{}', options: Options = {}): Step =>
  ask('tools/call', `{"name":"${name}","arguments":${args}}`, options);

/** A request with a spelling of its own; it says itself where its id and marks stand. */
export const spelledOut = (line: string, waitsFor: readonly string[] = []): Step => ({
  line,
  isRequest: true,
  waitsFor,
});

export function tell(method: string, params: string | undefined, waitsFor: readonly string[] = []): Step {
  const line = `{"jsonrpc":"2.0","method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`;
  return { line, isRequest: false, waitsFor };
}

export interface Script {
  /** The client's capabilities, as the text of an object. */
  readonly capabilities: string;
  /** What questions are answered with, by method: `"result":…` or `"error":…`, one after another, the last one again and again. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  /** Methods of messages that the server sends by itself after the handshake. */
  readonly atFirst?: readonly string[];
  /** How the ids of requests are spelled. */
  readonly idOf: (n: number) => string;
  readonly steps: readonly Step[];
}

/** How a client speaks: with a handshake, or saying in each request who asks. */
export interface Speech {
  readonly era: '2025-11-25' | '2026-07-28';
  /** Members that the bridge reads in `initialize`, or in each request. */
  readonly meta: string;
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
}

const CLIENT_INFO = '{"name":"wire","version":"1.0","x-more":[1.0,"\\u00e9"]}';
const KEY = 'io.modelcontextprotocol/';

/** Ids of both kinds. */
export const plainId = (n: number): string => (n % 2 === 0 ? `${n}` : `"s${n}"`);

/** Ids in several spellings, which SDKs do not keep. */
export function oddId(n: number): string {
  const spellings = [`${n}`, `"s${n}"`, `"é\\u00e9-${n}"`, `${9007199254740000 + n}`];
  return spellings[n % spellings.length] ?? plainId(n);
}

export class Speaker {
  readonly #ends: Ends;
  readonly #script: Script;
  readonly #speech: Speech;
  readonly #came: string[] = [];
  #answers = 0;
  /** The last request, which is made again when the server has answered with questions. */
  #last = { line: '', n: 0, round: 0 };
  readonly #asked = new Map<string, number>();
  #hasEnded = false;
  #wake: (() => void)[] = [];

  constructor(ends: Ends, script: Script, speech: Speech) {
    this.#ends = ends;
    this.#script = script;
    this.#speech = speech;
    let rest = '';
    ends.input.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
      this.#notify();
    });
    const ended = (): void => {
      this.#hasEnded = true;
      this.#notify();
    };
    ends.input.on('end', ended).on('close', ended).on('error', ended);
    ends.output.on('error', ended);
  }

  /** Says everything. Resolves when the last answer has come; early if the connection ends. */
  async run(): Promise<void> {
    if (this.#speech.era === '2025-11-25') await this.#shakeHands();
    else await this.#discover();
    for (const [index, step] of this.#script.steps.entries()) await this.#say(step, index + 1);
  }

  end(): void {
    this.#ends.output.end();
    this.#ends.input.destroy();
  }

  async #shakeHands(): Promise<void> {
    const { capabilities, atFirst = [] } = this.#script;
    const { era, meta } = this.#speech;
    const params = `{"protocolVersion":"${era}","capabilities":${capabilities},"clientInfo":${CLIENT_INFO},"_meta":{${meta}}}`;
    this.#send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":${params}}`);
    await this.#until(() => this.#answers > 0);
    const since = this.#came.length;
    this.#send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    await this.#until(() => this.#haveCome(atFirst, since));
  }

  async #discover(): Promise<void> {
    const params = `{"_meta":{${this.#whoAsks()}}}`;
    this.#send(`{"jsonrpc":"2.0","id":"hello","method":"server/discover","params":${params}}`);
    await this.#until(() => this.#answers > 0);
  }

  /** What each request says in the era without a handshake. */
  #whoAsks(): string {
    const { era, meta } = this.#speech;
    const { capabilities } = this.#script;
    return `"${KEY}protocolVersion":"${era}","${KEY}clientInfo":${CLIENT_INFO},"${KEY}clientCapabilities":${capabilities},${meta}`;
  }

  #marks(n: number): string {
    return this.#speech.era === '2025-11-25' ? `"wire/step":${n}` : `"wire/step":${n},${this.#whoAsks()}`;
  }

  async #say({ line, isRequest, waitsFor, cancelAt }: Step, n: number): Promise<void> {
    const [since, answers, id] = [this.#came.length, this.#answers, this.#script.idOf(n)];
    const said = line.replace(ID, () => id).replace(META, () => this.#marks(n));
    if (isRequest) this.#last = { line: said, n, round: 0 };
    this.#send(said);
    if (cancelAt !== undefined) {
      await this.#until(() => this.#haveCome([cancelAt], since));
      const params = `{"requestId":${id},"reason":"no more \\u00e9","_meta":{"wire/step":${n}}}`;
      this.#send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
      return;
    }
    await this.#until(() => (!isRequest || this.#answers > answers) && this.#haveCome(waitsFor, since));
  }

  #send(line: string): void {
    if (this.#ends.output.writable) this.#ends.output.write(`${line}\n`);
  }

  #take(line: string): void {
    const { id, method } = JSON.parse(line) as Message;
    if (method === undefined) {
      if (spelled(line, ['result', 'resultType']) === '"input_required"') this.#askAgain(line);
      else this.#answers++;
      return;
    }
    this.#came.push(method);
    if (id === undefined) return;
    this.#send(`{"jsonrpc":"2.0","id":${spelled(line, ['id'])},${this.#answerTo(method)}}`);
  }

  #answerTo(method: string): string {
    const count = this.#asked.get(method) ?? 0;
    this.#asked.set(method, count + 1);
    const answers = this.#script.answers[method] ?? ['"error":{"code":-32601,"message":"No such method"}'];
    return answers[Math.min(count, answers.length - 1)] ?? '';
  }

  /** Makes the last request again, under another id, with answers to the questions and the state as it came. */
  #askAgain(line: string): void {
    const { line: said, n, round } = this.#last;
    this.#last = { line: said, n, round: round + 1 };
    const path = ['result', 'inputRequests'];
    const responses = membersAt(line, path).map((key) => {
      const method = spelled(line, [...path, key, 'method'])?.slice(1, -1) ?? '';
      this.#came.push(method);
      return `"${key}":${spelled(`{${this.#answerTo(method)}}`, ['result'])}`;
    });
    const state = spelled(line, ['result', 'requestState']);
    const again = extended(said, ['params'], `"inputResponses":{${responses.join(',')}}`);
    const whole = state === undefined ? again : extended(again, ['params'], `"requestState":${state}`);
    this.#send(replaced(whole, ['id'], `"again-${n}-${round}"`));
  }

  #haveCome(methods: readonly string[], since: number): boolean {
    const came = this.#came.slice(since);
    const countIn = (list: readonly string[], method: string): number => list.filter((one) => one === method).length;
    return methods.every((method) => countIn(came, method) >= countIn(methods, method));
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds() && !this.#hasEnded) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
