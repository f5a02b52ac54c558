// `install` and then `uninstall` gives back the same bytes, whatever was in the file.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLIENT_TARGETS } from '../../../src/editing/client-targets.ts';
import { jsonTexts, PLAIN_JSON, TOML_TEXTS, YAML_TEXTS } from '../../support/config-texts.ts';
import { CLIENT_FILES, DIRECTLY, Home, REPLACING } from '../../support/editing-host.ts';
import { runs } from '../../support/runs.ts';

const OWN = [undefined, '{}', '{\n  // mine\n  "mcpServers": { "github": { "command": "other" } },\n}\n'];

test('every client that the bridge can be put into has a row in CLIENT_FILES', () => {
  expect(Object.keys(CLIENT_FILES).sort()).toEqual(CLIENT_TARGETS.map(({ client }) => client).sort());
});

describe.each(CLIENT_TARGETS.map((target) => [target.client, target] as const))('%s', (client, target) => {
  const file = CLIENT_FILES[client] ?? '';
  const texts = { json: jsonTexts(target.container[0] ?? ''), toml: TOML_TEXTS, yaml: YAML_TEXTS }[target.syntax];
  const usual = target.syntax === 'json' ? fc.constantFrom(...PLAIN_JSON) : fc.constantFrom('', '\n', '# c\n');

  test('gets back its bytes, and so does the config of the bridge', async () => {
    const home = new Home();
    await fc.assert(
      fc.asyncProperty(fc.oneof(texts, usual), fc.boolean(), fc.constantFrom(...OWN), async (text, replace, own) => {
        home.write(file, text);
        rmSync(home.ownConfig, { force: true });
        if (own !== undefined) home.write('.config/mcp-bridge/config.json', own);
        const options = replace ? REPLACING : DIRECTLY;

        await home.install(client, options);
        const installed = home.read(file);
        expect(installed).toContain('mcp-bridge.cjs');
        expect(installed).not.toBe(text);
        await home.install(client, options);
        expect(home.read(file)).toBe(installed);

        await home.uninstall(client);
        expect(home.read(file)).toBe(text);
        expect(home.read('.config/mcp-bridge/config.json')).toBe(own);
        expect(readdirSync(home.path('.local/state/mcp-bridge/installs'))).toEqual(['lock']);
      }),
      { numRuns: runs(20) },
    );
  });

  test('without a file, it is made with its directories, and they go again', async () => {
    const home = new Home();
    rmSync(home.path('opt'), { recursive: true });
    await home.install(client);
    expect(home.read(file)).toContain('mcp-bridge.cjs');
    await home.uninstall(client);
    expect(readdirSync(home.dir)).toEqual(['.local']);
  });

  test('a change by somebody else meanwhile is kept, and only the bridge goes', async () => {
    const home = new Home();
    await home.install(client);
    const added = addedByOthers(target.syntax, target.container[0] ?? '');
    home.write(file, added(readFileSync(join(home.dir, file), 'utf8')));
    await home.uninstall(client);
    expect(existsSync(home.path(file))).toBe(true);
    expect(home.read(file)).toContain('theirs');
    expect(home.read(file)).not.toContain('mcp-bridge');
  });
});

function addedByOthers(syntax: string, container: string): (text: string) => string {
  if (syntax === 'toml') return (text) => `model = "theirs"\n${text}`;
  if (syntax === 'yaml') return (text) => `${text}theirs: 1\n`;
  return (text) => text.replace(`"${container}"`, `"theirs": 1,\n  "${container}"`);
}
