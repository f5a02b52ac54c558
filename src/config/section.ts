// Reads a section of a config file by its rows in the table of settings (model/settings.ts). A value with a fault is the
// default, and the fault names its place.

import type { Setting, SettingsOf, SettingsTable } from '../model/settings.ts';
import type { Reader } from './reader.ts';

/** Reads a section that has the settings of a table, and nothing else. */
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

/** Reads the settings of a table out of a section that may have more. */
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
