// A config file for people who are asked about it: each server that it would start or connect to, and each setting.
// A program is not run for that.

import { platform } from 'node:os';
import { isProgram } from '../../config/config-file.ts';
import { loadConfig } from '../../config/load.ts';
import { NOTHING_COVERED } from '../../discovery/approval.ts';
import { StoredApprovals } from '../../discovery/approval-file.ts';
import { maskedText } from '../../discovery/masked-text.ts';
import { discoverHere } from '../../discovery/own-discovery.ts';
import { isRecord, membersOf } from '../../util/json-value.ts';
import type { CliHost } from '../host.ts';
import { definitionLines, type Line, rendered, warningsOf } from './definition-view.ts';
import { printable } from './table.ts';
import { tilde } from './terminal.ts';

/** Rejects if the file cannot be read. */
export async function shownConfig(file: string, host: CliHost): Promise<string> {
  const title = `${printable(tilde(file, host))} is in this directory.\n`;
  if (isProgram(file))
    return `${title}It is a program, which runs when the daemon starts and when the file changes. Look at it first.\n`;
  const { environment, homedir, program, cwd } = host;
  const loaded = await loadConfig({ named: file, cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME });
  const own = { platform: platform(), environment, homedir, program, socketPath: loaded.config.socketPath ?? '' };
  const { servers } = await discoverHere(own, {
    ...{ cwd, config: loaded, isOwnOnly: true },
    ...{ approvals: new StoredApprovals([]), seenApprovals: NOTHING_COVERED },
  });
  const shown = servers.map((server) => {
    const warnings = warningsOf(server).map((warning) => `  ! ${printable(warning)}\n`);
    return `${printable(server.name)}\n${rendered(definitionLines(server, host))}${warnings.join('')}`;
  });
  const settings = settingLines(loaded.content);
  const rest = settings.length === 0 ? [] : [`settings\n${rendered(settings)}`];
  const faults = loaded.faults.map((fault) => `! ${printable(fault)}\n`);
  return [title, ...shown, ...rest, ...faults].join('');
}

/** All but the servers; secrets in them are masked. */
function settingLines(content: unknown): Line[] {
  const { mcpServers: _, ...sections } = membersOf(content);
  const settings = Object.entries(sections).flatMap(([section, value]): [string, unknown][] =>
    isRecord(value) ? Object.entries(value).map(([key, part]) => [`${section}.${key}`, part]) : [[section, value]],
  );
  return settings.map(([name, value]) => [printable(name), printable(maskedText(JSON.stringify(value)))]);
}
