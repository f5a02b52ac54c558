// Runs the user's own ranker in a thread, and asks it which tools fit a question. Even a bad ranker delays a search
// only for a limited time, and never delays the daemon's own thread. It does not decide what is shown.

import { Worker } from 'node:worker_threads';
import { membersOf } from '../util/json-value.ts';
import { nextTurn } from '../util/next-turn.ts';

/** A tool as the ranker gets it. */
export interface RankableTool {
  readonly server: string;
  readonly tool: string;
  readonly title: string;
  readonly description: string;
}

/** The tools of a server as some clients see them. Other content has another key. */
export interface RankableList {
  readonly key: string;
  readonly tools: () => Iterable<RankableTool>;
}

/** A tool in the ranker's order. */
export interface RankedPlace {
  readonly list: string;
  readonly tool: string;
}

export interface RankerThreadOptions {
  readonly file: string;
  /** Called once with the failure. The ranker is not asked again after that. */
  readonly failed: (reason: string) => void;
  /** Calls back later; the returned function cancels that. */
  readonly after: (ms: number, callback: () => void) => () => void;
}

/** The time that a search waits. A slower ranker goes on, and the next search may find it ready. */
const WAIT_MS = 1000;
/** A ranker that is silent for this long never answers. The first answer includes the loading of its model. */
const MOST_MS = 120_000;
const MOST_RANKED = 50;
const MOST_CHARACTERS = 2000;
const TOOLS_A_TURN = 200;
const HEAP_MIB = 2048;

export class RankerThread {
  readonly #options: RankerThreadOptions;
  readonly #worker: Worker;
  /** The lists that the thread has. */
  readonly #sent = new Set<string>();
  #asked: { readonly id: number; readonly answer: (places: readonly RankedPlace[] | undefined) => void } | undefined;
  #nextId = 1;
  #isBusy = false;
  #isOver = false;

  constructor(options: RankerThreadOptions) {
    this.#options = options;
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { file: options.file, most: MOST_RANKED },
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      // Its output is dropped: the daemon's own output is for the log.
      stdout: true,
      stderr: true,
    });
    this.#worker.unref();
    this.#worker.stdout.resume();
    this.#worker.stderr.resume();
    this.#worker.on('message', (message: unknown) => this.#take(membersOf(message)));
    this.#worker.on('error', (error: Error) => this.#end(error.message));
    this.#worker.on('exit', () => this.#end('it has ended'));
  }

  /** Asks for the best tools; undefined if the answer takes too long or never comes. */
  async rank(question: string, lists: readonly RankableList[]): Promise<readonly RankedPlace[] | undefined> {
    if (this.#isBusy || this.#isOver) return undefined;
    this.#isBusy = true;
    await this.#send(lists);
    if (this.#isOver) return undefined;
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const noWait = this.#options.after(WAIT_MS, () => resolve(undefined));
      const noEnd = this.#options.after(MOST_MS, () => this.#end(`it took more than ${MOST_MS / 1000} s`));
      const answer = (places: readonly RankedPlace[] | undefined): void => {
        noWait();
        noEnd();
        resolve(places);
      };
      this.#asked = { id, answer };
      this.#worker.postMessage({ id, question, keys: lists.map(({ key }) => key) });
    });
  }

  /** Ends the thread. */
  close(): void {
    this.#isOver = true;
    this.#settle(undefined);
    void this.#worker.terminate();
  }

  /**
   * Sends the lists that the thread lacks, a part in each turn, and tells it to forget lists that nobody asks about.
   */
  async #send(lists: readonly RankableList[]): Promise<void> {
    for (const { key, tools } of lists) {
      if (this.#sent.has(key)) continue;
      this.#sent.add(key);
      let part: RankableTool[] = [];
      for (const tool of tools()) {
        part.push({ ...tool, description: tool.description.slice(0, MOST_CHARACTERS) });
        if (part.length < TOOLS_A_TURN) continue;
        this.#worker.postMessage({ put: key, tools: part });
        part = [];
        await nextTurn();
      }
      this.#worker.postMessage({ put: key, tools: part });
    }
  }

  /** Tells the thread to forget a list. */
  forget(key: string): void {
    if (this.#sent.delete(key) && !this.#isOver) this.#worker.postMessage({ drop: key });
  }

  #take({ id, places, error }: Readonly<Record<string, unknown>>): void {
    if (typeof error === 'string') return this.#end(error);
    if (id === this.#asked?.id && Array.isArray(places)) this.#settle(places.flatMap(placeOf));
  }

  #settle(places: readonly RankedPlace[] | undefined): void {
    const asked = this.#asked;
    this.#asked = undefined;
    this.#isBusy = false;
    asked?.answer(places);
  }

  #end(reason: string): void {
    if (this.#isOver) return;
    this.close();
    this.#options.failed(reason.slice(0, MOST_CHARACTERS));
  }
}

function placeOf(place: unknown): RankedPlace[] {
  const { list, tool } = membersOf(place);
  return typeof list === 'string' && typeof tool === 'string' ? [{ list, tool }] : [];
}

/**
 * The thread's program. It keeps the tools, so that a ranker may remember its work for each object, and sorts by the
 * ranker's numbers.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { pathToFileURL } = require('node:url');
const lists = new Map();
let loading;
const load = async () => {
  const { default: rank } = await import(pathToFileURL(workerData.file).href);
  if (typeof rank !== 'function') throw new Error('it has no function as its default export');
  return rank;
};
const ranked = async ({ question, keys }) => {
  const rank = await (loading ??= load());
  const own = keys.flatMap((key) => (lists.get(key) ?? []).map((tool) => ({ list: key, tool })));
  const scores = await rank(question, own.map(({ tool }) => tool));
  if (scores?.length !== own.length) throw new Error('it must return one number for each tool');
  return own
    .map((one, i) => ({ ...one, score: scores[i] }))
    .filter(({ score }) => Number.isFinite(score))
    .sort((a, b) => b.score - a.score)
    .slice(0, workerData.most)
    .map(({ list, tool }) => ({ list, tool: tool.tool }));
};
parentPort.on('message', (message) => {
  if (message.put !== undefined) {
    const list = lists.get(message.put) ?? [];
    list.push(...message.tools.map(Object.freeze));
    lists.set(message.put, list);
  } else if (message.drop !== undefined) lists.delete(message.drop);
  else ranked(message).then(
    (places) => parentPort.postMessage({ id: message.id, places }),
    (error) => parentPort.postMessage({ error: String(error?.message ?? error) }),
  );
});
`;
