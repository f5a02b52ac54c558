// Finds every fault in one config file, each with its place in the text. No message quotes a value of the file.

import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Node, ParseError } from 'jsonc-parser';
import { BridgeError } from '../util/bridge-error.ts';
import { placeIn, sentenceOf } from '../util/json-fault.ts';
import { cautionsFor } from './cautions.ts';
import {
  type ConfigPlace,
  directoryFiles,
  findConfigFile,
  isProgram,
  pathsIn,
  readText,
  refuseAnotherUsers,
  userFiles,
} from './config-file.ts';
import { runConfig } from './config-program.ts';
import { patternsOf } from './load.ts';
import type { ConfigFinding } from './reader.ts';
import { validate } from './schema.ts';
import type { PatternBudget } from './tool-rules.ts';

export interface PlacedFinding extends ConfigFinding {
  /** Counts from 1; undefined for the whole file, and for what a program has made. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

export interface CheckOptions {
  readonly homedir: string;
  /** True if other users may read the file. */
  readonly isShared: boolean;
  /** Adds findings about the content from rooms that know more about it. */
  readonly more: (content: unknown) => readonly ConfigFinding[];
}

const MOST_SYNTAX_FAULTS = 10;

/** Checks the file; the findings come in the order of the file. Rejects if the file cannot be read. */
export async function checkConfig(file: string, options: CheckOptions): Promise<readonly PlacedFinding[]> {
  refuseAnotherUsers(file);
  if (isProgram(file)) {
    const content = await runConfig(file);
    return findingsIn(content, file, options, await patternsOf(content));
  }
  const text = readText(file);
  const { parseTree, getNodeValue, printParseErrorCode } = await import('jsonc-parser');
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  if (tree === undefined || errors.length > 0)
    return distinct(errors)
      .slice(0, MOST_SYNTAX_FAULTS)
      .map(({ error, offset }) => ({ ...syntaxFault(printParseErrorCode(error)), ...placeIn(text, offset) }));
  const places = new Map<string, Place>();
  const repeated = readPlaces(tree, '', places);
  const content: unknown = getNodeValue(tree);
  const findings = [...findingsIn(content, file, options, await patternsOf(content)), ...repeated];
  return findings
    .map((finding) => ({ finding, offset: offsetOf(finding, places) }))
    .sort((a, b) => a.offset - b.offset)
    .map(({ finding, offset }) => ({ ...finding, ...placeIn(text, offset) }));
}

/** Drops repeated errors: the parser reports a missing brace once for each open object. */
function distinct(errors: readonly ParseError[]): ParseError[] {
  return [...new Map(errors.map((fault) => [`${fault.error} ${fault.offset}`, fault])).values()];
}

function findingsIn(
  content: unknown,
  file: string,
  { homedir, isShared, more }: CheckOptions,
  patterns: PatternBudget | undefined,
): readonly ConfigFinding[] {
  const resolvePath = pathsIn(file, homedir);
  const { findings } = validate(content, resolvePath, patterns);
  const said = new Set(findings.map(({ place }) => place.replace(/\.server(?:Name|Command|Url)$/, '')));
  const others = more(content).filter(({ place }) => !said.has(place));
  return [...findings, ...others, ...cautionsFor(content, { isShared, resolvePath })];
}

function syntaxFault(code: string): ConfigFinding {
  return { level: 'error', place: '', problem: sentenceOf(code) ?? code, hint: 'nothing of the file is used' };
}

/** Makes a finding for a file that cannot be read. */
export function unreadable(error: unknown): PlacedFinding {
  if (!(error instanceof BridgeError) || error.code !== 'CONFIG_INVALID') throw error;
  return { level: 'error', place: '', problem: error.message, hint: error.hint };
}

// --- places in the text ---

interface Place {
  readonly key: number;
  readonly value: number;
}

/** Notes the place of every value, under the names that findings use. Returns the repeated keys. */
function readPlaces(node: Node, place: string, places: Map<string, Place>): ConfigFinding[] {
  if (place === '') places.set('', { key: node.offset, value: node.offset });
  if (node.type === 'array')
    return (node.children ?? []).flatMap((item, i) => {
      places.set(`${place}[${i}]`, { key: item.offset, value: item.offset });
      return readPlaces(item, `${place}[${i}]`, places);
    });
  const repeated: ConfigFinding[] = [];
  const seen = new Set<unknown>();
  for (const { children = [] } of node.type === 'object' ? (node.children ?? []) : []) {
    const [key, value] = children;
    if (key === undefined || value === undefined) continue;
    const where = place === '' ? String(key.value) : `${place}.${key.value}`;
    if (seen.has(key.value))
      repeated.push({ level: 'warning', place: where, problem: 'stands here twice', hint: 'the last one is used' });
    seen.add(key.value);
    places.set(where, { key: key.offset, value: value.offset }); // of two, the last counts
    repeated.push(...readPlaces(value, where, places));
  }
  return repeated;
}

const ABOUT_THE_KEY = /^(?:is not known|stands here)/;

/** The place of the value, or of the nearest one around it. */
function offsetOf({ place, problem }: ConfigFinding, places: ReadonlyMap<string, Place>): number {
  for (let name = place; ; name = name.replace(/(?:^|\.)[^.[\]]*$|\[\d+\]$/, '')) {
    const found = places.get(name);
    if (found !== undefined) return name === place && ABOUT_THE_KEY.test(problem) ? found.key : found.value;
    if (name === '') return 0;
  }
}

// --- the possible files ---

export interface Candidate {
  readonly file: string;
  readonly origin: 'named' | 'directory' | 'user';
  readonly exists: boolean;
  /** True if any command reads it. */
  readonly counts: boolean;
  /** True if only `serve` may run it, or `start` after the user agrees. */
  readonly isForeignProgram: boolean;
  readonly reason: string;
}

/** The possible config files, in the order of the search. Throws if a named file does not exist. */
export function candidatesIn(place: ConfigPlace): Candidate[] {
  if (place.named !== undefined) {
    const { file = '' } = findConfigFile(place);
    const counts = { exists: true, counts: true, isForeignProgram: false };
    return [{ file, origin: 'named', ...counts, reason: 'was named, so only this one is used' }];
  }
  const own = directoryFiles({ ...place, runsPrograms: true });
  const users = userFiles(place);
  const [inDirectory, ofUser] = [own, users].map((files) => files.find(existsSync));
  return [
    ...own.map((file) => candidate(file, 'directory', inDirectory, wordsForDirectory(file))),
    ...users.map((file) => candidate(file, 'user', ofUser, wordsForUser(inDirectory))),
  ];
}

function candidate(file: string, origin: Candidate['origin'], first: string | undefined, words: string): Candidate {
  const exists = existsSync(file);
  const counts = file === first;
  const passedOver = `is passed over: ${first === undefined ? '' : basename(first)} stands before it`;
  const reason = !exists ? 'is not there' : counts ? words : passedOver;
  return { file, origin, exists, counts, isForeignProgram: origin === 'directory' && isProgram(file), reason };
}

function wordsForDirectory(file: string): string {
  return isProgram(file)
    ? 'is a program: serve runs it here, start after a yes, nobody else does'
    : 'is used by serve here, and by start after a yes; others take mcpBridge.socketPath and client from it';
}

function wordsForUser(inDirectory: string | undefined): string {
  if (inDirectory === undefined) return 'is used';
  return `is used where ${basename(inDirectory)} is not: by the daemon that connect starts`;
}
