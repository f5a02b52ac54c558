// Puts the bridge into a client's config and, on request, moves the client's servers to the bridge's own config. It
// writes the bridge's config first: a crash in between leaves a server in both places, never in none.

import { bridgeLaunch } from './bridge-entry.ts';
import { type ClientConfig, openClientConfig } from './client-config.ts';
import type { LostRule } from './client-entry.ts';
import { commandFor, installByCommand } from './client-install.ts';
import { type ClientTarget, ENTRY_NAME, fittingViewOf } from './client-targets.ts';
import { type ConfigFile, digestOf, linkLines } from './config-file.ts';
import { diffOf, type EditReport, type FileEdit, isEdit } from './edit-report.ts';
import { alone, type EditingHost, replace } from './editing-host.ts';
import { type InstallPlan, type PlanOptions, planInstall } from './install-plan.ts';
import { backUp, type InstallRecord, type Moved, type Original, recordsBeside, writeRecord } from './install-record.ts';
import { isNarrowed, narrowedLine, type OpenOwnConfig, replaceOwn } from './own-config.ts';
import { filledWords } from './own-entry.ts';
import { type HttpPlace, revokeToken, type UrlForClient, urlFor } from './url-install.ts';

export interface InstallOptions extends PlanOptions {
  /** True to use the client's own command if it has one. */
  readonly clientCommand: boolean;
  /** The bridge's address, if the client should use a URL. */
  readonly http?: HttpPlace | undefined;
  /** Called before any change with the rules that will be lost; throws to stop the installation. */
  readonly lose?: (lost: readonly LostRule[]) => Promise<void>;
}

export function install(
  target: ClientTarget,
  { view: wanted, ...others }: InstallOptions,
  host: EditingHost,
): Promise<EditReport> {
  const options = { ...others, view: viewFor(target, wanted) };
  const task = async (): Promise<EditReport> => {
    const config = await openClientConfig(target, host);
    const at = await urlIn(config, options, host);
    try {
      const plan = await planInstall(config, options, { host, at });
      const { lost } = plan.rules;
      if (!options.dryRun && lost.length > 0) await options.lose?.(lost);
      if (options.dryRun) return { lines: plannedLines(plan, options, host), diff: await diffOf(editsOf(plan)) };
      return { lines: [...(await carryOut(plan, options, host)), ...linesOf(plan, options, 'did')], diff: '' };
    } catch (error) {
      if (!options.dryRun) await revokeToken(at?.tokenName, host);
      throw error;
    }
  };
  return options.dryRun ? task() : alone(host, task);
}

/** The word that leaves the view to the config. */
const BY_CONFIG = 'config';

/** The view that the entry names. The default view is not named, because the config may choose another one. */
function viewFor(target: ClientTarget, wanted: string | undefined): string | undefined {
  if (wanted !== undefined) return wanted === BY_CONFIG ? undefined : wanted;
  const { view } = fittingViewOf(target);
  return view === 'discover' ? undefined : view;
}

function viewLines({ target }: ClientConfig, { view }: InstallOptions, mood: Mood): string[] {
  const { view: fitting, why } = fittingViewOf(target);
  const does = mood === 'did' ? 'sees' : 'would see';
  if (view === undefined)
    return fitting === 'discover'
      ? [`It ${does} the view discover, unless the config says otherwise, because ${why}`]
      : [`It ${does} the view that the config says, else discover`];
  if (view !== fitting) return [`It ${does} the view ${view}`];
  return [
    `It ${does} the view ${view}, because ${why}. For another one: mcp-bridge install ${target.client} --view VIEW`,
  ];
}

async function urlIn({ target, ours }: ClientConfig, { http, dryRun, view }: InstallOptions, host: EditingHost) {
  return http === undefined || ours.length > 0 ? undefined : urlFor(target, http, { dryRun, view, host });
}

