// Everything that waits for a person: definitions to approve, changed tools field by field, sign-ins, missing inputs,
// questions of servers. An approval carries the digest of what was shown.

import type { ComponentChildren } from 'preact';
import { inbox, readInbox } from '../attention.ts';
import { ask, PageRefusal } from '../connection.ts';
import { isRecord, type JsonFields, membersOf, recordsOf, textOf, textsOf } from '../data.ts';
import { html, type Markup } from '../html.ts';
import { Action, Badge, Command, Empty, Facts, Panel, ReadOnlyNote, Screen } from '../parts/elements.ts';
import { address } from '../route.ts';
import { failing as failingServers } from '../servers.ts';
import { text, wholeText } from '../untrusted.ts';

export function Inbox(): Markup {
  const now = membersOf(inbox.value);
  const approvals = recordsOf(now.approvals);
  const callers = recordsOf(now.dialledIn).filter(({ state }) => state === 'waiting');
  const changes = recordsOf(now.changes).filter(({ tools }) => recordsOf(tools).length > 0);
  const signIns = recordsOf(now.signIns);
  const inputs = Object.entries(membersOf(now.inputs));
  const questions = recordsOf(now.questions);
  const failing = failingServers.value;
  const number =
    approvals.length +
    callers.length +
    changes.length +
    signIns.length +
    inputs.length +
    questions.length +
    failing.length;
  return html`<${Screen} title="Inbox" note=${inbox.value === undefined ? 'Looking' : number === 0 ? '' : `${number} to look at`}>
    ${number > 0 ? html`<${ReadOnlyNote} />` : null}
    ${inbox.value !== undefined && number === 0 ? html`<${Panel}><${Empty} title="Nothing waits for you" text="Definitions to approve, changed tools and sign-ins appear here until you decide." /></>` : null}
    ${approvals.map((one) => html`<${Approval} key=${`a${textOf(one.id)}`} one=${one} />`)}
    ${callers.map(
      (
        one,
      ) => html`<${Item} key=${`d${textOf(one.name)}`} kind="Approve" title=${one.name} note="has connected by itself">
      <p class="panel-text">Its program calls itself <b>${wholeText(`${textOf(one.program)} ${textOf(one.version)}`)}</b>. Whatever program of yours connects under this name is offered to all clients from then on.</p>
      <${Decisions} shown=${{ servers: [{ name: one.name, digest: one.digest }] }} name=${textOf(one.name)} /></>`,
    )}
    ${changes.flatMap((one) => recordsOf(one.tools).map((tool) => html`<${ChangedTool} key=${`c${textOf(one.server)} ${textOf(tool.tool)}`} server=${textOf(one.server)} policy=${textOf(one.policy)} tool=${tool} />`))}
    ${signIns.map((one) => html`<${Item} key=${`s${textOf(one.server)}`} kind="Sign in" title=${one.server}><p class="panel-text">${text(one.message ?? 'It wants a sign-in.', 400)}</p><div class="panel-end"><${Command} text="mcp-bridge auth" words=${[textOf(one.server)]} /></div></>`)}
    ${inputs.map(([server, names]) => html`<${Item} key=${`i${server}`} kind="Input missing" title=${server}><p class="panel-text">It needs values that nobody has given yet.</p><div class="panel-end">${textsOf(names).map((name) => html`<${Command} key=${name} text="mcp-bridge input set" words=${[name]} />`)}</div></>`)}
    ${questions.map((one, i) => html`<${Item} key=${`q${i}`} kind="Question" title=${one.server}><p class="panel-text">It has asked <b>${text(one.client || 'one of its clients')}</b> for ${textOf(one.about)}, and waits${textOf(one.state) === 'held' ? ' until it is certain which client it is for' : ' for the answer'}.</p></>`)}
    ${failing.map((one) => html`<${Item} key=${`f${one.name}`} kind=${one.state} tone="bad" title=${one.name}><p class="panel-text">${text(one.lastError ?? '', 600)}</p><div class="panel-end"><a class="button" href=${address('servers', one.name, 'stderr')}>See its stderr</a></div></>`)}
  </>`;
}

function Item(props: {
  kind: string;
  title: unknown;
  note?: unknown;
  tone?: 'warn' | 'bad';
  children?: ComponentChildren;
}): Markup {
  const { kind, title, note, tone = 'warn', children } = props;
  return html`<${Panel} title=${text(title)} aside=${html`${note ?? null}<${Badge} tone=${tone}>${kind}</>`} name="item">${children}</>`;
}

/** Decides about exactly what was shown. */
function decider(shown: object): (method: 'ui/approve' | 'ui/reject') => () => Promise<void> {
  return (method) => async () => {
    const { others } = await ask<{ others: unknown }>(method, shown);
    await readInbox();
    if (textsOf(others).length > 0)
      throw new PageRefusal('It has changed since it was shown here', 'Look at it again.');
  };
}

function Decisions({ shown, name, isWhole = true }: { shown: object; name: string; isWhole?: boolean }): Markup {
  const decide = decider(shown);
  return html`<div class="panel-end"><${Action} act=${decide('ui/approve')} kind="main" disabled=${!isWhole} name=${`Approve ${name}`}>Approve</><${Action} act=${decide('ui/reject')} name=${`Reject ${name}`}>Reject</></div>`;
}

