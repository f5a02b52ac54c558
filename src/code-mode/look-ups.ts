// The lookups of a program: tools by words, and their types. They run one at a time, with a turn of the event loop
// between them, because a search or a schema takes the daemon's own time.

import type { HostAnswer, ProgramHost } from '../meta-tools/programs.ts';
import { failureOf } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { nextTurn } from '../util/next-turn.ts';
import { DeclarationsText } from './type-declarations.ts';

type Task = () => Promise<unknown>;

interface LookUp {
  readonly task: Task;
  readonly answered: (answer: HostAnswer) => void;
}

/** The time of one turn. */
const TURN_MS = 1;
/** Longer declarations are cut: a program that needs so many should name the tools. */
const LONGEST_DECLARATIONS = 256 * 1024;

export class LookUps {
  readonly #host: Pick<ProgramHost, 'search' | 'tools'>;
  /** The only servers to show; undefined for all. */
  readonly #servers: readonly string[] | undefined;
  #waiting: LookUp[] = [];
  #isWorking = false;
  #isClosed = false;

  constructor(host: Pick<ProgramHost, 'search' | 'tools'>, servers: readonly string[] | undefined) {
    this.#host = host;
    this.#servers = servers;
  }

  /** The number of unanswered lookups. */
  get size(): number {
    return this.#waiting.length;
  }

  search(query: string, options: unknown, answered: LookUp['answered']): void {
    this.#add(() => this.#found(query, options), answered);
  }

  describe(names: readonly string[], answered: LookUp['answered']): void {
    this.#add(() => this.#typesOf(names), answered);
  }

  #add(task: Task, answered: LookUp['answered']): void {
    this.#waiting.push({ task, answered });
    if (!this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (;;) {
      await nextTurn();
      const [next] = this.#waiting;
      if (next === undefined || this.#isClosed) break;
      const answer = await answerOf(next.task);
      this.#waiting.shift();
      if (!this.#isClosed) next.answered(answer);
    }
    this.#isWorking = false;
  }

  async #found(query: string, options: unknown): Promise<object> {
    const found = await this.#host.search(query, options);
    const { results } = membersOf(found);
    if (this.#servers === undefined || !Array.isArray(results)) return found;
    return { results: results.filter((one) => this.#shows(membersOf(one).server)) };
  }

  #shows(server: unknown): boolean {
    return this.#servers === undefined || this.#servers.includes(textOf(server));
  }

  async #typesOf(names: readonly string[]): Promise<string> {
    const text = new DeclarationsText();
    let left = 0;
    let untilMs = performance.now() + TURN_MS;
    for (const name of new Set(names))
      for (const read of await this.#host.tools(name)) {
        if (text.length >= LONGEST_DECLARATIONS) left++;
        else {
          const tool = read();
          if (!this.#shows(tool.server))
            throw new BridgeError('SERVER_NOT_FOUND', `The program was given no server ${JSON.stringify(tool.server)}`);
          text.add(tool);
        }
        if (performance.now() < untilMs) continue;
        await nextTurn();
        if (this.#isClosed) return '';
        untilMs = performance.now() + TURN_MS;
      }
    return left === 0 ? text.end() : `${text.end()}// ${left} more tools are left out: describe them as SERVER.TOOL.\n`;
  }

  /** Drops waiting lookups, because the program has ended. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
  }
}

async function answerOf(task: Task): Promise<HostAnswer> {
  try {
    return { is: 'value', text: latin1(JSON.stringify(await task())) };
  } catch (error) {
    return { is: 'error', text: latin1(failureOf(error)) };
  }
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
