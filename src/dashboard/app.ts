// The frame of the dashboard: navigation, the daemon's state, and the current screen. Also its keys.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { attention, keepInbox } from './attention.ts';
import { phase } from './connection.ts';
import { clockTime, span } from './format.ts';
import { html, type Markup } from './html.ts';
import { Command, dot } from './parts/elements.ts';
import { address, go, route } from './route.ts';
import { Audit } from './screens/audit.ts';
import { Calls } from './screens/calls.ts';
import { Clients } from './screens/clients.ts';
import { Discovery } from './screens/discovery.ts';
import { Inbox } from './screens/inbox.ts';
import { Overview } from './screens/overview.ts';
import { Server } from './screens/server.ts';
import { Servers } from './screens/servers.ts';
import { Settings } from './screens/settings.ts';
import { Tools } from './screens/tools.ts';
import { Topology } from './screens/topology.ts';
import { canWrite, daemon, restartedAt, status, version } from './state.ts';
import { theme, toggle } from './theme.ts';
import { text } from './untrusted.ts';

interface Place {
  readonly id: string;
  readonly title: string;
  readonly key: string;
  readonly icon: string;
  readonly view: () => Markup;
}

const PLACES: readonly Place[] = [
  {
    id: 'overview',
    title: 'Overview',
    key: 'o',
    icon: 'M3 3h6v7H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 12h6v5H3z',
    view: () => html`<${Overview} />`,
  },
  {
    id: 'inbox',
    title: 'Inbox',
    key: 'i',
    icon: 'M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4',
    view: () => html`<${Inbox} />`,
  },
  {
    id: 'topology',
    title: 'Topology',
    key: 't',
    icon: 'M10 8.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 1 0 0-3M4 3.5v3M4 13.5v3M16 3.5v3M16 13.5v3M4 5l6 5-6 5M16 5l-6 5 6 5',
    view: () => html`<${Topology} />`,
  },
  { id: 'calls', title: 'Calls', key: 'c', icon: 'M3 5h9M3 10h14M6 15h8', view: () => html`<${Calls} />` },
  {
    id: 'servers',
    title: 'Servers',
    key: 's',
    icon: 'M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01',
    view: () => (route.value.rest.length > 0 ? html`<${Server} />` : html`<${Servers} />`),
  },
  {
    id: 'tools',
    title: 'Tools',
    key: 'f',
    icon: 'M8.5 3.5a5 5 0 1 0 0 10 5 5 0 1 0 0-10M12.5 12.5 17 17',
    view: () => html`<${Tools} />`,
  },
  {
    id: 'clients',
    title: 'Clients',
    key: 'l',
    icon: 'M3 4h14v9H3zM7 17h6M10 13v4',
    view: () => html`<${Clients} />`,
  },
  {
    id: 'discovery',
    title: 'Discovery',
    key: 'd',
    icon: 'M3 5h5l2 2h7v9H3zM3 9h14',
    view: () => html`<${Discovery} />`,
  },
  { id: 'audit', title: 'Audit', key: 'a', icon: 'M5 3h7l3 3v11H5zM8 9h5M8 12h5', view: () => html`<${Audit} />` },
  {
    id: 'settings',
    title: 'Settings',
    key: 'e',
    icon: 'M3 6h8M15 6h2M13 4v4M3 14h2M9 14h8M7 12v4',
    view: () => html`<${Settings} />`,
  },
];

export function App(): Markup {
  const now = phase.value;
  useKeys();
  useEffect(keepInbox, []);
  if (now.is === 'over') return html`<${Over} reason=${now.reason} />`;
  return html`<div class="app">
    <a class="skip" href="#main" onClick=${(event: Event) => {
      event.preventDefault();
      document.getElementById('main')?.focus();
    }}>Go to the content</a>
    <${Side} />
    <div class="content"><${Notices} />${now.is === 'entering' ? null : html`<${Place} />`}</div>
    <${Help} />
  </div>`;
}

function Place(): Markup {
  const { screen } = route.value;
  const place = PLACES.find(({ id }) => id === screen) ?? PLACES[0];
  useEffect(() => {
    document.title = `${place?.title ?? ''} · mcp-bridge`;
    document.querySelector('[aria-current=page]')?.scrollIntoView();
  }, [place]);
  return place === undefined ? null : place.view();
}

function Side(): Markup {
  const { screen } = route.value;
  const waiting = attention.value.length;
  return html`<nav class="side" aria-label="Screens">
    <a class="brand" href=${address('overview')} aria-label="mcp-bridge"><img src="/icon.svg" alt="" width="22" height="22" /><span>mcp-bridge</span></a>
    <ul class="places">${PLACES.map(
      ({
        id,
        title,
        key,
        icon,
      }) => html`<li key=${id}><a class="place" href=${address(id)} aria-current=${screen === id ? 'page' : undefined} title=${`${title} (g ${key})`}>
      <svg viewBox="0 0 20 20" width="16" height="16" aria-hidden="true"><path d=${icon} /></svg><span class="place-title">${title}</span>${id === 'inbox' && waiting > 0 ? html`<span class="place-count">${waiting}</span>` : null}</a></li>`,
    )}</ul>
    <${Foot} />
  </nav>`;
}

