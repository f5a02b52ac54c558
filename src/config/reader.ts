// Reads values of a parsed config file and checks each one. It reads sections by their rows in the table of settings
// (model/settings.ts). It collects the faults with their places; a faulty value becomes the default.

import type { Setting, SettingsOf, SettingsTable } from '../model/settings.ts';
import { isRecord } from '../util/json-value.ts';
import type { nearest } from '../util/nearest.ts';

export interface ConfigFinding {
  /** An error is a mistake; a warning is about something that may be meant. */
  readonly level: 'error' | 'warning';
  /** Such as `mcpServers.weather.args[1]`; empty for the whole file. */
  readonly place: string;
  readonly problem: string;
  /** A sentence that says what to write instead. */
  readonly hint?: string | undefined;
}

export function sentenceFor({ place, problem, hint }: ConfigFinding): string {
  const more = hint === undefined ? '' : ` (${hint})`;
  return `${place === '' ? 'The file' : place} ${problem}${more}`;
}

export class Reader {
  readonly findings: ConfigFinding[] = [];
  /** The places that misspelled keys were meant for. */
  readonly misspelled: string[] = [];
  /** The number of errors that leave something out. */
  errors = 0;
  readonly #mistaken = new Set<string>();
  readonly #near: typeof nearest;

  /** `near` finds the key that an unknown key may mean. Clients report no findings, so they do not load that search. */
  constructor(near: typeof nearest) {
    this.#near = near;
  }

  /** The findings in words, one line each. */
  get faults(): readonly string[] {
    return this.findings.map(sentenceFor);
  }

  fault(place: string, problem: string, hint?: string): void {
    this.errors++;
    this.mistake(place, problem, hint);
  }

  /** Notes an error that leaves nothing out. */
  mistake(place: string, problem: string, hint?: string): void {
    // A later error at the same place follows from the first; to add it would count the mistake twice.
    if (this.#mistaken.has(place)) return;
    this.#mistaken.add(place);
    this.findings.push({ level: 'error', place, problem, hint });
  }

  /** Reports unknown keys. */
  keys(fields: Record<string, unknown>, place: string, known: readonly string[]): void {
    for (const key of Object.keys(fields)) {
      const where = place === '' ? key : `${place}.${key}`;
      if (!known.includes(key)) this.mistake(where, 'is not known', this.#hintFor(key, known));
    }
  }

  /** Returns the fields, with the value of each misspelled key under the intended key too, unless that one is there. */
  meant(fields: Record<string, unknown>, place: string, known: readonly string[]): Record<string, unknown> {
    const meant = { ...fields };
    for (const key of Object.keys(fields)) {
      const guess = known.includes(key) ? undefined : this.#guess(key, known);
      if (guess === undefined || Object.hasOwn(meant, guess)) continue;
      meant[guess] = fields[key];
      this.misspelled.push(place === '' ? guess : `${place}.${guess}`);
    }
    return meant;
  }

  section(value: unknown, place: string): Record<string, unknown> {
    if (value === undefined) return {};
    if (isRecord(value)) return value;
    this.fault(place, 'must be an object');
    return {};
  }

  text(value: unknown, place: string): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    this.fault(place, 'must be a string that is not empty');
    return undefined;
  }

  /** Reads a text that may be empty. */
  anyText(value: unknown, place: string): string {
    if (value === undefined || typeof value === 'string') return value ?? '';
    this.mistake(place, 'must be a string');
    return '';
  }

  flag(value: unknown, place: string, otherwise: boolean): boolean {
    if (value === undefined || typeof value === 'boolean') return value ?? otherwise;
    this.fault(place, 'must be true or false');
    return otherwise;
  }

  texts(value: unknown, place: string): string[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.fault(place, 'must be a list of strings');
      return [];
    }
    for (const [i, text] of value.entries())
      if (typeof text !== 'string') this.fault(`${place}[${i}]`, 'must be a string');
    return value as string[];
  }

  textMap(value: unknown, place: string): Record<string, string> {
    const map = this.section(value, place);
    for (const [key, text] of Object.entries(map))
      if (typeof text !== 'string') this.fault(`${place}.${key}`, 'must be a string');
    return map as Record<string, string>;
  }

  count<Otherwise extends number | undefined>(
    value: unknown,
    place: string,
    range: { readonly default: Otherwise; readonly least: number; readonly most?: number },
  ): number | Otherwise {
    const { least, most = Number.MAX_SAFE_INTEGER } = range;
    if (value === undefined) return range.default;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    this.fault(place, `must be a whole number from ${least}${range.most === undefined ? ' up' : ` to ${range.most}`}`);
    return range.default;
  }

  choice<Choice extends string, Otherwise extends Choice | undefined>(
    value: unknown,
    place: string,
    { choices, default: otherwise }: { readonly choices: readonly Choice[]; readonly default: Otherwise },
  ): Choice | Otherwise {
    if (value === undefined) return otherwise;
    const chosen = choices.find((one) => one === value);
    if (chosen === undefined) this.fault(place, `is one of ${choices.join(', ')}`);
    return chosen ?? otherwise;
  }

  #hintFor(key: string, known: readonly string[]): string | undefined {
    const guess = this.#guess(key, known);
    return guess === undefined ? undefined : `did you mean ${guess}?`;
  }

  #guess(key: string, known: readonly string[]): string | undefined {
    const [guess] = this.#near(
      key,
      known.filter((name) => !name.startsWith('$')),
    );
    return guess;
  }
}

/** Reads a section that has only the settings of a table. */
export function readSection<Table extends SettingsTable>(
  reader: Reader,
  value: unknown,
  place: string,
  table: Table,
): SettingsOf<Table> {
  const fields = reader.section(value, place);
  reader.keys(fields, place, Object.keys(table));
  return readSettings(reader, fields, place, table);
}

/** Reads the settings of a table from a section that may have more. */
export function readSettings<Table extends SettingsTable>(
  reader: Reader,
  fields: Readonly<Record<string, unknown>>,
  place: string,
  table: Table,
): SettingsOf<Table> {
  const values = Object.entries(table).map(([key, row]) => [
    key,
    settingOf(reader, fields[key], `${place}.${key}`, row),
  ]);
  return Object.fromEntries(values) as SettingsOf<Table>;
}

function settingOf(reader: Reader, value: unknown, place: string, row: Setting): unknown {
  switch (row.kind) {
    case 'count':
      return reader.count(value, place, row);
    case 'flag':
      return reader.flag(value, place, row.default);
    case 'choice':
      return reader.choice(value, place, row);
    case 'text':
      return row.mayBeEmpty === true ? reader.anyText(value, place) : reader.text(value, place);
  }
}
