// Clients that merge their files field by field, so that an entry may contain only `enabled = false`. Additions of a
// project wait for approval, beside the definition without them. Before approval, a project may only switch off and set
// timeouts; no other field, known or not, reaches a definition that the user agreed to. A project that the client's
// user trusts is no exception, because its additions may have changed since.

import { traitsOf } from './client-traits.ts';
import type { PlacedEntry } from './definition.ts';
import { isTree, type Tree, treeOf } from './tree.ts';
import { isSwitchedOff } from './written-definition.ts';

const STARTS = ['command', 'cmd', 'url', 'httpUrl', 'serverUrl', 'uri', 'transport'];
const DEFINES = [
  ...['type', ...STARTS, 'args', 'cwd', 'oauth', 'auth', 'headersHelper', 'http_headers_helper'],
  ...['env', 'environment', 'envs', 'envFile', 'env_vars'],
  ...['headers', 'http_headers', 'env_http_headers', 'requestInit', 'requestOptions'],
  ...['bearer_token_env_var', 'bearer_token'],
];
const SWITCHES = ['enabled', 'disabled', 'active', 'isActive', 'anythingllm'];
const TIMES = [
  ...['timeout', 'timeoutMs', 'tool_timeout_sec', 'request_timeout_ms'],
  ...['startup_timeout_sec', 'startup_timeout_ms', 'discoveryTimeoutMs'],
];

/**
 * Merges entries with the same name into one, or into one with and one without the project's additions. Entries of
 * other clients stay unchanged.
 */
export function mergeLayers(entries: readonly PlacedEntry[]): PlacedEntry[] {
  const stacks = new Map<string, PlacedEntry[]>();
  const others: PlacedEntry[] = [];
  for (const entry of entries) {
    const key = JSON.stringify([entry.client, entry.name]);
    if (!traitsOf(entry.client).isLayered || !isTree(entry.fields)) others.push(entry);
    // Kept separate, so that it is reported.
    else if (entry.refusal !== undefined) others.push(...(isDefinition(entry) ? [entry] : []));
    else stacks.set(key, [...(stacks.get(key) ?? []), entry]);
  }
  const merged = [...stacks.values()].flatMap((stack) => mergeStack(stack.sort((a, b) => a.order - b.order)));
  return [...others, ...merged].sort((a, b) => a.order - b.order);
}

function mergeStack(stack: readonly PlacedEntry[]): PlacedEntry[] {
  const isForeign = ({ awaitsApproval, trustedDir }: PlacedEntry): boolean =>
    awaitsApproval && trustedDir === undefined;
  const own = stack.filter((entry) => !isForeign(entry));
  const trusted = own.filter(({ trustedDir }) => trustedDir !== undefined);
  if (trusted.length === 0 || own.length === stack.length) return mergeAlike(stack);
  const [wish] = mergeAlike(stack);
  const without = mergeAlike(own);
  return wish?.awaitsApproval === true && !isSwitchedOff(fieldsOf(wish)) ? [wish, ...without] : without;
}

/** Merges entries with the same name. A project's part is either trusted by its client's user, or not. */
function mergeAlike(stack: readonly PlacedEntry[]): PlacedEntry[] {
  const whole = merged(stack);
  const agreed = stack.filter(({ awaitsApproval }) => !awaitsApproval);
  if (whole === undefined || !isDefinition(whole)) return [];
  if (agreed.length === stack.length) return [whole];
  const base = merged(agreed);
  if (base === undefined || !isDefinition(base)) return [waiting(whole, stack)];
  return withProject(base, whole, stack);
}

/** The version with the project's additions comes first, because it takes precedence once approved. */
function withProject(base: PlacedEntry, whole: PlacedEntry, stack: readonly PlacedEntry[]): PlacedEntry[] {
  const heedsUntrusted = base.client !== 'codex' || trustedDirOf(stack) !== undefined;
  if (isSwitchedOff(fieldsOf(whole))) return [heedsUntrusted ? { ...base, isOff: true } : base];
  if (!isSwitchedOff(fieldsOf(base)) && onlyTimesDiffer(fieldsOf(base), fieldsOf(whole)))
    return [heedsUntrusted ? withTimes(base, fieldsOf(whole)) : base];
  const last = stack.findLast(({ awaitsApproval }) => awaitsApproval) ?? whole;
  const { path, realpath, scope, location, pointer } = last;
  return [waiting({ ...whole, path, realpath, scope, location, pointer, order: base.order }, stack), base];
}

function waiting(whole: PlacedEntry, stack: readonly PlacedEntry[]): PlacedEntry {
  const { trustedDir: _, ...entry } = whole;
  const trustedDir = trustedDirOf(stack);
  return { ...entry, awaitsApproval: true, ...(trustedDir === undefined ? {} : { trustedDir }) };
}

/** The trusted directory; undefined unless the client's user trusts everything that projects add. */
function trustedDirOf(stack: readonly PlacedEntry[]): string | undefined {
  const added = stack.filter(({ awaitsApproval }) => awaitsApproval);
  return added.every(({ trustedDir }) => trustedDir !== undefined) ? added.at(-1)?.trustedDir : undefined;
}

/** True if only timeouts differ and neither is switched off; how that is written does not matter. */
function onlyTimesDiffer(base: Tree, whole: Tree): boolean {
  const textOf = (fields: Tree, key: string): string | undefined =>
    Object.hasOwn(fields, key) ? JSON.stringify(fields[key]) : undefined;
  return Object.keys(whole)
    .filter((key) => !SWITCHES.includes(key) && !TIMES.includes(key))
    .every((key) => textOf(base, key) === textOf(whole, key));
}

function withTimes(base: PlacedEntry, whole: Tree): PlacedEntry {
  const times = TIMES.filter((key) => Object.hasOwn(whole, key)).map((key) => [key, whole[key]] as const);
  return { ...base, fields: mergeDeep(base.fields, treeOf(times)) };
}

function merged(stack: readonly PlacedEntry[]): PlacedEntry | undefined {
  const owner = stack.findLast((entry) => STARTS.some((key) => Object.hasOwn(fieldsOf(entry), key))) ?? stack[0];
  if (owner === undefined) return undefined;
  const fields = stack.map((entry) => entry.fields).reduce(mergeDeep);
  const unfilled = stack.map((entry) => entry.unfilled ?? entry.fields).reduce(mergeDeep);
  const sources = stack.flatMap((entry) => entry.sources);
  return { ...owner, fields, unfilled, sources };
}

/** False for an entry that only switches or times something that is defined nowhere. */
function isDefinition(entry: PlacedEntry): boolean {
  return DEFINES.some((key) => Object.hasOwn(fieldsOf(entry), key));
}

function fieldsOf({ fields }: PlacedEntry): Tree {
  return isTree(fields) ? fields : {};
}

function mergeDeep(below: unknown, above: unknown): unknown {
  if (!isTree(below) || !isTree(above)) return above;
  const members = new Map(Object.entries(below));
  for (const [key, value] of Object.entries(above))
    members.set(key, members.has(key) ? mergeDeep(members.get(key), value) : value);
  return treeOf(members);
}
