// Reads Claude Code's settings about servers: which servers of a project are approved, which plugins are on, and what
// policy allows. A project's own settings can reject and switch off anything; they can approve and switch on only if
// the user trusts the project.

import type { ClientApproval } from './approval.ts';
import { basesOf } from './bases.ts';
import type { Machine } from './machine.ts';
import type { SourceReader } from './source-reader.ts';
import { isTree, member, type Tree, textsAt, treeAt } from './tree.ts';

export interface ClaudeSettings {
  /** Settings of the machine's administrator. */
  readonly managed: readonly SettingsFile[];
  /** Settings of the user and of the project. */
  readonly own: readonly SettingsFile[];
  readonly enabledPlugins: ReadonlyMap<string, boolean>;
  /** The user's options for plugins; a project cannot set any. */
  readonly pluginConfigs: ReadonlyMap<string, unknown>;
  /** The approvals that apply to a project's server of this name. */
  decide(server: string): 'rejected' | readonly ClientApproval[];
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
  const isTrusted = projectEntries.some(({ value }) => value.hasTrustDialogAccepted === true);
  const root = await reader.realpath(machine.root);
  const personal = [...user, ...managed].map(({ value }) => ({ dir: root, value }));
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
    decide: approvalsOf({
      personal: [...personal, ...projectEntries],
      inProject: inProject.map(({ value }) => value),
      root,
      isTrusted,
    }),
  };
}

/** The files in the directory of the same name, sorted by name. */
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

function entriesOf(claudeJson: Tree, isProject: (dir: string) => boolean): PersonalSettings[] {
  const projects = treeAt(claudeJson, 'projects') ?? {};
  return Object.keys(projects)
    .filter(isProject)
    .flatMap((dir) => {
      const value = treeAt(projects, dir);
      return value === undefined ? [] : [{ dir, value }];
    });
}

function pluginsIn(settings: readonly SettingsFile[]): [plugin: string, isOn: boolean][] {
  const plugins = settings.flatMap(({ value }) => Object.entries(treeAt(value, 'enabledPlugins') ?? {}));
  return plugins.map(([name, isOn]) => [name, isOn === true]);
}

/** Settings in one of the user's own files, and the project that they apply to. */
interface PersonalSettings {
  readonly dir: string;
  readonly value: Tree;
}

interface ApprovalSources {
  readonly personal: readonly PersonalSettings[];
  /** Files that the project's author may have written. */
  readonly inProject: readonly Tree[];
  readonly root: string;
  readonly isTrusted: boolean;
}

/**
 * Everything that a project's own files approve counts as one approval: otherwise its author could rename a server and
 * approve the new name.
 */
function approvalsOf({ personal, inProject, root, isTrusted }: ApprovalSources): ClaudeSettings['decide'] {
  const rejected = new Set(
    [...personal.map(({ value }) => value), ...inProject].flatMap((value) => textsAt(value, 'disabledMcpjsonServers')),
  );
  const ofUser = personal.flatMap(({ dir, value }) => [
    ...(approvesAll(value) ? [approval(dir, undefined)] : []),
    ...textsAt(value, 'enabledMcpjsonServers').map((name) => approval(dir, name)),
  ]);
  const counting = isTrusted ? inProject : [];
  const ofProject = new Set(counting.flatMap((value) => textsAt(value, 'enabledMcpjsonServers')));
  const isAllOfProject = counting.some(approvesAll);
  return (server) => {
    if (rejected.has(server)) return 'rejected';
    const isOfProject = isAllOfProject || ofProject.has(server);
    return [
      ...ofUser.filter(({ name }) => name === undefined || name === server),
      ...(isOfProject ? [{ client: CLAUDE, by: 'project' as const, dir: root, name: undefined }] : []),
    ];
  };
}

const CLAUDE = 'claude-code';

function approval(dir: string, name: string | undefined): ClientApproval {
  return { client: CLAUDE, by: 'user', dir, name };
}

function approvesAll(value: Tree): boolean {
  return member(value, 'enableAllProjectMcpServers') === true;
}
