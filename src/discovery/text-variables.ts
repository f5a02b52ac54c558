// Variables that OpenCode and Kilo fill in anywhere in a file: {env:NAME}, and {file:path} for a file's content.
// Windsurf's ${file:path} is filled in here too, and the variable file that an entry may name is read.

import { diagnostic, type Report } from './diagnostic.ts';
import type { Draft } from './discovered-server.ts';
import type { Machine } from './machine.ts';
import { mapTexts } from './tree.ts';

const FILE = /\{file:([^{}]+)\}/g;
const ENV = /\{env:([^{}]+)\}/g;

export interface TextVariables {
  readonly machine: Machine;
  readonly report: Report;
  readText(path: string): Promise<string | undefined>;
}

export function hasTextVariables(value: unknown): boolean {
  return textsMatching(value, FILE).length + textsMatching(value, ENV).length > 0;
}

export function namesEnvironment(value: unknown): boolean {
  return textsMatching(value, ENV).length > 0;
}

/** The file names as written. */
export function filesNamedIn(value: unknown): string[] {
  return textsMatching(value, FILE);
}

/** The values before anything was filled in; values that come partly from a file stay filled in. */
export function asWritten(raw: Values, filled: Values): Values {
  return Object.fromEntries(
    Object.entries(raw).map(([name, text]) => [name, namesFile(text) ? (filled[name] ?? text) : text]),
  );
}

type Values = Readonly<Record<string, string>>;

export function namesFile(value: unknown): boolean {
  return textsMatching(value, FILE).length > 0;
}

/** Fills in all texts. A missing variable or file becomes an empty text. */
export async function fillTexts(value: unknown, path: string, server: string, fill: TextVariables): Promise<unknown> {
  const { machine, report } = fill;
  const contents = new Map<string, string>();
  for (const name of new Set(textsMatching(value, FILE)))
    contents.set(name, ((await fill.readText(placeOf(name, path, machine))) ?? '').trim());
  for (const name of new Set(textsMatching(value, ENV))) {
    if (machine.env(name) !== undefined) continue;
    const message = `${path}: "${server}" needs the variable ${name}, which is not set.`;
    report(diagnostic('missing-env', message, { path, server, name }));
  }
  return mapTexts(value, (text) =>
    text.replace(/\{(env|file):([^{}]+)\}/g, (_, kind: string, name: string) =>
      kind === 'env' ? (machine.variable(name, '') ?? '') : (contents.get(name) ?? ''),
    ),
  );
}

/** Fills in files. A file that cannot be read leaves its variable unchanged. */
export async function fillFiles(value: unknown, path: string, fill: TextVariables): Promise<unknown> {
  const contents = new Map<string, string | undefined>();
  for (const name of new Set(textsMatching(value, FILE)))
    contents.set(name, (await fill.readText(placeOf(name, path, fill.machine)))?.trim());
  return mapTexts(value, (text) =>
    text.replace(/\$\{file:([^{}]+)\}/g, (whole, name: string) => contents.get(name) ?? whole),
  );
}

function placeOf(name: string, path: string, { path: paths, home }: Machine): string {
  if (/^~[\\/]/.test(name)) return paths.join(home, name.slice(1));
  return paths.resolve(paths.dirname(path), name);
}

function textsMatching(value: unknown, pattern: RegExp): string[] {
  const found: string[] = [];
  mapTexts(value, (text) => {
    for (const [, name] of text.matchAll(pattern)) if (name !== undefined) found.push(name);
    return text;
  });
  return found;
}

const LINE = /^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=(.*)$/;

/** The draft with its file's variables. Variables that the entry itself sets take precedence. */
export async function withEnvFile(
  draft: Draft,
  envFile: string,
  { machine, readText }: { machine: Machine; readText(path: string): Promise<string | undefined> },
): Promise<Draft> {
  const path = machine.path.resolve(draft.cwd ?? machine.cwd, envFile);
  const text = await readText(path);
  if (text === undefined) return { ...draft, envFile: path };
  const read = variablesIn(text);
  return {
    ...draft,
    envFile: path,
    env: { ...read, ...draft.env },
    raw: { ...draft.raw, env: withoutFileVariables(draft, read) },
  };
}

/** Removes variables that the entry only names if the file has a value for them. */
function withoutFileVariables(
  { env, raw }: Draft,
  read: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const isOfFile = (name: string): boolean => Object.hasOwn(read, name) && !Object.hasOwn(env, name);
  return Object.fromEntries(Object.entries(raw.env).filter(([name]) => !isOfFile(name)));
}

function variablesIn(text: string): Record<string, string> {
  const pairs = text.split(/\r?\n/).flatMap((line) => {
    const [, name, value = ''] = LINE.exec(line) ?? [];
    return name === undefined ? [] : [[name, unquoted(value.trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function unquoted(value: string): string {
  const [, double, single] = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/.exec(value) ?? [];
  if (double !== undefined) return double.replace(/\\n/g, '\n').replace(/\\(["\\$])/g, '$1');
  return single ?? value.replace(/(?<!\s)\s+#.*$/, '');
}