function plannedLines(plan: InstallPlan, options: InstallOptions, host: EditingHost): string[] {
  const program = plan.at === undefined ? commandFor(plan.config, options, host)?.command.program : undefined;
  const isAsked = program !== undefined && editsOf(plan).some(isEdit);
  return [
    ...linesOf(plan, options, 'would'),
    ...(isAsked ? [`${program} would be asked to do it, which comes to this:`] : []),
  ];
}

/** The edits, in the order in which they are made. */
function editsOf({ config, document, own, ownDocument }: InstallPlan): FileEdit[] {
  const isMoved = own !== undefined && ownDocument !== undefined && ownDocument.text !== own.file.text;
  const bridge: FileEdit[] = isMoved ? [{ file: own.file, syntax: 'json', after: ownDocument.text }] : [];
  return [...bridge, { file: config.file, syntax: config.target.syntax, after: document.text }];
}

/** Makes the edits. Resolves to lines about how it was done. */
async function carryOut(plan: InstallPlan, options: InstallOptions, host: EditingHost): Promise<string[]> {
  const isChange = editsOf(plan).some(isEdit);
  if (!isChange) return [];
  // Other users could see a token on a command line, so the client's command never gets one.
  const asked = plan.at === undefined ? commandFor(plan.config, options, host) : undefined;
  const outcome =
    asked && (await installByCommand(plan.config, { ...asked, launch: bridgeLaunch(host, options) }, host));
  if (outcome?.kind === 'done') return [];
  await writeFiles(plan, host);
  return outcome === undefined ? [] : [outcome.note];
}

/** Writes the files. It first records everything that undoing needs. */
async function writeFiles(plan: InstallPlan, host: EditingHost): Promise<void> {
  const { config, own, ownDocument, document } = plan;
  const { client } = config.target;
  const bytes = Buffer.from(document.text);
  const ownBytes =
    ownDocument === undefined || ownDocument.text === own?.file.text ? undefined : Buffer.from(ownDocument.text);
  const record = recordOf(plan, { bytes, ownBytes }, host);
  writeRecord(client, record, host);
  const ownDirs =
    own === undefined || ownBytes === undefined
      ? []
      : replaceOwn(own.file, { bytes: ownBytes, entries: plan.moved.map(({ own: entry }) => entry) }, host);
  const before = plan.config.record?.token;
  const dirs = replace(hiddenIf(plan.at?.token !== undefined, config.file), bytes, host);
  if (plan.at !== undefined) await revokeToken(before, host);
  if (dirs.length + ownDirs.length === 0) return;
  const [original, ownOriginal] = [withDirs(record.original, dirs), withDirs(record.ownOriginal, ownDirs)];
  const ownMade = record.ownMade ? [...record.ownMade, ...ownDirs] : null;
  writeRecord(client, { ...record, original, ownOriginal, ownMade }, host);
}

/** Narrows the file's permissions to its owner if a secret goes into it. */
function hiddenIf(isSecret: boolean, file: ConfigFile): ConfigFile {
  return isSecret && file.mode !== undefined ? { ...file, mode: file.mode & 0o7700 } : file;
}

function withDirs(original: Original | null, dirs: readonly string[]): Original | null {
  return original === null ? null : { ...original, dirs: [...original.dirs, ...dirs] };
}

/** Notes the permissions that a token takes away. */
function withMode(original: Original | null, { at, config }: InstallPlan): Original | null {
  if (original === null || at?.token === undefined) return original;
  return { ...original, mode: original.mode ?? config.file.mode };
}

interface Written {
  readonly bytes: Buffer;
  readonly ownBytes: Buffer | undefined;
}

