// The file of variables that an entry may name. What the entry itself sets counts before it.

import type { Draft } from './discovered-server.ts';
import type { Machine } from './machine.ts';

const LINE = /^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=(.*)$/;

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
    raw: { ...draft.raw, env: withoutThose(draft, read) },
  };
}

/** A variable that the entry only names, and that its file has a value for, is the file's. */
function withoutThose({ env, raw }: Draft, read: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
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
