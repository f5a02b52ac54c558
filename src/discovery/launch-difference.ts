// What is different in a definition since somebody decided about another one at its place.

import {
  type DecidedLaunch,
  type PartKind,
  type RememberedLaunch,
  type RememberedPart,
  rememberedLaunch,
} from './remembered-launch.ts';

/** Without `before` it is new, without `now` it is gone; both are as they may be shown. */
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
  // What variables stand for is only worth a word where nothing else is different.
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

/** The longest common part of both stays; the rest went, or came. */
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

/** Of the common part of what begins at each pair of places. */
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
