// A client that says the same things in the same order every time, spelled in ways that a bridge could lose, and that
// answers each question of a server. Each of its requests is marked in `_meta`, so that both legs can be compared.

import { spelled } from './json-places.ts';
import type { Ends } from './tap.ts';

/** Where the id and the marks of a request go. */
const ID = '«id»';
const META = '«meta»';

export interface Step {
  /** One line, with the places for id and marks. */
  readonly line: string;
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
}

const metaOf = (meta: string | undefined): string => `"_meta":{${META}${meta === undefined ? '' : `,${meta}`}}`;

/** The object's text with one more member, its first. */
const joined = (member: string, object: string): string =>
  /^\{\s*\}$/.test(object) ? `{${member}}` : `{${member},${object.slice(1)}`;

/** A request; `params` is the text of an object. */
export function ask(method: string, params = '{}', { meta, waitsFor = [], cancelAt }: Options = {}): Step {
  const line = `{"jsonrpc":"2.0","id":${ID},"method":"${method}","params":${joined(metaOf(meta), params)}}`;
  return { line, isRequest: true, waitsFor, cancelAt };
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

interface Message {
  readonly id?: unknown;
  readonly method?: string;
}

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
  readonly #meta: string;
  readonly #came: string[] = [];
  #answers = 0;
  readonly #asked = new Map<string, number>();
  #hasEnded = false;
  #wake: (() => void)[] = [];

  /** `meta` are members that the bridge reads in `initialize`. */
  constructor(ends: Ends, script: Script, meta: string) {
    this.#ends = ends;
    this.#script = script;
    this.#meta = meta;
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
    const { capabilities, atFirst = [], steps } = this.#script;
    const clientInfo = '{"name":"wire","version":"1.0","x-more":[1.0,"\\u00e9"]}';
    const params = `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":${clientInfo},"_meta":{${this.#meta}}}`;
    this.#send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":${params}}`);
    await this.#until(() => this.#answers > 0);
    const since = this.#came.length;
    this.#send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    await this.#until(() => this.#haveCome(atFirst, since));
    for (const [index, step] of steps.entries()) await this.#say(step, index + 1);
  }

  end(): void {
    this.#ends.output.end();
    this.#ends.input.destroy();
  }

  async #say({ line, isRequest, waitsFor, cancelAt }: Step, n: number): Promise<void> {
    const [since, answers, id] = [this.#came.length, this.#answers, this.#script.idOf(n)];
    this.#send(line.replace(ID, () => id).replace(META, () => `"wire/step":${n}`));
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
      this.#answers++;
      return;
    }
    this.#came.push(method);
    if (id === undefined) return;
    const count = this.#asked.get(method) ?? 0;
    this.#asked.set(method, count + 1);
    const answers = this.#script.answers[method] ?? ['"error":{"code":-32601,"message":"No such method"}'];
    this.#send(`{"jsonrpc":"2.0","id":${spelled(line, ['id'])},${answers[Math.min(count, answers.length - 1)]}}`);
  }

  #haveCome(methods: readonly string[], since: number): boolean {
    const came = this.#came.slice(since);
    return [...new Set(methods)].every(
      (method) => came.filter((one) => one === method).length >= methods.filter((one) => one === method).length,
    );
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds() && !this.#hasEnded) await new Promise<void>((resolve) => this.#wake.push(resolve));
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
