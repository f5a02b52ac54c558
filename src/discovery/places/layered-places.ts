// Clients that merge their files field by field: the table has them from the weakest to the strongest.

import { type ClientPlace, place } from './place.ts';

const each = (client: string, bases: readonly string[], names: readonly string[], detail = {}): ClientPlace[] =>
  bases.map((base) => place(client, `${base}/${names.join('|')}`, 'opencode', detail));

const below = (dir: string, names: readonly string[]): string[] => names.map((name) => `${dir}/${name}`);

const OPENCODE = ['opencode.json', 'opencode.jsonc'];
const KILO = ['kilo.json', 'kilo.jsonc'];
const LEGACY_KILO = 'APP/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json';

export const LAYERED_PLACES: readonly ClientPlace[] = [
  ...each('opencode', ['XC'], below('opencode', ['config.json', ...OPENCODE])),
  place('opencode', 'OPENCODE_CONFIG', 'opencode'),
  ...each('opencode', ['UP'], OPENCODE),
  ...each('opencode', ['~'], below('.opencode', OPENCODE)),
  ...each('opencode', ['UP'], below('.opencode', OPENCODE)),
  ...each('opencode', ['OPENCODE_DIR'], OPENCODE),
  place('opencode', 'OPENCODE_CONFIG_CONTENT', 'opencode', { scope: 'dynamic' }),
  ...each('opencode', ['ETC', 'LIBRARY', 'PROGRAMDATA'], below('opencode', OPENCODE), { scope: 'enterprise' }),

  place('kilo', '~/.kilocode/cli/global/settings/mcp_settings.json', 'mcp-servers', { scope: 'user-legacy' }),
  place('kilo', LEGACY_KILO, 'mcp-servers', { scope: 'user-legacy' }),
  ...each('kilo', ['XC'], below('kilo', [...OPENCODE, ...KILO])),
  place('kilo', 'UP/.kilocode/mcp.json', 'mcp-servers'),
  ...each('kilo', ['UP'], [...KILO, ...below('.kilocode', KILO), ...below('.kilo', KILO)]),

  place('codex', 'ETC/codex/config.toml', 'codex', { scope: 'system' }),
  place('codex', 'PROGRAMDATA/OpenAI/Codex/config.toml', 'codex', { scope: 'system' }),
  place('codex', 'CODEX/config.toml', 'codex'),
  place('codex', 'UP/.codex/config.toml', 'codex'),
  place('codex', 'CODEX/managed_config.toml', 'codex', { scope: 'enterprise' }),
  place('codex', 'ETC/codex/managed_config.toml', 'codex', { scope: 'enterprise' }),
  place('codex', 'PROGRAMDATA/OpenAI/Codex/managed_config.toml', 'codex', { scope: 'enterprise' }),
];
