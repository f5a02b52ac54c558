// The members of parameters, for people: those of objects, and of objects in lists, with how deep they are. A
// schema that refers to itself is followed once.

import { isRecord, membersOf } from '../../util/json-value.ts';
import { type Parameter, resolve, type Schema, shapeOf } from './tool-schema.ts';

export interface NestedParameter extends Parameter {
  readonly depth: number;
}

interface Member {
  readonly name: string;
  readonly isNeeded: boolean;
  readonly written: unknown;
}

const DEEPEST = 6;
/** The most members of a schema: nobody reads more. */
const MOST = 400;

/** In the order in which they are read: each before what stands in it, and those that are needed first. */
export function nestedParametersOf(schema: unknown): NestedParameter[] {
  const root = membersOf(schema);
  const found: NestedParameter[] = [];
  const walk = (members: readonly Member[], depth: number, within: ReadonlySet<string>): void => {
    for (const { name, isNeeded, written } of members) {
      if (found.length >= MOST) return;
      found.push({ name, isNeeded, shape: shapeOf(written, root), depth });
      const inside = new Set(within);
      if (depth + 1 < DEEPEST) walk(membersIn(written, root, inside), depth + 1, inside);
    }
  };
  walk(ownMembers(resolve(root, root)), 0, new Set(['#']));
  return found;
}

/** `within` are the references that were followed on the way here, and grows by those that are followed now. */
function membersIn(written: unknown, root: Schema, within: Set<string>): Member[] {
  const references = referencesIn(membersOf(written));
  if (references.some((reference) => within.has(reference))) return [];
  for (const reference of references) within.add(reference);
  const schema = resolve(written, root);
  const variants: unknown[] = [schema.anyOf, schema.oneOf].find(Array.isArray) ?? [];
  const ofVariants = variants.flatMap((one) => membersIn(one, root, within));
  return unique([
    ...ownMembers(schema),
    ...othersIn(schema),
    ...(schema.items === undefined ? [] : membersIn(schema.items, root, within)),
    ...(variants.length > 1 ? ofVariants.map((member) => ({ ...member, isNeeded: false })) : ofVariants),
  ]);
}

function referencesIn({ $ref, allOf }: Schema): string[] {
  const parts = Array.isArray(allOf) ? allOf.flatMap((part) => referencesIn(membersOf(part))) : [];
  return typeof $ref === 'string' ? [$ref, ...parts] : parts;
}

function ownMembers({ properties, required }: Schema): Member[] {
  const needed = new Set(Array.isArray(required) ? required : []);
  const members = Object.entries(membersOf(properties)).map(([name, written]) => ({
    name,
    isNeeded: needed.has(name),
    written,
  }));
  return members.sort((a, b) => Number(b.isNeeded) - Number(a.isNeeded));
}

function othersIn({ additionalProperties: others }: Schema): Member[] {
  return isRecord(others) && Object.keys(others).length > 0
    ? [{ name: '(any name)', isNeeded: false, written: others }]
    : [];
}

/** Members of one name, as variants have them, are shown once: the first. */
function unique(members: readonly Member[]): Member[] {
  const byName = new Map<string, Member>();
  for (const member of members) if (!byName.has(member.name)) byName.set(member.name, member);
  return [...byName.values()];
}
