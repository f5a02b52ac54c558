// `bridge/settings`: the settings that a daemon uses, each with its default. It reports the daemon's values, not the
// file's: a change in the file may need a restart.

import { isDeepStrictEqual } from 'node:util';
import { type Config, EMPTY_CONFIG } from '../config/config.ts';
import type { SettingReport } from '../control/report.ts';
import { DEFAULT_LIMITS, type Limits } from '../model/limits.ts';
import { SETTINGS } from '../model/settings.ts';
import { membersOf } from '../util/json-value.ts';

type Values = Readonly<Record<string, unknown>>;

/** Flags that have another name in the daemon than in a config file. */
const NAMES: Values = {
  'agents.enabled': 'isEnabled',
  'audit.enabled': 'isKept',
  'audit.arguments': 'keepsArguments',
  'discovery.enabled': 'isEnabled',
  'discovery.cache.enabled': 'isKept',
  'http.tokens': 'needsToken',
  'http.allowRemote': 'allowsRemote',
  'http.behindProxy': 'isBehindProxy',
  'telemetry.traces': 'sendsTraces',
  'telemetry.metrics': 'sendsMetrics',
  'telemetry.arguments': 'showsArguments',
  'telemetry.results': 'showsResults',
};

/** All settings in the table that a daemon has, except those of single servers. */
export function settingsOf(config: Config, limits: Limits): SettingReport[] {
  return Object.entries(SETTINGS).flatMap(([section, table]) => {
    if (section.endsWith('.*')) return [];
    return Object.entries(table).flatMap(([key, row]) => {
      const { text: description } = row;
      const name = `${section}.${key}`;
      // A section missing from the config may be missing in the daemon too.
      const otherwise = 'default' in row ? (row.default ?? null) : null;
      const value = settingIn(name, config, limits) ?? otherwise;
      const usual = settingIn(name, EMPTY_CONFIG, DEFAULT_LIMITS) ?? otherwise;
      const from = isDeepStrictEqual(value, usual) ? ('default' as const) : ('config' as const);
      return [{ name, value, default: usual, from, description }];
    });
  });
}

function settingIn(name: string, config: Config, limits: Limits): unknown {
  const place = name.split('.');
  const key = place.pop() ?? '';
  if (name === 'discovery.cache.ttl') return config.cache.ttlMs / 1000;
  if (name === 'discovery.registryHosts') return config.discovery.registries.mayBeRemote ? 'any' : 'loopback';
  const top: Values = { ...membersOf(config), limits };
  const section = name.startsWith('discovery.cache.')
    ? membersOf(config.cache)
    : place.reduce((values, part) => membersOf(values[part]), top);
  return section[`${NAMES[name] ?? key}`];
}
