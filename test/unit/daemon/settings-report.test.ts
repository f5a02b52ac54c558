// The settings that a daemon says it works by: all of the table, with what is not the default.

import { expect, test } from 'vitest';
import { EMPTY_CONFIG } from '../../../src/config/config.ts';
import { settingsOf } from '../../../src/daemon/settings-report.ts';
import { DEFAULT_LIMITS } from '../../../src/model/limits.ts';
import { SETTINGS } from '../../../src/model/settings.ts';

test('every setting with a default is there, and without a config file all are the default', () => {
  const settings = settingsOf(EMPTY_CONFIG, DEFAULT_LIMITS);
  const unset = settings.filter((one) => one.value === null).map(({ name }) => name);
  for (const [section, table] of Object.entries(SETTINGS)) {
    if (section.endsWith('.*')) continue;
    for (const [key, row] of Object.entries(table)) {
      const name = `${section}.${key}`;
      const found = settings.find((one) => one.name === name);
      expect(found?.from).toBe('default');
      if (!('default' in row) || row.default === undefined) continue;
      expect(unset).not.toContain(name);
      if (name !== 'audit.enabled') expect([name, found?.value]).toEqual([name, row.default]); // no section, no log
    }
  }
});

test('a setting that differs says so', () => {
  const limits = { ...DEFAULT_LIMITS, maxClients: 7 };
  const config = { ...EMPTY_CONFIG, cache: { isKept: false, ttlMs: 5000 } };
  const changed = settingsOf(config, limits).filter(({ from }) => from === 'config');
  expect(changed.map(({ name, value }) => [name, value])).toEqual(
    expect.arrayContaining([
      ['limits.maxClients', 7],
      ['discovery.cache.enabled', false],
      ['discovery.cache.ttl', 5],
    ]),
  );
  expect(changed).toHaveLength(3);
});
