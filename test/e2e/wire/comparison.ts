// Compares what went over a leg with what should have: every byte of every line, in order. Before that it names what each
// side chooses for itself: ids that the bridge or a server has made up, and progress tokens that stand for others.

import { leavesOf, replaced, spelled } from './json-places.ts';
import type { Line } from './tap.ts';

export type Leg = 'client' | 'server';

/** What both legs have seen of one conversation. */
export interface Recording {
  readonly client: readonly Line[];
  readonly server: readonly Line[];
}

/** Something that must differ between a conversation through the bridge and a direct one. */
export interface Rule {
  /** A clause, a decision, or a section of the documents. */
  readonly id: string;
  readonly why: string;
  readonly leg: Leg | 'both';
  /** The lines that it is about, by their keys. */
  readonly of: RegExp;
  /** What should come through the bridge, from what came directly. */
  readonly expected?: (direct: string) => string;
  /** What is compared of what came, on both sides. */
  readonly kept?: (text: string) => string;
  /** True if such a line may come through the bridge although none comes directly. */
  readonly mayCome?: boolean;
  /** True if such a line that comes directly may not come through the bridge. */
  readonly mayMiss?: boolean;
  /** True if such lines are not compared at all: when they come is chance. */
  readonly isLeftOut?: boolean;
}

interface Entry {
  /** Direction, method, and request. */
  readonly key: string;
  readonly text: string;
}

export interface Difference {
  readonly leg: Leg;
  readonly key: string;
  /** The member, by its path, or what is wrong with the whole line. */
  readonly where: string;
  readonly wanted?: string | undefined;
  readonly found?: string | undefined;
}

/** The bridge's own requests to a server are no part of the comparison, but for the first. */
const OWN = 'own';

class Names {
  readonly #leg: Leg;
  readonly #requests = new Map<string, string>();
  readonly #tokens = new Map<string, string>();
  readonly #questions = new Map<string, string>();
  readonly #times = new Map<string, number>();

  constructor(leg: Leg) {
    this.#leg = leg;
  }

  entry({ to, text }: Line): Entry | undefined {
    const method = spelled(text, ['method'])?.slice(1, -1);
    const id = spelled(text, ['id']);
    const arrow = to === 'server' ? '->' : '<-';
    if (method === undefined) return this.#answer(arrow, id, text, to === 'client' ? this.#requests : this.#questions);
    const named = id === undefined ? this.#notice(to, method, text) : this.#request(to, method, id, text);
    return named && { key: `${arrow} ${method}${named.of}`, text: named.text };
  }

  #answer(arrow: string, id: string | undefined, text: string, ids: ReadonlyMap<string, string>): Entry | undefined {
    const name = ids.get(id ?? '');
    if (name === OWN) return undefined;
    // One that nobody has asked for, or in another spelling, keeps its id.
    if (name === undefined) return { key: `${arrow} answer to ${id ?? 'nobody'}`, text };
    return { key: `${arrow} answer to ${name}`, text: this.#named(text, ['id'], name, arrow === '<-') };
  }

