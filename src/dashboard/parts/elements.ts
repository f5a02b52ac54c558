// The small elements that all screens use.

import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { seenPieces } from '../../util/printable.ts';
import { shellWord } from '../../util/shell-words.ts';
import { PageRefusal } from '../connection.ts';
import { html, type Markup } from '../html.ts';
import { go } from '../route.ts';
import { canWrite } from '../state.ts';
import { text } from '../untrusted.ts';

const MOST_IN_COMMAND = 1000;

export type Tone = 'ok' | 'warn' | 'bad' | 'accent' | 'quiet';

interface Children {
  readonly children?: ComponentChildren;
}

/** A screen: title, actions, and content. With `fills` the content takes the whole height. */
export function Screen(
  props: Children & { title: unknown; note?: unknown; actions?: unknown; fills?: boolean; back?: Markup },
): Markup {
  const { title, note, actions, fills, back, children } = props;
  return html`<main class=${fills ? 'screen screen-fills' : 'screen'} id="main" tabindex="-1">
    <header class="screen-head">
      <div class="screen-title">${back}<h1>${title}</h1>${note ? html`<p class="screen-note">${note}</p>` : null}</div>
      ${actions ? html`<div class="screen-actions">${actions}</div>` : null}
    </header>
    ${children}
  </main>`;
}

export function Panel(props: Children & { title?: unknown; aside?: unknown; name?: string }): Markup {
  const { title, aside, name = '', children } = props;
  return html`<section class=${`panel ${name}`}>
    ${title ? html`<header class="panel-head"><h2>${title}</h2>${aside ? html`<div class="panel-aside">${aside}</div>` : null}</header>` : null}
    ${children}
  </section>`;
}

export function Stat(props: {
  label: string;
  value: unknown;
  unit?: string;
  note?: unknown;
  children?: ComponentChildren;
}): Markup {
  const { label, value, unit, note, children } = props;
  return html`<div class="stat">
    <div class="stat-label">${label}</div>
    <div class="stat-value">${value}${unit ? html`<span class="stat-unit">${unit}</span>` : null}</div>
    <div class="stat-note">${note ?? '\u00a0'}</div>
    ${children}
  </div>`;
}

