// Reads values of a parsed config file, each for what it must be, and gathers the faults with their places.

import { isRecord } from '../util/json-value.ts';

export class Reader {
  readonly faults: string[] = [];
  /** Those for which something has to be left out. */
  errors = 0;

  fault(place: string, problem: string): void {
    this.errors++;
    this.note(place, problem);
  }

  /** Says what is of no use, and harms nothing. */
  note(place: string, problem: string): void {
    this.faults.push(place === '' ? `The file ${problem}` : `${place} ${problem}`);
  }

  /** Says which keys nobody knows, and which nobody heeds yet. */
  keys(
    fields: Record<string, unknown>,
    place: string,
    known: readonly string[],
    unheeded: readonly string[] = [],
  ): void {
    for (const key of Object.keys(fields)) {
      const where = place === '' ? key : `${place}.${key}`;
      if (unheeded.includes(key)) this.note(where, 'has no effect yet');
      else if (!known.includes(key)) this.note(where, 'is not known');
    }
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

  optionalCount(value: unknown, place: string): number | undefined {
    return value === undefined ? undefined : this.count(value, place, { otherwise: 0, least: 1 });
  }

  count(value: unknown, place: string, range: { otherwise: number; least: number; most?: number }): number {
    const { otherwise, least, most = Number.MAX_SAFE_INTEGER } = range;
    if (value === undefined) return otherwise;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    this.fault(place, `must be a whole number from ${least}${range.most === undefined ? ' up' : ` to ${range.most}`}`);
    return otherwise;
  }
}