  /** What a client has made up itself must come as it is. */
  #named(text: string, path: readonly string[], name: string, isClients: boolean): string {
    return this.#leg === 'client' && isClients ? text : replaced(text, path, `"«${name}»"`);
  }

  #request(to: Line['to'], method: string, id: string, text: string): { text: string; of: string } | undefined {
    const isClients = to === 'server';
    const name = isClients ? this.#nameOfRequest(method, text) : `question ${this.#count('question')}`;
    (isClients ? this.#requests : this.#questions).set(id, name);
    if (name === OWN) return undefined;
    const path = ['params', '_meta', 'progressToken'];
    const token = spelled(text, path);
    if (token !== undefined) this.#tokens.set(`${to} ${token}`, `token of ${name}`);
    const withId = this.#named(text, ['id'], name, isClients);
    return { text: this.#named(withId, path, `token of ${name}`, isClients), of: ` (${name})` };
  }

  #nameOfRequest(method: string, text: string): string {
    if (method === 'initialize') return 'initialize';
    const step = spelled(text, ['params', '_meta', 'wire/step']);
    if (step === undefined) return this.#leg === 'client' ? `${method} ${this.#count(method)}` : OWN;
    const times = this.#count(`step ${step}`);
    return times === 1 ? `step ${step}` : `step ${step}, ${times}`;
  }

  #count(what: string): number {
    const times = (this.#times.get(what) ?? 0) + 1;
    this.#times.set(what, times);
    return times;
  }

  #notice(to: Line['to'], method: string, text: string): { text: string; of: string } {
    if (method === 'notifications/progress') {
      // The token was made by the side that it goes to.
      const token = spelled(text, ['params', 'progressToken']) ?? '';
      const name = this.#tokens.get(`${to === 'client' ? 'server' : 'client'} ${token}`);
      if (name === undefined) return { text, of: ` (${token})` };
      return { text: this.#named(text, ['params', 'progressToken'], name, to === 'client'), of: ` (${name})` };
    }
    if (method !== 'notifications/cancelled') return { text, of: '' };
    const id = spelled(text, ['params', 'requestId']) ?? '';
    const name = (to === 'server' ? this.#requests : this.#questions).get(id);
    if (name === undefined) return { text, of: ` (${id})` };
    return { text: this.#named(text, ['params', 'requestId'], name, to === 'server'), of: ` (${name})` };
  }
}

function entriesOf(leg: Leg, lines: readonly Line[]): Entry[] {
  const names = new Names(leg);
  return lines.flatMap((line) => names.entry(line) ?? []);
}

/** The entries of both sides that belong together, in order; those of one side alone stand alone. */
function aligned(wanted: readonly Entry[], found: readonly Entry[]): [Entry | undefined, Entry | undefined][] {
  const common = Array.from({ length: wanted.length + 1 }, () => new Array<number>(found.length + 1).fill(0));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = wanted.length - 1; i >= 0; i--)
    for (let j = found.length - 1; j >= 0; j--) {
      const row = common[i] as number[];
      row[j] = wanted[i]?.key === found[j]?.key ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  const pairs: [Entry | undefined, Entry | undefined][] = [];
  let [i, j] = [0, 0];
  while (i < wanted.length || j < found.length) {
    if (i < wanted.length && j < found.length && wanted[i]?.key === found[j]?.key)
      pairs.push([wanted[i++], found[j++]]);
    else if (j >= found.length || (i < wanted.length && at(i + 1, j) >= at(i, j + 1)))
      pairs.push([wanted[i++], undefined]);
    else pairs.push([undefined, found[j++]]);
  }
  return pairs;
}

function membersThatDiffer(wanted: string, found: string): Omit<Difference, 'leg' | 'key'>[] {
  const [wantedLeaves, foundLeaves] = [leavesOf(wanted), leavesOf(found)];
  const [inWanted, inFound] = [new Map(wantedLeaves), new Map(foundLeaves)];
  const paths = [...new Set([...inWanted.keys(), ...inFound.keys()])];
  const differing = paths
    .filter((path) => inWanted.get(path) !== inFound.get(path))
    .map((path) => ({ where: path, wanted: inWanted.get(path), found: inFound.get(path) }));
  if (differing.length > 0) return differing;
  const isSame = wantedLeaves.every(([path], index) => foundLeaves[index]?.[0] === path);
  return [{ where: isSame ? 'white space' : 'order of members', wanted, found }];
}

function differencesOn(
  leg: Leg,
  wantedLines: readonly Line[],
  foundLines: readonly Line[],
  rules: readonly Rule[],
): Difference[] {
  const rulesFor = (key: string): Rule[] =>
    rules.filter((rule) => (rule.leg === 'both' || rule.leg === leg) && rule.of.test(key));
  const compared = (lines: readonly Line[]): Entry[] =>
    entriesOf(leg, lines).filter(({ key }) => !rulesFor(key).some(({ isLeftOut }) => isLeftOut === true));
  const [wanted, found] = [compared(wantedLines), compared(foundLines)];
  const differences: Difference[] = [];
  for (const [direct, bridged] of aligned(wanted, found)) {
    const key = direct?.key ?? bridged?.key ?? '';
    const about = rulesFor(key);
    if (direct === undefined && about.some(({ mayCome }) => mayCome === true)) continue;
    if (bridged === undefined && about.some(({ mayMiss }) => mayMiss === true)) continue;
    if (direct === undefined || bridged === undefined) {
      const where = direct === undefined ? 'is there too much' : 'is missing';
      differences.push({ leg, key, where, wanted: direct?.text, found: bridged?.text });
      continue;
    }
    const kept = (text: string): string => about.reduce((said, rule) => rule.kept?.(said) ?? said, text);
    const expected = about.reduce((said, rule) => rule.expected?.(said) ?? said, direct.text);
    const [one, other] = [kept(expected), kept(bridged.text)];
    if (one !== other) differences.push(...membersThatDiffer(one, other).map((member) => ({ leg, key, ...member })));
  }
  return differences;
}

/** Everything that came through the bridge and is not as it was directly, but for what the rules say. */
export const differences = (direct: Recording, bridged: Recording, rules: readonly Rule[]): Difference[] => [
  ...differencesOn('client', direct.client, bridged.client, rules),
  ...differencesOn('server', direct.server, bridged.server, rules),
];

const shortened = (text: string | undefined): string =>
  text === undefined ? 'nothing' : text.length > 300 ? `${text.slice(0, 300)}… (${text.length})` : text;

export const told = ({ leg, key, where, wanted, found }: Difference): string =>
  `${leg} leg, ${key}: ${where}: wanted ${shortened(wanted)}, found ${shortened(found)}`;
