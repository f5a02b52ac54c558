// Everything that waits for a person, as short lines: from the daemon's state, and from the inbox once loaded.

import { computed, effect, signal } from '@preact/signals';
import { ask, phase } from './connection.ts';
import { type JsonFields, membersOf, recordsOf, textOf } from './data.ts';
import type { Tone } from './parts/elements.ts';
import { address } from './route.ts';
import { failing } from './servers.ts';
import { onEvent, status } from './state.ts';

export interface Attention {
  readonly key: string;
  readonly title: string;
  readonly kind: string;
  readonly tone: Tone;
  readonly href: string;
}

/** The answer of `ui/inbox`. */
export const inbox = signal<Readonly<Record<string, unknown>> | undefined>(undefined);

const INBOX_MS = 5000;
/** Events after which the inbox may have changed. */
const NEWS = /^(?:tools\.changed|approvals\.wanted|question\.|server\.connected|instance\.failed)/;

let lastAsked = 0;
let lastShown = 0;

/** Loads the inbox. An answer that arrives after a later one is ignored. */
export async function readInbox(): Promise<void> {
  const turn = ++lastAsked;
  const answer = await ask<JsonFields>('ui/inbox').catch(() => undefined);
  if (answer === undefined || turn < lastShown) return;
  lastShown = turn;
  inbox.value = answer;
}

/** Keeps the inbox up to date while the page is open; returns the function that ends that. */
export function keepInbox(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLooking = false;
  let hasNews = false;
  // One look at a time; each repeats while the page is open.
  const look = async (): Promise<void> => {
    hasNews = true;
    if (isLooking) return;
    isLooking = true;
    clearTimeout(timer);
    while (hasNews) {
      hasNews = false;
      if (phase.value.is === 'open' && !document.hidden) await readInbox();
    }
    isLooking = false;
    timer = setTimeout(() => void look(), INBOX_MS);
  };
  const ends = [
    onEvent(({ kind }) => {
      if (NEWS.test(textOf(kind))) void look();
    }),
    effect(() => {
      if (phase.value.is === 'open') void look();
    }),
  ];
  return () => {
    clearTimeout(timer);
    for (const end of ends) end();
  };
}

export const attention = computed<readonly Attention[]>(() => [...fromInbox(), ...fromServers(), ...fromStatus()]);

function fromInbox(): Attention[] {
  const { approvals, dialledIn, changes, signIns, inputs, questions } = membersOf(inbox.value);
  const href = address('inbox');
  const line = (key: string, title: string, kind: string, tone: Tone = 'warn'): Attention => ({
    key,
    title,
    kind,
    tone,
    href,
  });
  return [
    ...recordsOf(approvals).map((one) => line(`a:${textOf(one.id)}`, textOf(one.name), 'approve')),
    ...recordsOf(dialledIn)
      .filter(({ state }) => state === 'waiting')
      .map((one) => line(`d:${textOf(one.name)}`, textOf(one.name), 'approve')),
    ...recordsOf(changes).map((one) => {
      const number = recordsOf(one.tools).length;
      return line(
        `c:${textOf(one.server)}`,
        textOf(one.server),
        number === 1 ? '1 tool changed' : `${number} tools changed`,
      );
    }),
    ...recordsOf(signIns).map((one) => line(`s:${textOf(one.server)}`, textOf(one.server), 'sign in')),
    ...Object.keys(membersOf(inputs)).map((server) => line(`i:${server}`, server, 'input missing')),
    ...recordsOf(questions).map((one, i) => line(`q:${i}`, textOf(one.server), 'question', 'accent')),
  ];
}

/** Servers in trouble, except those that need a sign-in: the inbox has them already. */
function fromServers(): Attention[] {
  return failing.value.map(({ name, state }) => ({
    key: `f:${name}`,
    title: name,
    kind: state,
    tone: 'bad',
    href: address('servers', name),
  }));
}

function fromStatus(): Attention[] {
  const now = status.value;
  if (now === undefined) return [];
  const faults = [...now.configFaults, ...now.definitionFaults];
  return faults.map((fault, i) => ({
    key: `x:${i}`,
    title: fault,
    kind: 'config',
    tone: 'warn',
    href: address('settings'),
  }));
}
