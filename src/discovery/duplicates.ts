// Finds the same server under several names or from several clients: the first is used, the others refer to it. Servers
// that are only probably the same are reported, and stay separate.

import { diagnostic, type Report } from './diagnostic.ts';
import { type Draft, memberName, withState } from './discovered-server.ts';
import { type Signature, signatureOf } from './signature.ts';

export interface Group {
  readonly canonical: string;
  readonly members: readonly string[];
}

export interface Conflict {
  readonly name: string;
  readonly members: readonly string[];
}

export interface Grouped {
  readonly drafts: readonly Draft[];
  readonly groups: readonly Group[];
  readonly conflicts: readonly Conflict[];
}

type Signatures = ReadonlyMap<Draft, Signature>;

const COMPARED = new Set(['ready', 'disabled', 'needs-input', 'pending-approval']);

/** Takes the drafts in order of precedence. */
export function groupDuplicates(drafts: readonly Draft[], report: Report): Grouped {
  const compared = drafts.filter(({ state }) => COMPARED.has(state));
  const signatures: Signatures = new Map(compared.map((draft) => [draft, signatureOf(draft)]));
  const families = [...familiesOf(signatures, ({ key }) => key).values()];
  tellProbable(signatures, report);
  const replaced = new Map(families.flatMap(withDuplicates));
  return {
    drafts: drafts.map((draft) => replaced.get(draft) ?? draft),
    groups: groupsOf(families, signatures),
    conflicts: conflictsOf(signatures),
  };
}

function familiesOf(
  signatures: Signatures,
  wordOf: (signature: Signature) => string | undefined,
): Map<string, Draft[]> {
  const families = new Map<string, Draft[]>();
  for (const [draft, signature] of signatures) {
    const word = wordOf(signature);
    if (word === undefined) continue;
    const family = families.get(word);
    if (family === undefined) families.set(word, [draft]);
    else family.push(draft);
  }
  return families;
}

/** Only usable definitions replace others, or are replaced. */
function withDuplicates(family: readonly Draft[]): [Draft, Draft][] {
  const [first, ...others] = family.filter(({ state }) => state === 'ready');
  if (first === undefined || others.length === 0) return [];
  const sources = [...first.sources, ...others.flatMap((other) => other.sources)];
  return [
    [first, { ...first, sources }],
    ...others.map((other): [Draft, Draft] => [
      other,
      withState(other, 'duplicate', `the same as ${memberName(first)}`),
    ]),
  ];
}

/** Groups duplicates. Two groups may look equal because their difference is not shown: then they get a number. */
function groupsOf(families: readonly (readonly Draft[])[], signatures: Signatures): Group[] {
  const used = new Map<string, number>();
  return families.map((family) => {
    const [first] = family;
    const canonical = (first && signatures.get(first)?.canonical) ?? '';
    const count = (used.get(canonical) ?? 0) + 1;
    used.set(canonical, count);
    const members = [...new Set(family.map(memberName))];
    return { canonical: count === 1 ? canonical : `${canonical} #${count}`, members };
  });
}

function conflictsOf(signatures: Signatures): Conflict[] {
  const byName = new Map<string, Draft[]>();
  for (const draft of signatures.keys()) byName.set(draft.name, [...(byName.get(draft.name) ?? []), draft]);
  return [...byName].flatMap(([name, drafts]) => {
    const keys = new Set(drafts.map((draft) => signatures.get(draft)?.key));
    const members = [...new Set(drafts.map(memberName))];
    return keys.size > 1 && members.length > 1 ? [{ name, members }] : [];
  });
}

function tellProbable(signatures: Signatures, report: Report): void {
  for (const [kin, family] of familiesOf(signatures, (signature) => signature.kin)) {
    const ofFamily = new Map(family.flatMap((draft) => pairsOf(draft, signatures)));
    const alike = [...familiesOf(ofFamily, ({ key }) => key).values()].map((same) => same.map(memberName));
    if (alike.length < 2 || new Set(alike.flat()).size < 2) continue;
    const message = `${apart(alike)} all run ${kin}, with different arguments, environments or headers.`;
    report(diagnostic('probable-duplicate', message, { name: kin }));
  }
}

function pairsOf(draft: Draft, signatures: Signatures): [Draft, Signature][] {
  const signature = signatures.get(draft);
  return signature === undefined ? [] : [[draft, signature]];
}

/** For people: each distinct member, together with its duplicates. */
export function apart(families: readonly (readonly string[])[]): string {
  const words = families.map((family) => {
    const [first = '', ...same] = new Set(family);
    return same.length === 0 ? first : `${first} (also ${same.join(', ')})`;
  });
  return words.join(', ');
}

/** The members of a conflict, each together with its duplicates. */
export function alikeAmong(members: readonly string[], groups: readonly Group[]): string[][] {
  const groupOf = (member: string): Group | undefined => groups.find((group) => group.members.includes(member));
  const families = new Map<unknown, string[]>();
  for (const member of members) {
    const key = groupOf(member) ?? member;
    families.set(key, [...(families.get(key) ?? []), member]);
  }
  return [...families.values()];
}
