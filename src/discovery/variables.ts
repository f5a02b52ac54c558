// Fills the variables of an entry in, once and without looking at what comes of it again, and notes what is missing.

import type { Dialect, Surroundings, VariableField, VariableFinding } from './dialects.ts';

export class Variables {
  readonly #dialect: Dialect;
  readonly #at: Surroundings;
  readonly missing = new Set<string>();
  readonly inputs = new Set<string>();
  executes = false;

  constructor(dialect: Dialect, at: Surroundings) {
    this.#dialect = dialect;
    this.#at = at;
  }

  fill(text: string, field: VariableField): string {
    if (!this.#dialect.fields.includes(field)) return text;
    return text.replace(this.#dialect.pattern, (...match: unknown[]) => {
      const end = match.findIndex((part) => typeof part === 'number');
      const groups = match.slice(0, end) as (string | undefined)[];
      const whole = groups[0] ?? '';
      return this.#textOf(this.#dialect.find(groups, field, this.#at), whole);
    });
  }

  /** A variable that stands for a list, and alone in an argument, becomes several. */
  fillArgs(args: readonly string[]): string[] {
    return args.flatMap((arg) => this.#listIn(arg) ?? [this.fill(arg, 'args')]);
  }

  /** A variable that the entry names instead of writing it; undefined when it is not set. */
  named(name: string): string | undefined {
    return this.#at.machine.env(name) ?? this.#at.input(name);
  }

  #listIn(arg: string): readonly string[] | undefined {
    const name = /^\$\{([^{}]*)\}$/.exec(arg)?.[1];
    const value = name === undefined ? undefined : this.#at.own.get(name);
    return Array.isArray(value) ? value : undefined;
  }

  #textOf(finding: VariableFinding | undefined, whole: string): string {
    switch (finding?.kind) {
      case undefined:
        return whole;
      case 'text':
        return finding.text;
      case 'list':
        return finding.texts.join(',');
      case 'missing':
        this.missing.add(finding.name);
        return finding.text ?? whole;
      case 'input':
        this.inputs.add(finding.id);
        return whole;
      case 'executes':
        this.executes = true;
        return whole;
    }
  }
}
