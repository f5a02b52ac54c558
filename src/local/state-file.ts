// One small file of the state directory: JSON with a version, for this user alone. Several processes may change it, so
// they take turns. A file that cannot be understood never counts as empty, and is never overwritten.

import { join } from 'node:path';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { inTurn } from './lock-file.ts';
import { ensurePrivateTree, readPrivate, writePrivate } from './private-file.ts';
import { stateDir } from './state-dir.ts';

const VERSION = 1;

export type StateEnvironment = Parameters<typeof stateDir>[0];

export interface StateFileKind<Content> {
  /** The file's name in the state directory. */
  readonly name: string;
  /** The member that holds the content. Errors also use this name for the content, unless there is `holds`. */
  readonly member: string;
  readonly holds?: string;
  readonly empty: () => Content;
  /** Reads the content from the member's value; undefined if it is something else. */
  readonly parse: (value: unknown) => Content | undefined;
  /** Makes the member's value. */
  readonly format: (content: Content) => unknown;
  /** The advice for a file that cannot be understood: `Put it back, or remove it: then …`. */
  readonly ifRemoved: string;
}

export abstract class StateFile<Content> {
  readonly path: string;
  readonly #dir: string;
  readonly #kind: StateFileKind<Content>;

  constructor(kind: StateFileKind<Content>, environment: StateEnvironment, homedir: string) {
    this.#kind = kind;
    this.#dir = stateDir(environment, homedir);
    this.path = join(this.#dir, kind.name);
  }

  read(): Content {
    const text = readPrivate(this.path);
    return text === undefined ? this.#kind.empty() : this.#contentOf(text);
  }

  /** Writes the result of `change`, which gets the current content; undefined writes nothing. */
  protected async change(change: (content: Content) => Content | undefined): Promise<void> {
    ensurePrivateTree(this.#dir);
    await inTurn(this.path, () => {
      const changed = change(this.read());
      if (changed === undefined) return;
      const { member, format } = this.#kind;
      writePrivate(this.path, `${JSON.stringify({ version: VERSION, [member]: format(changed) }, undefined, 1)}\n`);
    });
  }

  #contentOf(text: string): Content {
    const { member, holds = member, parse } = this.#kind;
    const file = this.#parsed(text);
    if (!isRecord(file) || !Object.hasOwn(file, 'version')) throw this.#unusable(`does not hold ${holds}`);
    if (file.version !== VERSION) throw this.#unusable('is not of a kind that this version knows');
    const content = Object.hasOwn(file, member) ? parse(file[member]) : undefined;
    if (content === undefined) throw this.#unusable(`does not hold ${holds}`);
    return content;
  }

  #parsed(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw this.#unusable('is not JSON');
    }
  }

  #unusable(problem: string): BridgeError {
    const hint = `Put it back, or remove it: then ${this.#kind.ifRemoved}.`;
    return new BridgeError('FILE_UNUSABLE', `${this.path} ${problem}`, { hint });
  }
}
