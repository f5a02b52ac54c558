// What Claude Code's settings say of servers: which of a project's are approved, which plugins are on, and whom policy
// allows. A project's own settings can reject and switch off anything; they approve and switch on only in a project that
// its user trusts.

import type { Machine } from './machine.ts';
import { basesOf } from './places/bases.ts';
import type { SourceReader } from './source-reader.ts';
import { isTree, member, type Tree, textsAt, treeAt } from './tree.ts';

export interface ClaudeSettings {
  /** From whoever administrates the machine. */
  readonly managed: readonly SettingsFile[];
  /** Of the user and of the project. */
  readonly own: readonly SettingsFile[];
  readonly enabledPlugins: ReadonlyMap<string, boolean>;
  /** What the user has chosen for plugins: a project chooses nothing. */
  readonly pluginConfigs: ReadonlyMap<string, unknown>;
  decide(server: string): 'approved' | 'rejected' | undefined;
}

export interface SettingsFile {
  readonly path: string;
  readonly value: Tree;
}

export async function readClaudeSettings(
  reader: SourceReader,
  machine: Machine,
  isProject: (dir: string) => boolean,
): Promise<ClaudeSettings> {
  const { path } = machine;
  const dirsOf = (base: string): readonly string[] => basesOf(machine).get(base)?.dirs ?? [];
  const read = async (files: readonly string[], isOfProject = false): Promise<SettingsFile[]> =>
    (await Promise.all(files.map((file) => settingsIn(reader, file, isOfProject)))).flat();
  const [claudeFile = ''] = dirsOf('CLAUDE_FILE');
  const user = await read(dirsOf('CLAUDE').map((dir) => path.join(dir, 'settings.json')));
  const inProject = machine.hasProject
    ? await read(
        dirsOf('P').flatMap((dir) =>
          ['settings.local.json', 'settings.json'].map((file) => path.join(dir, '.claude', file)),
        ),
        true,
      )
    : [];
  const managed = await read(await managedFiles(reader, machine, dirsOf('CLAUDE_MANAGED')));
  const projectEntries = (await settingsIn(reader, claudeFile)).flatMap(({ value }) => entriesOf(value, isProject));
  const isTrusted = projectEntries.some((entry) => entry.hasTrustDialogAccepted === true);
  const personal = [...user, ...managed].map(({ value }) => value);
  return {
    managed,
    own: [...user, ...inProject],
    pluginConfigs: new Map(
      [...user, ...managed].flatMap(({ value }) => Object.entries(treeAt(value, 'pluginConfigs') ?? {})),
    ),
    enabledPlugins: new Map([
      ...pluginsIn(user),
      ...pluginsIn(inProject.toReversed()).filter(([, isOn]) => isTrusted || !isOn),
      ...pluginsIn(managed),
    ]),
    decide: approvalsOf({ personal, inProject, projectEntries, isTrusted }),
  };
}

/** As in the directory of the same name, in the order of the files' names. */
async function managedFiles(reader: SourceReader, { path }: Machine, dirs: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    dirs.map(async (dir) => {
      const parts = path.join(dir, 'managed-settings.d');
      const names = (await reader.list(parts)).filter((name) => name.endsWith('.json'));
      return [path.join(dir, 'managed-settings.json'), ...names.toSorted().map((name) => path.join(parts, name))];
    }),
  );
  return found.flat();
}

export async function settingsIn(reader: SourceReader, path: string, isOfProject = false): Promise<SettingsFile[]> {
  const reading = await reader.read(path, 'json', isOfProject);
  return reading.kind === 'document' && isTree(reading.document.value) ? [{ path, value: reading.document.value }] : [];
}

function entriesOf(claudeJson: Tree, isProject: (dir: string) => boolean): Tree[] {
  const projects = treeAt(claudeJson, 'projects') ?? {};
  return Object.keys(projects)
    .filter(isProject)
    .map((key) => treeAt(projects, key))
    .filter((entry) => entry !== undefined);
}

function pluginsIn(settings: readonly SettingsFile[]): [plugin: string, isOn: boolean][] {
  const plugins = settings.flatMap(({ value }) => Object.entries(treeAt(value, 'enabledPlugins') ?? {}));
  return plugins.map(([name, isOn]) => [name, isOn === true]);
}

interface ApprovalSources {
  readonly personal: readonly Tree[];
  readonly inProject: readonly SettingsFile[];
  readonly projectEntries: readonly Tree[];
  readonly isTrusted: boolean;
}

function approvalsOf(sources: ApprovalSources): ClaudeSettings['decide'] {
  const { personal, inProject, projectEntries, isTrusted } = sources;
  const fromProject = inProject.map(({ value }) => value);
  const counting = [...personal, ...projectEntries, ...(isTrusted ? fromProject : [])];
  const rejected = new Set(
    [...personal, ...projectEntries, ...fromProject].flatMap((value) => textsAt(value, 'disabledMcpjsonServers')),
  );
  const approved = new Set(counting.flatMap((value) => textsAt(value, 'enabledMcpjsonServers')));
  const approvesAll = counting.some((value) => member(value, 'enableAllProjectMcpServers') === true);
  return (server) => {
    if (rejected.has(server)) return 'rejected';
    return approvesAll || approved.has(server) ? 'approved' : undefined;
  };
}
