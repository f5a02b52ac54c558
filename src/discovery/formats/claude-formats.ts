// The files of Claude Code: its own, which has the servers of the user and of each project; the one in a project, which
// other clients read too; and those that it does not read, though people believe so.

import { diagnostic } from '../diagnostic.ts';
import { member, treeAt } from '../tree.ts';
import { bareEntries } from './definition-format.ts';
import { type Entry, entriesIn, type Format, type ParsedFile, warnWrongKey } from './format.ts';

export const CLAUDE_JSON: Format = {
  syntax: 'json',
  read: (file) => [...localEntries(file), ...entriesIn(file, ['mcpServers'])],
};

function localEntries(file: ParsedFile): Entry[] {
  return ownProjects(file).flatMap((project) =>
    entriesIn(file, ['projects', project, 'mcpServers'], {
      scope: 'local',
      project,
      given: { CLAUDE_PROJECT_DIR: project },
    }),
  );
}

/** The keys that the working directory's project goes by. */
function ownProjects({ value, isProject }: ParsedFile): string[] {
  return Object.keys(treeAt(value, 'projects') ?? {}).filter(isProject);
}

/** Visual Studio reads the same file, under another key, and Copilot without any. */
export const PROJECT_MCP_JSON: Format = {
  syntax: 'json',
  read: (file) => {
    const bare = bareEntries(file);
    if (bare !== undefined) return bare.map((entry) => ({ ...entry, client: 'copilot-cli', scope: 'workspace' }));
    const { client, project } = file.location;
    const given = client === 'claude-code' && project !== undefined ? { CLAUDE_PROJECT_DIR: project } : {};
    if (member(file.value, 'servers') === undefined) return entriesIn(file, ['mcpServers'], { given });
    warnWrongKey(file, 'servers', 'mcpServers');
    return [
      ...entriesIn(file, ['mcpServers'], { given }),
      ...entriesIn(file, ['servers'], { client: 'visual-studio' }),
    ];
  },
};

export const MANAGED: Format = { syntax: 'json', read: (file) => entriesIn(file, ['mcpServers']) };

/** Claude Code does not read servers here, but people who wrote them here meant them. */
export const CLAUDE_SETTINGS: Format = {
  syntax: 'json',
  read: (file) => {
    if (member(file.value, 'mcpServers') === undefined) return [];
    warnIgnored(file);
    return entriesIn(file, ['mcpServers']);
  },
};

export const IGNORED: Format = {
  syntax: 'json',
  read: (file) => {
    if (member(file.value, 'mcpServers') === undefined) return [];
    warnIgnored(file);
    return entriesIn(file, ['mcpServers'], { refusal: 'Claude Code does not read servers in this file' });
  },
};

function warnIgnored({ path, report }: ParsedFile): void {
  const message = `${path} has servers, and Claude Code does not read servers there. Move them with "claude mcp add".`;
  report(diagnostic('ignored-location', message, { path, name: 'mcpServers' }));
}