/** Says what to do while there is nothing to show. */
export function Empty(props: { title: string; text?: unknown; command?: string | undefined }): Markup {
  const { title, text: about, command } = props;
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${about ? html`<p class="empty-text">${about}</p>` : null}
    ${command ? html`<${Command} text=${command} />` : null}
  </div>`;
}

/**
 * A command to type, with a copy button. `words` may come from outside: each stays one word in a shell. A command that
 * could change when pasted is shown, but cannot be copied.
 */
export function Command({ text: start, words = [] }: { text: string; words?: readonly string[] }): Markup {
  const line = [start, ...words.map(shellWord)].join(' ');
  const mayCopy = words.every((word) => !word.startsWith('-') && seenPieces(word).every(({ isUnseen }) => !isUnseen));
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(line).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return html`<span class="command"><code>${text(line, MOST_IN_COMMAND)}</code>${mayCopy ? html`<button type="button" class="quiet small" onClick=${copy}>${isCopied ? 'Copied' : 'Copy'}</button>` : null}</span>`;
}

export function dot(tone: Tone): Markup {
  return html`<span class=${`dot dot-${tone}`} aria-hidden="true"></span>`;
}

export function Badge({ tone = 'quiet', children }: Children & { tone?: Tone }): Markup {
  return html`<span class=${`badge badge-${tone}`}>${children}</span>`;
}

/** A share of a whole, as a bar behind its number. */
export function Bar({ share, tone = 'accent' }: { share: number; tone?: Tone }): Markup {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return html`<span class="bar" aria-hidden="true"><span class=${`bar-fill bar-${tone}`} style=${{ width }}></span></span>`;
}

/** Labels with their values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, unknown])[] }): Markup {
  const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return html`<dl class="facts">${shown.map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`;
}

interface ActionProps extends Children {
  readonly act: () => Promise<unknown>;
  readonly kind?: 'main' | 'plain' | 'danger' | 'quiet';
  readonly small?: boolean;
  readonly disabled?: boolean;
  /** True if it changes nothing, so that it needs no permission. */
  readonly isLook?: boolean;
  readonly name?: string;
}

/** A button that does something and shows the result. */
export function Action({ act, kind = 'plain', small, disabled, isLook, name, children }: ActionProps): Markup {
  const [state, setState] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false });
  const isBarred = !isLook && !canWrite.value;
  const run = async (): Promise<void> => {
    setState({ isBusy: true });
    try {
      await act();
      setState({ isBusy: false });
    } catch (error) {
      setState({ isBusy: false, error });
    }
  };
  return html`<span class="action">
    <button type="button" class=${`${kind}${small ? ' small' : ''}`} aria-label=${name} disabled=${disabled || state.isBusy || isBarred}
      title=${isBarred ? 'This dashboard can only look. To change something: mcp-bridge ui --write' : undefined} onClick=${() => void run()}>
      ${children}
    </button>
    ${state.error ? html`<${Failure} error=${state.error} />` : null}
  </span>`;
}

export function Failure({ error }: { error: unknown }): Markup {
  const hint = error instanceof PageRefusal ? error.hint : '';
  const message = error instanceof Error ? error.message : String(error);
  return html`<p class="failure" role="alert"><b>${message}</b>${hint ? html` <span>${hint}</span>` : null}</p>`;
}

/** Says why buttons are disabled, if some are. */
export function ReadOnlyNote(): Markup {
  if (canWrite.value) return null;
  return html`<p class="read-only">This dashboard can only look. To change something, type <code>mcp-bridge ui --write</code></p>`;
}

export function Tabs(props: {
  tabs: readonly (readonly [id: string, label: unknown])[];
  chosen: string;
  onChoose: (id: string) => void;
  label: string;
}): Markup {
  const { tabs, chosen, onChoose, label } = props;
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const at = tabs.findIndex(([id]) => id === chosen);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (next !== undefined) onChoose(next[0]);
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>${tabs.map(
    ([
      id,
      title,
    ]) => html`<button key=${id} type="button" role="tab" aria-selected=${id === chosen} tabindex=${id === chosen ? 0 : -1}
      class="tab" onClick=${() => onChoose(id)}>${title}</button>`,
  )}</div>`;
}

/** The field that the key `/` focuses. */
export function Filter(props: { filter: Signal<string>; hint: string; label: string }): Markup {
  const { filter, hint, label } = props;
  const typed = (event: Event): void => {
    filter.value = (event.target as HTMLInputElement).value;
  };
  return html`<input type="search" class="search" data-filter placeholder=${hint} aria-label=${label} value=${filter.value} onInput=${typed} />`;
}

/** A choice between a few options. */
export function Segments<Kind extends string>(props: {
  kinds: readonly (readonly [Kind, string])[];
  chosen: Signal<Kind>;
}): Markup {
  const { kinds, chosen } = props;
  const button = ([kind, title]: readonly [Kind, string]): Markup => {
    const choose = (): void => {
      chosen.value = kind;
    };
    return html`<button key=${kind} type="button" aria-pressed=${chosen.value === kind} onClick=${choose}>${title}</button>`;
  };
  return html`<div class="segments" role="group" aria-label="Show">${kinds.map(button)}</div>`;
}

/** Everything about the selected row of a list. */
export function Aside(props: Children & { label: string; title: unknown; screen: string }): Markup {
  const { label, title, screen, children } = props;
  return html`<aside class="detail" aria-label=${label}>
    <header class="detail-head"><h2>${title}</h2><button type="button" class="quiet small" aria-label="Close" onClick=${() => go(screen)}>✕</button></header>
    ${children}
  </aside>`;
}