function recordOf(plan: InstallPlan, { bytes, ownBytes }: Written, host: EditingHost): InstallRecord {
  const { config, own, moved } = plan;
  const { record, target, ours, stale } = config;
  const before = record?.moved ?? [];
  const isAgain = (name: string): boolean => moved.some((server) => server.name === name);
  const { client } = target;
  const isTouched = ours.length + stale.length > 0;
  return {
    file: config.file.path,
    original: withMode(originalOf(config.file, bytes, { client, known: record?.original, isTouched, host }), plan),
    moved: [...before.filter(({ name }) => !isAgain(name)), ...moved],
    ownFile: own?.file.path ?? record?.ownFile ?? null,
    ownOriginal:
      own === undefined || ownBytes === undefined
        ? (record?.ownOriginal ?? null)
        : originalOf(own.file, ownBytes, {
            client,
            known: record?.ownOriginal,
            isTouched: isMovedInto(own, before),
            host,
          }),
    ownMade: ownMadeOf(config, own, host),
    clients: plan.rules.entry ?? record?.clients ?? null,
    token: plan.at === undefined ? (record?.token ?? null) : (plan.at.tokenName ?? null),
  };
}

/** The directories that the first installation made; the last `uninstall` removes them. */
function ownMadeOf({ record, file }: ClientConfig, own: OpenOwnConfig | undefined, host: EditingHost) {
  if (own === undefined) return record?.ownMade ?? null;
  if (own.file.bytes === undefined) return [];
  const beside = recordsBeside(own.file.path, file.path, host).map((other) => other.record.ownMade);
  return record?.ownMade ?? beside.find((made) => made) ?? null;
}

function isMovedInto({ document }: OpenOwnConfig, moved: readonly Moved[]): boolean {
  return moved.some(({ as, own }) => own !== null && document.entries.has(as));
}

interface Copying {
  readonly client: string;
  /** The note of an earlier installation. */
  readonly known: Original | null | undefined;
  /** True if the file has something of ours already. */
  readonly isTouched: boolean;
  readonly host: EditingHost;
}

/**
 * The means to restore the file. An earlier copy still counts if nobody else has changed the file since; else a file
 * that holds something of ours cannot be restored.
 */
function originalOf(file: ConfigFile, written: Buffer, { client, known, isTouched, host }: Copying): Original | null {
  const backup = backUp(file, client, host);
  const left = digestOf(written);
  const now = file.bytes === undefined ? undefined : digestOf(file.bytes);
  if (known && known.left === now) return { ...known, left };
  return isTouched ? null : { backup, left, dirs: [] };
}

type Mood = 'did' | 'would';

function linesOf(plan: InstallPlan, options: InstallOptions, mood: Mood): string[] {
  const { config, document, staying } = plan;
  const isChanged = mood === 'did' && document.text !== config.file.text;
  return [
    ...bridgeLines(plan, options, mood),
    ...movedLines(plan, mood),
    ...ruleLines(plan, mood),
    ...sharingLines(plan),
    ...staying.map(({ name, reason }) => `"${name}" stays: ${reason}`),
    ...besideLines(plan),
    ...editsOf(plan)
      .filter(isEdit)
      .flatMap(({ file }) => linkLines(file)),
    ...(isChanged && config.isHere ? [`Restart ${config.target.title} to use it.`] : []),
  ];
}

function bridgeLines({ config, at }: InstallPlan, options: InstallOptions, mood: Mood): string[] {
  const { socket, http } = options;
  const { target, file, ours, document, isHere } = config;
  if (ours.length === 0 && !isHere) {
    const where = `"${ENTRY_NAME}" ${mood === 'did' ? 'is' : 'would be'} in ${file.path}`;
    return [
      `${target.title} was not found here: ${where}, for when it comes`,
      ...urlLines(at, mood),
      ...viewLines(config, options, mood),
    ];
  }
  if (ours.length === 0)
    return [
      `${target.title} ${mood === 'did' ? 'uses' : 'would use'} the bridge: "${ENTRY_NAME}" in ${file.path}`,
      ...urlLines(at, mood),
      ...viewLines(config, options, mood),
    ];
  const first = `The bridge is in ${file.path} already: "${ours.join('", "')}"`;
  if (http !== undefined)
    return [first, `To change how it is reached: mcp-bridge uninstall ${target.client}, and install it again`];
  const isThere = ours.some((name) => JSON.stringify(document.entries.get(name)).includes(JSON.stringify(socket)));
  if (socket === undefined || isThere) return [first];
  return [first, `It does not name the socket ${socket}: mcp-bridge uninstall ${target.client}, and install it again`];
}