/** The words that precede the program or address. */
const RUN: ReadonlySet<string> = new Set(['runs', 'connects to']);

function Approval({ one }: { one: JsonFields }): Markup {
  const isWhole = one.lines !== null;
  const lines = Array.isArray(one.lines) ? one.lines.map(textsOf) : [];
  const notes = [
    ...textsOf(one.replaces).map((replaced) => `It takes the place of ${replaced}`),
    ...textsOf(one.warnings),
  ];
  const whole = (label: string, line: string): unknown =>
    RUN.has(label) ? html`<code class="launch">${wholeText(line)}</code>` : wholeText(line);
  return html`<${Item} kind=${textOf(one.since) === 'changed' ? 'Approve the change' : 'Approve'} title=${one.name} note=${html`<span>from ${text(one.client)}</span>`}>
    <div class="item-facts"><${Facts} facts=${lines.map(([label = '', line = '']) => [label, whole(label, line)] as const)} /></div>
    <ul class="shown shown-changed">${textsOf(one.differences).map((line, i) => html`<li key=${i}>${wholeText(line)}</li>`)}</ul>
    ${notes.map((note, i) => html`<p key=${i} class="panel-text warn">${wholeText(note)}</p>`)}
    ${isWhole ? null : html`<p class="panel-text warn">It is too long to be shown here, so it cannot be approved here. <${Command} text="mcp-bridge approve" words=${[textOf(one.name)]} /></p>`}
    <${Decisions} shown=${{ definitions: [{ id: one.id, digest: one.digest }] }} name=${textOf(one.name)} isWhole=${isWhole} />
  </>`;
}

// --- a changed tool ---

interface Change {
  readonly path: string;
  readonly before: string | undefined;
  readonly now: string | undefined;
}

/**
 * The maximum number of changes shown for a tool. Nothing is cut: with more, the tool is not shown and cannot be
 * accepted here.
 */
const MOST_CHANGES = 400;
const MOST_SHOWN = 200_000;

const isShowable = (changes: readonly Change[]): boolean =>
  changes.length <= MOST_CHANGES &&
  changes.reduce((sum, { path, before = '', now = '' }) => sum + path.length + before.length + now.length, 0) <=
    MOST_SHOWN;

/** The fields that differ, by path; for a new tool, each of its fields. */
function changesBetween(before: unknown, now: unknown, path = ''): Change[] {
  if (before === now) return [];
  if (path === '' && before === undefined && isRecord(now) && Object.keys(now).length > 0)
    return Object.entries(now).map(([key, value]) => ({ path: key, before: undefined, now: textFor(value) }));
  if (isContainer(before) && isContainer(now) && Array.isArray(before) === Array.isArray(now)) {
    const [old, young] = [before as JsonFields, now as JsonFields];
    const keys = [...new Set([...Object.keys(old), ...Object.keys(young)])];
    return keys.flatMap((key) => changesBetween(own(old, key), own(young, key), path === '' ? key : `${path}.${key}`));
  }
  return [{ path, before: textFor(before), now: textFor(now) }];
}

const isContainer = (value: unknown): boolean => isRecord(value) || Array.isArray(value);
const own = (fields: JsonFields, key: string): unknown => (Object.hasOwn(fields, key) ? fields[key] : undefined);

function textFor(value: unknown): string | undefined {
  return value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

function ChangedTool({ server, policy, tool }: { server: string; policy: string; tool: JsonFields }): Markup {
  const [before, now] = [membersOf(tool.before), membersOf(tool.now)];
  const name = textOf(tool.tool);
  const isWhole = now.definition !== null && now.definition !== undefined;
  const changes = changesBetween(before.definition ?? undefined, now.definition ?? undefined);
  const isAll = isWhole && isShowable(changes);
  const accept = async (): Promise<void> => {
    const { others } = await ask<{ others: unknown }>('bridge/accept', { server, tools: { [name]: now.hash } });
    await readInbox();
    if (textsOf(others).length > 0)
      throw new PageRefusal('It has changed again since it was shown here', 'Look at it again.');
  };
  return html`<${Item} kind=${textOf(tool.state) === 'new' ? 'New tool' : policy === 'block' ? 'Changed tool, blocked' : 'Changed tool'} title=${name} note=${html`<a href=${address('servers', server, 'tools', name)}>${text(server)}</a>`}>
    ${
      isAll
        ? html`<div class="changes" role="table" aria-label=${`Changes of ${name}`}>${changes.map(
            (change) => html`<div class="change" role="row" key=${change.path}>
        <div class="change-path" role="rowheader"><code>${wholeText(change.path || 'all of it')}</code></div>
        <div class="change-texts" role="cell">${change.before === undefined ? null : html`<p class="removed">${wholeText(change.before)}</p>`}${change.now === undefined ? null : html`<p class="added">${wholeText(change.now)}</p>`}</div></div>`,
          )}</div>`
        : html`<p class="panel-text warn">${isWhole ? 'What has changed is too long to be shown here' : 'Its definition is too long to be kept'}, so it cannot be accepted here. <${Command} text="mcp-bridge tools --accept" words=${[server]} /></p>`
    }
    <div class="panel-end"><${Action} act=${accept} kind="main" disabled=${!isAll} name=${`Accept ${name}`}>Accept what it says now</></div>
  </>`;
}
