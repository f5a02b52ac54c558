// Shows a server's form on the terminal of the person who runs `call`, field by field. An empty line skips an optional
// field, and the end of the input cancels.

import { createInterface, type Interface } from 'node:readline';
import { membersOf, textOf } from '../util/json-value.ts';
import type { CliHost } from './host.ts';
import { printable } from './render/table.ts';
import { widthOf, wrappedLines } from './render/terminal.ts';
import { recordsIn } from './tool-session.ts';

export interface ElicitAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, unknown>>;
}

type Schema = Readonly<Record<string, unknown>>;

const CANCELLED: ElicitAnswer = { action: 'cancel' };
const DECLINED: ElicitAnswer = { action: 'decline' };

/** Asks the question; undefined if it is not a form. */
export async function answered(params: unknown, host: CliHost): Promise<ElicitAnswer | undefined> {
  const { message, mode = 'form', requestedSchema } = membersOf(params);
  if (mode !== 'form') return undefined;
  const lines = createInterface({ input: host.stdin, output: host.stderr });
  const asking = new Asking(lines);
  try {
    host.stderr.write(`\n${wrappedLines(textOf(message), { width: widthOf(host), indent: '' })}\n`);
    return await filledIn(membersOf(requestedSchema), asking, host);
  } finally {
    lines.close();
  }
}

async function filledIn(schema: Schema, asking: Asking, host: CliHost): Promise<ElicitAnswer> {
  const first = await asking.line('Answer it? [Y]es, [n]o, [c]ancel: ');
  if (first === undefined || /^c/i.test(first)) return CANCELLED;
  if (/^n/i.test(first)) return DECLINED;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const content: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(membersOf(schema.properties))) {
    const value = await askField(name, membersOf(field), { isNeeded: required.has(name), asking, host });
    if (value === END) return CANCELLED;
    if (value !== NOTHING) content[name] = value;
  }
  return { action: 'accept', content };
}

const END = Symbol('end of the input');
const NOTHING = Symbol('left out');

interface Field {
  readonly isNeeded: boolean;
  readonly asking: Asking;
  readonly host: CliHost;
}

/** Asks until the input fits. */
async function askField(name: string, field: Schema, { isNeeded, asking, host }: Field): Promise<unknown> {
  const choices = choicesOf(field);
  const many = field.type === 'array' ? choicesOf(membersOf(field.items)) : [];
  const title = textOf(field.title) || name;
  const description = textOf(field.description);
  const heading = `${title}${description === '' ? '' : `: ${description}`}`;
  host.stderr.write(`${wrappedLines(heading, { width: widthOf(host) })}\n`);
  for (const [i, { label }] of [...choices, ...many].entries()) host.stderr.write(`  ${i + 1}) ${printable(label)}\n`);
  const otherwise = field.default;
  const hints = [
    kindOf(field, { choices, many }),
    ...(otherwise === undefined ? [] : [`else ${printable(JSON.stringify(otherwise))}`]),
    ...(isNeeded || otherwise !== undefined ? [] : ['may be left out']),
  ];
  for (;;) {
    const typed = await asking.line(`  (${hints.join(', ')}) > `);
    if (typed === undefined) return END;
    if (typed === '' && otherwise !== undefined) return otherwise;
    if (typed === '' && !isNeeded) return NOTHING;
    const value = valueIn(typed, field, { choices, many });
    if (!(value instanceof Misfit)) return value;
    host.stderr.write(`  ${value.problem}\n`);
  }
}

interface Choice {
  readonly value: unknown;
  readonly label: string;
}

interface Choices {
  readonly choices: readonly Choice[];
  readonly many: readonly Choice[];
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf }: Schema): Choice[] {
  const named = [oneOf, anyOf].find(Array.isArray);
  if (named !== undefined)
    return recordsIn(named).map(({ const: value, title }) => ({ value, label: textOf(title) || textOf(value) }));
  const names: readonly unknown[] = Array.isArray(enumNames) ? enumNames : [];
  return Array.isArray(values)
    ? values.map((value: unknown, i) => ({ value, label: textOf(names[i]) || textOf(value) }))
    : [];
}

function kindOf({ type, format }: Schema, { choices, many }: Choices): string {
  if (choices.length > 0) return 'a number or a name';
  if (many.length > 0) return 'numbers or names, with commas';
  if (type === 'boolean') return 'yes or no';
  if (type === 'integer') return 'a whole number';
  if (type === 'number') return 'a number';
  return typeof format === 'string' ? printable(format) : 'text';
}

class Misfit {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

function valueIn(typed: string, field: Schema, { choices, many }: Choices): unknown {
  if (choices.length > 0) return chosen(typed, choices);
  if (many.length > 0) {
    const values = typed.split(',').map((word) => chosen(word.trim(), many));
    return values.find((value) => value instanceof Misfit) ?? values;
  }
  if (field.type === 'boolean')
    return (
      /^(?:y|yes|true)$/i.test(typed) || (/^(?:n|no|false)$/i.test(typed) ? false : new Misfit('It is yes or no.'))
    );
  if (field.type === 'integer' || field.type === 'number') return numberIn(typed, field);
  const { minLength, maxLength } = field;
  if (typeof minLength === 'number' && typed.length < minLength)
    return new Misfit(`It has at least ${minLength} characters.`);
  if (typeof maxLength === 'number' && typed.length > maxLength)
    return new Misfit(`It has at most ${maxLength} characters.`);
  return typed;
}

function chosen(typed: string, choices: readonly Choice[]): unknown {
  const found =
    choices.find(({ value, label }) => value === typed || label === typed) ??
    (/^\d+$/.test(typed) ? choices[Number(typed) - 1] : undefined);
  return found === undefined ? new Misfit('It is none of these.') : found.value;
}

function numberIn(typed: string, { type, minimum, maximum }: Schema): unknown {
  const value = Number(typed);
  if (!Number.isFinite(value) || typed.trim() === '') return new Misfit('It is a number.');
  if (type === 'integer' && !Number.isInteger(value)) return new Misfit('It is a whole number.');
  if (typeof minimum === 'number' && value < minimum) return new Misfit(`It is at least ${minimum}.`);
  if (typeof maximum === 'number' && value > maximum) return new Misfit(`It is at most ${maximum}.`);
  return value;
}

/** Reads lines with one reader, so that lines typed ahead are kept for the next question. */
class Asking {
  readonly #lines: Interface;
  readonly #typed: string[] = [];
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(lines: Interface) {
    this.#lines = lines;
    lines.on('line', (line) => {
      this.#typed.push(line);
      this.#wake?.();
    });
    lines.on('close', () => {
      this.#isOver = true;
      this.#wake?.();
    });
  }

  /** Reads a line; undefined at the end of the input. */
  async line(prompt: string): Promise<string | undefined> {
    this.#lines.setPrompt(prompt);
    if (!this.#isOver) this.#lines.prompt();
    while (this.#typed.length === 0 && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#typed.shift()?.trim();
  }
}