function urlLines(at: UrlForClient | undefined, mood: Mood): string[] {
  if (at === undefined) return [];
  const token =
    at.tokenName === undefined
      ? []
      : [`It ${mood === 'did' ? 'has' : 'would have'} a token of its own, "${at.tokenName}": mcp-bridge token list`];
  return [`It ${mood === 'did' ? 'reaches' : 'would reach'} the bridge at ${at.url}`, ...token];
}

function movedLines({ moved, filled, renamings, own }: InstallPlan, mood: Mood): string[] {
  if (own === undefined) return [];
  const { path } = own.file;
  const lines = moved.map(({ name, as, own: entry }) => {
    const why = renamings.get(name);
    const called = name === as ? '' : ` as "${as}"${why === undefined ? '' : `, because ${why}`}`;
    const went = `"${name}" ${mood === 'did' ? 'went' : 'would go'}`;
    if (entry === null) return `${went}: ${path} has the same${called}`;
    return `${went} to ${path}${called}${filledWords(filled.get(name) ?? [])}`;
  });
  const entries = moved.map(({ own: entry }) => entry);
  return [...lines, ...(isNarrowed(own.file, entries) ? [narrowedLine(own.file, mood)] : [])];
}

/** Lines that say which servers all clients now share, and which they do not. */
function sharingLines({ moved, natures, remotes, ofDirectory }: InstallPlan): string[] {
  const shared = moved.filter(({ name }) => natures.get(name)?.keepsState === undefined);
  const sharedBy = (areRemote: boolean, areOfDirectory: boolean): Moved[] =>
    shared.filter(({ name }) => remotes.has(name) === areRemote && ofDirectory.has(name) === areOfDirectory);
  const together = [
    ...togetherLines('Clients share one process', sharedBy(false, false)),
    ...togetherLines('Clients that work in the same directory share one process', sharedBy(false, true)),
    ...togetherLines('Clients share one connection', sharedBy(true, false)),
    ...togetherLines('Clients that work in the same directory share one connection', sharedBy(true, true)),
  ];
  const apart = moved.flatMap(({ name, as }) => {
    const { keepsState, losesWrites } = natures.get(name) ?? {};
    if (keepsState !== undefined) return [`Each client gets its own process of "${as}": ${keepsState}`];
    return losesWrites === undefined ? [] : [`"${as}" gets one call at a time: ${losesWrites}`];
  });
  return [...together, ...apart];
}

function togetherLines(how: string, servers: readonly Moved[]): string[] {
  const names = servers.map(({ as }) => `"${as}"`);
  return names.length === 0 ? [] : [`${how} of each of these: ${names.join(', ')}`];
}

function ruleLines({ rules: { kept, lost }, config, own }: InstallPlan, mood: Mood): string[] {
  if (own === undefined) return [];
  const holds = mood === 'did' ? 'goes on to hold' : 'would go on to hold';
  const there = `${config.target.title}, in "clients" of ${own.file.path}`;
  return [
    ...kept.map((what) => `${what} ${holds} for ${there}`),
    ...(mood === 'would' ? lost.map(({ line }) => line) : []),
  ];
}

function besideLines({ beside, config: { target } }: InstallPlan): string[] {
  if (beside === 0) return [];
  const [servers, them] = beside === 1 ? ['server stays', 'it'] : [`${beside} servers stay`, 'them'];
  return [
    `${target.title}'s own ${servers} too, and the bridge offers ${them} as well; to move ${them} behind it: mcp-bridge install ${target.client} --replace`,
  ];
}
