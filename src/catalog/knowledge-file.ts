// The file format of a server's knowledge. Files are written whole and checked when read; an unusable file counts as
// none.

import {
  cachingTermsOf,
  type FoundEra,
  type KnownServer,
  type ListPage,
  ServerProfile,
} from '../core/server-knowledge.ts';
import { eraOf } from '../protocol/eras.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { membersOf } from '../util/json-value.ts';
import { lastingCopy } from '../util/lasting-bytes.ts';

/** The version of the format. Files with another one are not read. */
const FORMAT = 2;

interface SavedProfile {
  readonly capabilities: object;
  /** Missing if clients share the server. */
  readonly clientInfo?: string;
  readonly learnedMs: number;
  readonly initializeResult: unknown;
  /** Missing in the era with a handshake, and in files of earlier daemons. */
  readonly discoverResult?: unknown;
  readonly lists: Readonly<Record<string, readonly SavedPage[]>>;
}

interface SavedPage {
  readonly cursor?: string;
  readonly result: unknown;
  readonly original?: unknown;
  readonly caching?: unknown;
}

/** The era without its name: the version tells it. */
type SavedEra = Omit<FoundEra, 'era'>;

interface SavedServer {
  readonly format: number;
  readonly name: string;
  /** Missing while the era is unknown, and in files of earlier daemons. */
  readonly era?: SavedEra;
  readonly asksForRoots: boolean;
  readonly asksBack: boolean;
  readonly habits: Readonly<Record<string, number>>;
  readonly profiles: readonly SavedProfile[];
}

export function encodeKnown(name: string, known: KnownServer): string {
  const { asksForRoots, asksBack, habits, profiles } = known;
  const era = known.era && { ...known.era, era: undefined };
  const head = { format: FORMAT, name, era, asksForRoots, asksBack, habits: Object.fromEntries(habits) };
  const parts = profiles.map(encodeProfile).join(',\n');
  return `${JSON.stringify(head).slice(0, -1)},"profiles":[${parts}]}\n`;
}

/** Writes a server's answers as text, so that they can be restored byte by byte. */
function encodeProfile(profile: ServerProfile): string {
  const { capabilities, clientInfo, learnedMs, initializeResult, lists } = profile;
  const kinds = [...lists].map(([kind, pages]) => `${JSON.stringify(kind)}:[${pages.map(encodePage).join(',')}]`);
  const discoverResult = profile.discoverResult && textOf(profile.discoverResult);
  const head = JSON.stringify({ capabilities, clientInfo, learnedMs, discoverResult }).slice(0, -1);
  return `${head},"initializeResult":${JSON.stringify(textOf(initializeResult))},"lists":{${kinds.join(',')}}}`;
}

function encodePage({ cursor, result, original, caching }: ListPage): string {
  return JSON.stringify({ cursor, result: textOf(result), original: original && textOf(original), caching });
}

const textOf = (bytes: Buffer): string => bytes.toString('utf8', 0, bytes.length - 1);

/** Restores knowledge from a file; false if the file cannot be used. */
export function decodeKnown(content: string, known: KnownServer): boolean {
  const saved = parse(content);
  if (saved?.format !== FORMAT) return false;
  const profiles = saved.profiles.map(decodeProfile);
  const habits = Object.entries(saved.habits);
  known.restore({ ...saved, era: saved.era && decodeEra(saved.era), habits, profiles });
  return true;
}

/** Throws if a member that the bridge acts on is missing. */
function decodeEra({ version, versions, probe, program, serverInfo, foundMs }: SavedEra): FoundEra {
  return {
    era: eraOf(String(version)),
    version: String(version),
    versions: versions.map(String),
    probe: probe === 'unanswered' || probe === 'fatal' ? probe : 'answered',
    program: String(program),
    serverInfo: String(serverInfo),
    foundMs: Number(foundMs),
  };
}

function parse(content: string): SavedServer | undefined {
  try {
    return JSON.parse(content) as SavedServer;
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // Torn, or not ours: it is learnt again.
  }
}

function decodeProfile(saved: SavedProfile): ServerProfile {
  const { capabilities, clientInfo, learnedMs, initializeResult, discoverResult, lists } = saved;
  const profile = new ServerProfile(capabilities, clientInfo, {
    initializeResult: bytesOf(initializeResult),
    discoverResult: discoverResult === undefined ? undefined : bytesOf(discoverResult),
    learnedMs,
  });
  for (const [place, pages] of Object.entries(lists)) profile.lists.set(place, pages.map(decodePage));
  return profile;
}

function decodePage({ cursor, result, original, caching }: SavedPage): ListPage {
  const { ttlMs, cacheScope } = membersOf(caching);
  const terms = cachingTermsOf(ttlMs, cacheScope);
  return {
    cursor,
    result: bytesOf(result),
    ...(original !== undefined && { original: bytesOf(original) }),
    ...(terms !== undefined && { caching: terms }),
  };
}

/** Reads the text of an object. Throws for anything else. */
function bytesOf(text: unknown): Buffer {
  const value: unknown = JSON.parse(String(text));
  // A line break between its tokens would end the frame that carries it.
  if (typeof value !== 'object' || value === null || String(text).includes('\n')) throw new TypeError('not an object');
  return lastingCopy(Buffer.from(`${String(text)}\n`));
}
