// Everything that a person sees of a definition before deciding, in `approve` and on the dashboard. Its digest
// identifies exactly what was shown, so that nothing else is approved.

import { createHash } from 'node:crypto';
import { definitionHash } from '../../discovery/approval.ts';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { replacedBy } from '../../discovery/precedence.ts';
import { differencesIn } from '../../discovery/remembered-launch.ts';
import { decidedBefore, type Survey } from '../../discovery/survey.ts';
import type { CliHost } from '../host.ts';
import { definitionLines, differenceLines, type Line, warningsOf } from './definition-view.ts';
import { printable } from './table.ts';
import { tilde } from './terminal.ts';

export interface ApprovalView {
  readonly lines: readonly Line[];
  /** The last decision about this place in words; undefined if there was none. */
  readonly since: string | undefined;
  /** The changes since then, as lines of a patch. */
  readonly differences: readonly string[];
  /** The definitions that it replaces. */
  readonly replaces: readonly string[];
  readonly warnings: readonly string[];
}

export function approvalView(server: DiscoveredServer, found: Survey, host: CliHost): ApprovalView {
  const before = decidedBefore(server, found);
  const shown = (text: string): string => tilde(printable(text), host);
  return {
    lines: definitionLines(server, host),
    since: before?.words,
    differences: before === undefined ? [] : differenceLines(differencesIn(server, before.launch)),
    replaces: replacedBy(server, found.discovery.servers).map(({ client, name, file }) =>
      shown(`${client}:${name} in ${file}`),
    ),
    warnings: warningsOf(server).map(shown),
  };
}

/** The digest of a definition and of what was shown of it. */
export function digestOfView(server: DiscoveredServer, view: ApprovalView): string {
  return createHash('sha256')
    .update(JSON.stringify([definitionHash(server), view]))
    .digest('hex');
}
