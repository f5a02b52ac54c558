// A file that lists running servers; several programs change it, not all of them ours. It is read and replaced whole,
// in turns. It is never touched if another user owns it, if it is a link, or if a newer version wrote it. A broken file
// is renamed.

import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { open, rename, rm, stat as statFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { inTurn } from './lock-file.ts';
import { ownUid, statOf } from './owned-path.ts';
import { makeTree } from './private-file.ts';
import {
  livingIn,
  NO_SERVERS,
  parseRegistry,
  type RegistryContent,
  registryText,
  withoutGone,
} from './registry-content.ts';
import { tryingFile } from './whole-write.ts';

/** A generous limit: nobody runs so many servers. */
const MOST_BYTES = 1024 * 1024;
/** The time to wait for a program that writes in place and may be halfway through. */
const HALF_WRITTEN_MS = 100;
/** The number of times that a program without the lock may interfere. */
const MOST_TRIES = 10;
const LOCK_TIMEOUT_MS = 30_000;

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface RegistryReading {
  /** The entries of running processes, by id. */
  readonly servers: ReadonlyMap<string, unknown>;
  /** The reason why a file that should have entries shows none. */
  readonly warning: string | undefined;
}

/** The content that was found, and a mark that changes with it. */
interface Found {
  readonly text: string;
  readonly mark: string;
}

const ABSENT: Found = { text: '', mark: 'absent' };

export class RegistryFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Reads the entries. It changes nothing, even if entries are stale. */
  async read(): Promise<RegistryReading> {
    try {
      const parsed = parsedIn(await this.#wholeText());
      if (parsed.kind === 'content') return { servers: livingIn(parsed.content), warning: undefined };
      return { servers: new Map(), warning: sentenceOf(this.path, parsed) };
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      return { servers: new Map(), warning: error.message };
    }
  }

  /** Passes the entries to `edit`, without those of ended processes. Resolves to warnings. */
  async change(edit: (servers: Map<string, unknown>) => void): Promise<string[]> {
    try {
      this.#ensureDir();
      return await inTurn(this.path, () => this.#changeInTurn(edit), LOCK_TIMEOUT_MS);
    } catch (error) {
      if (error instanceof BridgeError && error.code === 'REGISTRY_UNUSABLE') throw error;
      // Their own messages speak of sockets and config files.
      if (error instanceof BridgeError || systemCode(error) !== undefined) throw unusable(messageOf(error));
      throw error;
    }
  }

  async #changeInTurn(edit: (servers: Map<string, unknown>) => void): Promise<string[]> {
    const warnings: string[] = [];
    for (let n = 0; n < MOST_TRIES; n++) {
      const found = await this.#wholeText();
      const content = this.#contentOf(found, warnings);
      const servers = withoutGone(content.servers);
      edit(servers);
      const text = registryText({ ...content, servers });
      if (Buffer.byteLength(text) > MOST_BYTES) throw unusable(`${this.path} would be larger than 1 MB`, SAY_LESS);
      if (await this.#replace(found, text)) return warnings;
    }
    throw unusable(`${this.path} is changed all the time by a program that does not take its lock`);
  }

  #contentOf(found: Found, warnings: string[]): RegistryContent {
    const parsed = parsedIn(found);
    if (parsed.kind === 'content') return parsed.content;
    if (parsed.kind === 'future') throw unusable(sentenceOf(this.path, parsed), 'Update mcp-bridge.');
    const aside = `${this.path}.broken-${new Date().toISOString().replace(/[:.]/g, '-')}`;
    tryingFile(`Cannot put ${this.path} aside`, () => renameSync(this.path, aside));
    warnings.push(`${sentenceOf(this.path, parsed)} It has been put aside as ${basename(aside)}`);
    return NO_SERVERS;
  }

  /** Replaces the file; false if it has changed since it was read: not every program takes the lock. */
  async #replace(found: Found, text: string): Promise<boolean> {
    const temporary = `${this.path}.tmp`;
    try {
      await rm(temporary, { force: true }); // left by a process that was killed halfway
      const file = await open(temporary, CREATE, 0o600);
      try {
        // Not flushed: after a power failure no listed process runs any more, and others wait for the lock meanwhile.
        await file.writeFile(text);
      } finally {
        await file.close();
      }
      const now = this.#find()?.mark ?? ABSENT.mark;
      const isSame = now === found.mark || now === ABSENT.mark;
      if (isSame) await rename(temporary, this.path);
      else await rm(temporary, { force: true });
      return isSame;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined); // if this fails, the next writer removes it
      if (error instanceof BridgeError) throw error;
      throw unusable(`Cannot write ${this.path}: ${systemCode(error) ?? 'unknown error'}`);
    }
  }

  async #wholeText(): Promise<Found> {
    for (let isLast = false; ; isLast = true) {
      const found = this.#find() ?? ABSENT;
      const isBroken = found !== ABSENT && (found.text === '' || parsedIn(found).kind === 'broken');
      if (!isBroken || isLast) return found;
      await new Promise((resolve) => setTimeout(resolve, HALF_WRITTEN_MS));
    }
  }

  /** Reads the file; undefined if there is none. */
  #find(): Found | undefined {
    if (statOf(this.path) === undefined) return undefined;
    try {
      const fd = openSync(this.path, READ);
      try {
        const { ino, size, mtimeNs } = fstatSync(fd, { bigint: true });
        this.#refuseForeign(fd);
        return { text: readFileSync(fd, 'utf8'), mark: `${ino}:${size}:${mtimeNs}` };
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      if (systemCode(error) === 'ELOOP') throw unusable(`${this.path} is a link`, LOOK_AT_IT);
      if (error instanceof BridgeError) throw error;
      throw unusable(`Cannot read ${this.path}: ${systemCode(error) ?? 'unknown error'}`);
    }
  }

  #refuseForeign(fd: number): void {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw unusable(`${this.path} is no regular file`, LOOK_AT_IT);
    if (stat.uid !== ownUid()) throw unusable(`${this.path} belongs to another user`, LOOK_AT_IT);
    if ((stat.mode & 0o002) !== 0) throw unusable(`Everybody may write ${this.path}`, `chmod 600 ${this.path}`);
    if (stat.size > MOST_BYTES) throw unusable(`${this.path} is larger than 1 MB`, LOOK_AT_IT);
  }

  /** Makes the directory for this user alone; it is no part of what a project shares. */
  #ensureDir(): void {
    const dir = dirname(this.path);
    if (statOf(dir) === undefined) {
      try {
        makeTree(dir, 0o700);
        if (basename(dir) === PROJECT_DIR) writeFileSync(join(dir, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 });
      } catch (error) {
        // Another process may have made it meanwhile.
        if (systemCode(error) !== 'EEXIST')
          throw unusable(`Cannot make the directory ${dir}: ${systemCode(error) ?? 'unknown error'}`);
      }
    }
    const stat = statOf(dir);
    if (stat?.isDirectory() !== true || stat.uid !== ownUid())
      throw unusable(`${dir} is no directory of this user's, or is a link`, LOOK_AT_IT);
    if ((stat.mode & 0o002) !== 0) throw unusable(`Everybody may write to ${dir}`, `chmod go-w ${dir}`);
  }
}

export const PROJECT_DIR = '.mcp-bridge';
const LOOK_AT_IT = 'Look at it, and remove it.';
const SAY_LESS = 'Nobody would read it then. Say less of the server.';

function parsedIn({ text }: Found) {
  if (text.trim() === '') return { kind: 'content', content: NO_SERVERS } as const;
  return parseRegistry(text);
}

function sentenceOf(path: string, parsed: Exclude<ReturnType<typeof parsedIn>, { kind: 'content' }>): string {
  if (parsed.kind === 'broken') return `${path} ${parsed.problem}.`;
  return `${path} has version ${parsed.version}, which a newer program has written. Nothing of it is used, and it is left as it is`;
}

function unusable(message: string, hint?: string): BridgeError {
  return new BridgeError('REGISTRY_UNUSABLE', message, hint === undefined ? {} : { hint });
}

/** A word that changes if somebody may have changed the file. */
export async function changeMark(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await statFile(path, { bigint: true });
    return `${ino}:${size}:${mtimeNs}`;
  } catch (error) {
    expectSystemError(error);
    return ABSENT.mark;
  }
}
