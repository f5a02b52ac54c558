// The program that looks for servers: reads one request from stdin, writes an answer for each directory to stdout, and
// ends. It watches nothing: it marks each path before reading it, and the daemon watches the paths.

import { KeptSources, ServerSearch } from '../discovery/finding.ts';
import { useOpenAddon } from '../local/kernel-lock.ts';
import { markOf } from '../local/path-mark.ts';
import { messageOf } from '../util/bridge-error.ts';
import { ADDON_FD, type FinderAnswer, type FinderRequest } from './finder-process.ts';

export { KeptSources, ServerSearch } from '../discovery/finding.ts';

/** Runs the program in this process. */
export async function answerOnce(): Promise<void> {
  if (process.argv[2] === 'addon') useOpenAddon(ADDON_FD);
  process.stdout.on('error', () => process.exit(0)); // the daemon has ended
  const request = await wholeRequest();
  if (request !== undefined) for await (const answer of answersTo(request)) await said(answer);
  process.exit(0);
}

/** Reads the request. Undefined if there is none: the daemon has ended, or no longer needs an answer. */
async function wholeRequest(): Promise<FinderRequest | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as FinderRequest);
}

function said(answer: FinderAnswer): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(answer)}\n`, () => resolve()));
}

/**
 * Answers for each directory; they share what was read. After a failure everything is read again, and only what was
 * kept before counts.
 */
async function* answersTo({ dirs, kept: before, ...request }: FinderRequest): AsyncGenerator<FinderAnswer> {
  const carried = new Map(before);
  let look = new Look(carried);
  for (const dir of dirs) {
    const answer = await look.answerFor({ ...request, dir });
    yield answer;
    if ('failure' in answer) look = new Look(carried);
    else
      for (const [key, packed] of answer.kept) {
        if (packed === null) carried.delete(key);
        else carried.set(key, packed);
      }
  }
}

class Look {
  readonly #kept: KeptSources;
  readonly #finding: ServerSearch;
  #marks: [path: string, mark: string][] = [];

  constructor(kept: Iterable<readonly [key: string, packed: string]>) {
    this.#kept = new KeptSources(kept);
    this.#finding = new ServerSearch({
      asked: (path) => void this.#marks.push([path, markOf(path)]),
      kept: this.#kept,
    });
  }

  async answerFor(request: Parameters<ServerSearch['find']>[0]): Promise<FinderAnswer> {
    const { dir } = request;
    try {
      const answer = await this.#finding.find(request);
      return {
        ...{ dir, paths: this.#finding.pathsOf(dir), marks: this.#takeMarks() },
        ...{ answer, kept: this.#kept.takeChanges() },
      };
    } catch (error) {
      const marks = this.#takeMarks();
      return { dir, paths: marks.map(([path]) => path), marks, failure: messageOf(error) };
    }
  }

  #takeMarks(): FinderAnswer['marks'] {
    const marks = this.#marks;
    this.#marks = [];
    return marks;
  }
}
