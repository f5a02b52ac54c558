// Everything about one name: each definition, where it is, what became of it, and by which rule.

import { definitionHash } from '../../discovery/approval.ts';
import type { Diagnostic } from '../../discovery/diagnostic.ts';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { alikeAmong, apart } from '../../discovery/duplicates.ts';
import { explainPolicy } from '../../discovery/policy.ts';
import { replacedBy } from '../../discovery/precedence.ts';
import { differencesIn } from '../../discovery/remembered-launch.ts';
import { decidedBefore, type EarlierDecision, type Survey } from '../../discovery/survey.ts';
import type { CliHost } from '../host.ts';
import { definitionLines, differenceLines, type Line, ownerOf, rendered } from './definition-view.ts';
import { printable } from './table.ts';
import { tilde, widthOf, wrappedLines } from './terminal.ts';

export function explanation(name: string, servers: readonly DiscoveredServer[], found: Survey, host: CliHost): string {
  const parts = servers.map((server) => one(server, found, host));
  const summary = summaryOf(name, servers, found);
  return `${parts.join('\n')}${summary.length === 0 ? '' : '\n'}${summary.map((line) => `${printable(line)}\n`).join('')}`;
}

function one(server: DiscoveredServer, found: Survey, host: CliHost): string {
  const { id, name, state, reason } = server;
  const lacking = found.missing.get(server);
  const word = lacking === undefined ? state : 'missing';
  const told = lacking ?? reason;
  const why = told === undefined ? '' : `: ${tilde(told, host)}`;
  const head = `${id === name ? name : `${id} (${name})`} of ${ownerOf(server)}, ${word}${why}`;
  const notes = notesOn(server, found.discovery.diagnostics).map(
    (message) => `${wrappedLines(`  ! ${tilde(message, host)}`, { width: widthOf(host), indent: '    ' })}\n`,
  );
  return `${printable(head)}\n${rendered([...definitionLines(server, host), ...judgements(server, found, host)])}${notes.join('')}`;
}

function judgements(server: DiscoveredServer, found: Survey, host: CliHost): Line[] {
  const { discovery, approvals } = found;
  const { sources, client, file, timeoutMs, tools, ignored } = server;
  const others = sources.filter((source) => source.client !== client || source.file !== file);
  const decision = approvals.decisionOn(definitionHash(server));
  const before = decidedBefore(server, found);
  const lines: (readonly [string, string | undefined])[] = [
    [
      'also in',
      others.map((other) => (other.file === file ? other.client : `${other.client} (${other.file})`)).join(', '),
    ],
    ['instead of', replacedBy(server, discovery.servers).map(memberAt).join(', ')],
    ['timeout', timeoutMs === undefined ? undefined : `${timeoutMs} ms`],
    ['tools', toolWords(tools)],
    ['policy', policyWords(explainPolicy(server, discovery.policies))],
    ['decision', decision && `${decision.decision} on ${decision.at.slice(0, 10)}`],
    ...(before === undefined ? [] : changeLines(server, before)),
    ['not heeded', ignored.join(', ')],
  ];
  return lines.flatMap(([label, text]): Line[] => (text ? [[label, printable(tilde(text, host))]] : []));
}

function memberAt({ client, name, file }: DiscoveredServer): string {
  return `${client}:${name} (${file})`;
}

function changeLines(server: DiscoveredServer, { words, launch }: EarlierDecision): Line[] {
  const lines = differenceLines(differencesIn(server, launch));
  return [['changed', `since ${words}`], ...lines.map((line): Line => ['', line])];
}

function toolWords({ allow, deny }: DiscoveredServer['tools']): string | undefined {
  const words = [
    ...(allow === undefined ? [] : [`only ${allow.join(', ')}`]),
    ...(deny.length === 0 ? [] : [`not ${deny.join(', ')}`]),
  ];
  return words.length === 0 ? undefined : words.join('; ');
}

export function policyWords(decision: ReturnType<typeof explainPolicy>): string {
  if (!decision.isAllowed) return `blocked: ${decision.reason}`;
  return decision.rule === undefined ? 'allowed: no rule is about it' : `allowed by ${decision.rule}`;
}

function notesOn({ file, name }: DiscoveredServer, diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.filter((found) => found.path === file && found.server === name).map(({ message }) => message);
}

function summaryOf(name: string, servers: readonly DiscoveredServer[], { discovery, missing }: Survey): string[] {
  const ready = servers.filter((server) => server.state === 'ready' && !missing.has(server));
  const ids = ready.map((server) => `${server.id} (of ${ownerOf(server)})`).join(', ');
  const isAmong = (members: readonly string[]): boolean =>
    members.length > 1 && servers.some((server) => members.includes(`${server.client}:${server.name}`));
  return [
    ready.length === 0 ? `None of ${name} can be used as it is.` : `Used: ${ids}.`,
    ...discovery.groups
      .filter(({ members }) => isAmong(members))
      .map(({ members }) => `The same: ${members.join(', ')}.`),
    ...discovery.conflicts
      .filter((conflict) => isAmong(conflict.members))
      .map(({ members }) => `Different servers of one name: ${apart(alikeAmong(members, discovery.groups))}.`),
  ];
}

/** Remarks on an entry of this name that is in no list; undefined if there are none. */
export function leftOut(name: string, { discovery }: Survey, host: CliHost): string | undefined {
  const told = discovery.diagnostics.filter(({ server }) => server === name).map(({ message }) => message);
  if (told.length === 0) return undefined;
  const lines = told.map(
    (message) => `${wrappedLines(`  ! ${tilde(message, host)}`, { width: widthOf(host), indent: '    ' })}\n`,
  );
  return `${printable(name)} was found, and left out:\n${lines.join('')}`;
}
