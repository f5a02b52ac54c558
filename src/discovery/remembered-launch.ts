// Remembers a definition that a person decided about, and compares another one with it: each part as it was shown, with
// a digest of its real value. The digest is too short to guess a secret from.

import { createHmac, randomBytes } from 'node:crypto';
import type { DiscoveredServer } from './discovered-server.ts';
import { type Shown, shownLaunch } from './shown-launch.ts';
import { namesFile } from './text-variables.ts';
import { textAt, treeAt } from './tree.ts';

export type PartKind =
  | 'transport'
  | 'command'
  | 'argument'
  | 'filled'
  | 'cwd'
  | 'url'
  | 'headersHelper'
  | 'oauth'
  | 'allowedTools'
  | 'deniedTools'
  | 'variable'
  | 'header';

/** `shown` is the name of a variable or header. */
interface RememberedPart {
  readonly what: PartKind;
  readonly shown: string;
  readonly digest: string;
}

export interface RememberedLaunch {
  readonly salt: string;
  readonly parts: readonly RememberedPart[];
}

export type DecidedLaunch = Shown & Pick<DiscoveredServer, 'tools'> & { readonly oauth: unknown };

/** Validates data that was read from a file. */
export function isRememberedLaunch(value: unknown): value is RememberedLaunch {
  const parts = treeAt(value)?.parts;
  if (textAt(value, 'salt') === undefined || !Array.isArray(parts)) return false;
  return parts.every((part) => ['what', 'shown', 'digest'].every((key) => textAt(part, key) !== undefined));
}

const DIGITS = 8;
/** Long texts are stored by their beginnings; `filled` is the digest of everything. */
const MOST_NAMED = 500;
const LONGEST = 2000;

export function rememberedLaunch(server: DecidedLaunch, salt = randomBytes(16).toString('hex')): RememberedLaunch {
  const shown = shownLaunch(server);
  const { raw, tools } = server;
  const part = (what: PartKind, text: string | undefined, value: unknown): RememberedPart[] =>
    text === undefined ? [] : [{ what, shown: text.slice(0, LONGEST), digest: digestOf(salt, value) }];
  const named = (what: PartKind, names: readonly string[], values: Texts): RememberedPart[] =>
    names.slice(0, MOST_NAMED).flatMap((name) => part(what, name, values[name]));
  const isDenying = tools.deny.length > 0;
  const filled = [
    server.command,
    server.args,
    server.url,
    ...ofFiles({ ...raw.headers, ...raw.env }, { ...server.headers, ...server.env }),
  ];
  return {
    salt,
    parts: [
      ...part('transport', shown.transport, shown.transport),
      ...part('command', shown.command, raw.command),
      ...shown.args.slice(0, MOST_NAMED).flatMap((text, i) => part('argument', text, raw.args[i])),
      ...part('cwd', shown.cwd, server.cwd),
      ...part('url', shown.url, raw.url),
      ...part('headersHelper', shown.headersHelper, raw.headersHelper),
      ...part('oauth', server.oauth === undefined ? undefined : '', server.oauth),
      ...part('allowedTools', tools.allow?.slice(0, MOST_NAMED).join(', '), tools.allow),
      ...part('deniedTools', isDenying ? tools.deny.slice(0, MOST_NAMED).join(', ') : undefined, tools.deny),
      ...named('variable', shown.env, { ...server.env, ...raw.env }),
      ...named('header', shown.headers, { ...server.headers, ...raw.headers }),
      ...part('filled', '', filled),
    ],
  };
}

type Texts = Readonly<Record<string, string>>;

/** The values that come partly from a file. */
function ofFiles(raw: Texts, filled: Texts): [string, string | undefined][] {
  return Object.entries(raw).flatMap(([name, text]) => (namesFile(text) ? [[name, filled[name]]] : []));
}

function digestOf(salt: string, value: unknown): string {
  return createHmac('sha256', salt)
    .update(JSON.stringify(value ?? null))
    .digest('hex')
    .slice(0, DIGITS);
}

/** Without `before` it is new, without `now` it is gone. Both are safe to show. */
export interface Difference {
  readonly what: PartKind;
  readonly before?: string;
  readonly now?: string;
}

export function differencesIn(server: DecidedLaunch, before: RememberedLaunch): Difference[] {
  const now = rememberedLaunch(server, before.salt);
  const of = ({ parts }: RememberedLaunch, what: PartKind) => parts.filter((part) => part.what === what);
  const found = [
    ...SINGLE.flatMap((what) => inSingle(what, of(before, what)[0], of(now, what)[0])),
    ...inSequence(of(before, 'argument'), of(now, 'argument')),
    ...NAMED.flatMap((what) => inNamed(what, of(before, what), of(now, what))),
  ];
  // Values of variables are mentioned only if nothing else differs.
  return found.length > 0 ? found : inSingle('filled', of(before, 'filled')[0], of(now, 'filled')[0]);
}

const SINGLE: readonly PartKind[] = [
  ...(['transport', 'command', 'cwd', 'url', 'headersHelper', 'oauth'] as const),
  ...(['allowedTools', 'deniedTools'] as const),
];
const NAMED: readonly PartKind[] = ['variable', 'header'];

type Part = RememberedPart | undefined;

function inSingle(what: PartKind, before: Part, now: Part): Difference[] {
  return before?.digest === now?.digest ? [] : [difference(what, before, now)];
}

function inNamed(what: PartKind, before: readonly RememberedPart[], now: readonly RememberedPart[]): Difference[] {
  const names = [...new Set([...before, ...now].map(({ shown }) => shown))];
  const named = (parts: readonly RememberedPart[], name: string) => parts.find(({ shown }) => shown === name);
  return names.flatMap((name) => inSingle(what, named(before, name), named(now, name)));
}

/** Compares two lists: the longest common sequence stays; the rest was removed or added. */
function inSequence(before: readonly RememberedPart[], now: readonly RememberedPart[]): Difference[] {
  const lengths = commonLengths(before, now);
  const found: Difference[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < now.length) {
    const [old, young] = [before[i], now[j]];
    if (old !== undefined && old.digest === young?.digest) {
      i++;
      j++;
    } else if (young === undefined || (old !== undefined && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0))) {
      found.push(difference('argument', old, undefined));
      i++;
    } else {
      found.push(difference('argument', undefined, young));
      j++;
    }
  }
  return found;
}

/** The length of the common sequence from each pair of positions. */
function commonLengths(before: readonly RememberedPart[], now: readonly RememberedPart[]): number[][] {
  const lengths = Array.from({ length: before.length + 1 }, () => new Array<number>(now.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--) {
      const isSame = before[i]?.digest === now[j]?.digest;
      const row = lengths[i] ?? [];
      row[j] = isSame ? (lengths[i + 1]?.[j + 1] ?? 0) + 1 : Math.max(lengths[i + 1]?.[j] ?? 0, row[j + 1] ?? 0);
    }
  return lengths;
}

function difference(what: PartKind, before: Part, now: Part): Difference {
  return {
    what,
    ...(before === undefined ? {} : { before: before.shown }),
    ...(now === undefined ? {} : { now: now.shown }),
  };
}
