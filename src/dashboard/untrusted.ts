// Texts from outside: names, results, stderr, anything that a server or client sent. They are shown as text nodes, cut
// to a maximum, with a mark for each character that is invisible or would reverse the text.

import { html, type Markup } from './html.ts';
import { type Mark, markedPieces } from './marks.ts';

const MOST_IN_LINE = 300;
const MOST_IN_BLOCK = 100_000;

/** A text on one line. */
export function text(value: unknown, most = MOST_IN_LINE): Markup {
  const whole = typeof value === 'string' ? value : String(value ?? '');
  return html`<span class="untrusted" dir="ltr"
    >${markedPieces(whole.slice(0, most), false).map(shown)}${
      whole.length > most ? html`<span class="cut" title=${`${whole.length} characters`}>…</span>` : null
    }</span
  >`;
}

/** A whole text; the style keeps its lines. */
export function wholeText(value: string): Markup {
  return html`<span class="untrusted" dir="ltr">${withLines(value)}</span>`;
}

interface BlockProps {
  readonly text: unknown;
  readonly most?: number;
  readonly label: string;
}

/** A text that keeps its lines. */
export function Block({ text, most = MOST_IN_BLOCK, label }: BlockProps): Markup {
  const whole = typeof text === 'string' ? text : String(text ?? '');
  return html`<pre class="block" dir="ltr" tabindex="0" role="region" aria-label=${label}>${
    whole.length > most ? html`<span class="cut">… ${whole.length - most} characters before\n</span>` : null
  }${withLines(whole.slice(-most))}</pre>`;
}

/** JSON, indented. */
export function Json({ value, label }: { readonly value: unknown; readonly label: string }): Markup {
  return html`<${Block} text=${JSON.stringify(value, null, 2) ?? 'undefined'} label=${label} />`;
}

function withLines(text: string): unknown[] {
  return markedPieces(text, true).map(shown);
}

function shown(piece: string | Mark): unknown {
  if (typeof piece === 'string') return piece;
  const { code, times } = piece;
  return html`<span class="unseen" title="a character that cannot be seen">U+${code}${times === 1 ? '' : ` ×${times}`}</span>`;
}