function Foot(): Markup {
  const { isUp } = daemon.value;
  const now = status.value;
  return html`<div class="foot">
    <p class="foot-line">${dot(phase.value.is === 'lost' || !isUp ? 'bad' : 'ok')}<span>${phase.value.is === 'lost' ? 'Not connected' : isUp ? 'Daemon runs' : 'No daemon'}</span></p>
    <p class="foot-line faint">${now === undefined ? version.value : html`<span>${now.version}</span><span class="sep">·</span><span>up ${span(now.uptimeMs)}</span>`}</p>
    <p class="foot-line"><span class=${canWrite.value ? 'mode mode-write' : 'mode'}>${canWrite.value ? 'May change things' : 'Looks only'}</span>
      <button type="button" class="quiet small" aria-label=${theme.value === 'dark' ? 'Light colours' : 'Dark colours'} title="Light or dark (t)" onClick=${toggle}>${theme.value === 'dark' ? '☀' : '☾'}</button></p>
  </div>`;
}

/** Shows changes of the daemon or of this page's connection. */
function Notices(): Markup {
  const { isUp, reason, generation } = daemon.value;
  const at = restartedAt.value;
  if (phase.value.is === 'lost')
    return html`<p class="banner banner-bad" role="status">The connection to mcp-bridge ui is lost; trying again.</p>`;
  if (phase.value.is === 'open' && !isUp && reason !== '')
    return html`<p class="banner banner-bad" role="status"><b>${generation === 0 ? 'Connecting.' : 'The daemon has gone.'}</b> ${generation === 0 ? reason : 'This page waits for the next one.'} <span class="banner-more">To start one: <code>mcp-bridge start</code></span></p>`;
  if (isUp && reason !== '')
    return html`<p class="banner banner-bad" role="status"><b>Calls and events are not shown.</b> ${text(reason)}</p>`;
  if (at === undefined) return null;
  return html`<p class="banner" role="status"><b>The daemon was restarted at ${clockTime(at)}.</b> All numbers begin there.
    <button type="button" class="quiet small" onClick=${() => {
      restartedAt.value = undefined;
    }}>Close</button></p>`;
}

function Over({ reason }: { reason: string }): Markup {
  return html`<main class="gate"><img src="/icon.svg" alt="" width="40" height="40" /><h1>This page is closed</h1><p class="gate-text">${reason}</p><p class="gate-text">To open the dashboard, type in a terminal:</p><${Command} text="mcp-bridge ui" /></main>`;
}

// --- keys ---

const KEYS: readonly (readonly [string, string])[] = [
  ...PLACES.map(({ key, title }) => [`g ${key}`, title] as const),
  ['/', 'Filter'],
  ['j k', 'Down, up in a list'],
  ['t', 'Light or dark'],
  ['Esc', 'Close what is open'],
  ['?', 'This list'],
];

let openHelp: (isOpen: boolean) => void = () => undefined;

function Help(): Markup {
  const [isOpen, setOpen] = useState(false);
  openHelp = setOpen;
  const close = useRef<HTMLButtonElement>(null);
  // A layout effect, so that keys pressed right away reach the list and not the page behind it.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const before = document.activeElement;
    close.current?.focus();
    return () => (before instanceof HTMLElement ? before.focus() : undefined);
  }, [isOpen]);
  /** Keeps the focus on the button, the only element that can have it while the list is open. */
  const stay = (event: KeyboardEvent): void => {
    if (event.key === 'Tab') event.preventDefault();
  };
  if (!isOpen) return null;
  return html`<div class="overlay" onClick=${() => setOpen(false)}><section class="help" role="dialog" aria-modal="true" aria-label="Keys" onKeyDown=${stay} onClick=${(event: Event) => event.stopPropagation()}>
    <header class="panel-head"><h2>Keys</h2><button type="button" class="quiet small" aria-label="Close" ref=${close} onClick=${() => setOpen(false)}>✕</button></header>
    <dl class="keys">${KEYS.map(([key, what]) => html`<div key=${key}><dt>${key.split(' ').map((one) => html`<kbd key=${one}>${one}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl></section></div>`;
}

function useKeys(): void {
  useEffect(() => {
    let isGoing = false;
    const pressed = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const isTyping = target.matches('input, textarea, select');
      if (event.key === 'Escape') return leave(target, isTyping);
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const place = isGoing ? PLACES.find(({ key }) => key === event.key) : undefined;
      isGoing = !isGoing && event.key === 'g';
      if (place !== undefined) go(place.id);
      else if (event.key === '?') openHelp(true);
      else if (event.key === 't') toggle();
      else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1);
      else if (event.key === '/') {
        const filter = document.querySelector<HTMLInputElement>('[data-filter]');
        if (filter === null) return;
        event.preventDefault();
        filter.focus();
        filter.select();
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

function leave(target: HTMLElement, isTyping: boolean): void {
  openHelp(false);
  if (isTyping) target.blur();
  else if (route.value.rest.length > 0) go(route.value.screen);
}

/** Moves the focus along the rows of the visible list. */
function step(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('.row-link, .pair-item, .lines a.line')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}
