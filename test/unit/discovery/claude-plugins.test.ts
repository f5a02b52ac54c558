// Which plugins of Claude Code are on, where a project says something about them too.

import { expect, test } from 'vitest';
import { discoverServers } from '../../../src/discovery/index.ts';
import { memoryHost } from '../../support/memory-host.ts';

interface Said {
  readonly user?: boolean;
  readonly project?: boolean;
  readonly isTrusted?: boolean;
}

async function stateWith({ user, project, isTrusted = false }: Said): Promise<string | undefined> {
  const enabled = (isOn: boolean | undefined) => (isOn === undefined ? {} : { enabledPlugins: { 'x@m': isOn } });
  const contents = {
    '/home/u/.claude.json': { projects: { '/home/u/p': { hasTrustDialogAccepted: isTrusted } } },
    '/home/u/.claude/settings.json': enabled(user),
    '/home/u/p/.claude/settings.json': enabled(project),
    '/home/u/.claude/plugins/installed_plugins.json': { plugins: { 'x@m': [{ installPath: '/home/u/.claude/x' }] } },
    '/home/u/.claude/x/.mcp.json': { mcpServers: { s: { command: 'run' } } },
  };
  const files = Object.entries(contents).map(([path, content]) => [path, { text: JSON.stringify(content) }]);
  const machine = { platform: 'linux', homedir: '/home/u', cwd: '/home/u/p' } as const;
  const { servers } = await discoverServers(memoryHost({ ...machine, files: Object.fromEntries(files) }));
  return servers.find(({ name }) => name === 'plugin:x:s')?.state;
}

test.each<[Said, string]>([
  [{ user: true }, 'ready'],
  [{ user: false }, 'disabled'],
  [{ user: false, project: true }, 'disabled'],
  // Its user has installed it, and the manifest does not say that it begins switched off.
  [{}, 'ready'],
  [{ project: true }, 'ready'],
  [{ project: false }, 'disabled'],
  [{ user: false, project: true, isTrusted: true }, 'ready'],
  [{ user: true, project: false }, 'disabled'],
  [{ user: true, project: true }, 'ready'],
])('of a plugin with %j, the server is %s', async (said, state) => {
  expect(await stateWith(said)).toBe(state);
});
