// Charts: the history of some minutes, a small line without axes, and a histogram.

import { useEffect, useRef, useState } from 'preact/hooks';
import { clockTime } from '../format.ts';
import { html, type Markup } from '../html.ts';
import type { Tone } from './elements.ts';
import { levelsUpTo, timesBetween } from './scale.ts';

interface HistoryProps {
  readonly label: string;
  /** Seconds since 1970, and for each series a value for each of them. */
  readonly times: readonly number[];
  /** The first series is filled. `tone` is its colour. */
  readonly series: readonly { readonly label: string; readonly values: readonly number[]; readonly tone: Tone }[];
  readonly format: (value: number) => string;
  readonly spanSeconds: number;
}

const HEIGHT = 204;
const EDGES = { left: 46, right: 14, top: 10, bottom: 26 };
/** The width of a time label. */
const LABEL_WIDTH = 90;
const SHORTEST_SECONDS = 60;

/** Lines over time: the known part of the last `spanSeconds`. The value under the pointer is shown. */
export function History({ label, times, series, format, spanSeconds }: HistoryProps): Markup {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [pointer, setPointer] = useState<number | undefined>(undefined);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const to = times.at(-1) ?? 0;
  const from = Math.max(to - spanSeconds, Math.min(times[0] ?? to, to - SHORTEST_SECONDS));
  const levels = levelsUpTo(Math.max(1, ...series.flatMap(({ values }) => values)));
  const top = levels.at(-1) ?? 1;
  const inner = Math.max(1, width - EDGES.left - EDGES.right);
  const base = HEIGHT - EDGES.bottom;
  const x = (at: number): number => EDGES.left + ((at - from) / (to - from)) * inner;
  const y = (value: number): number => base - (value / top) * (base - EDGES.top);
  const pointsOf = (values: readonly number[]): string =>
    values.map((value, i) => `${x(times[i] ?? to).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  const pointed = pointer === undefined ? -1 : nearest(times, from + ((pointer - EDGES.left) / inner) * (to - from));
  const at = times[pointed];
  const move = ({ clientX }: MouseEvent): void =>
    setPointer(clientX - (place.current?.getBoundingClientRect().left ?? 0));
  return html`<div class="history" role="img" aria-label=${label} ref=${place} onMouseMove=${move} onMouseLeave=${() => setPointer(undefined)}>
    <svg width=${width} height=${HEIGHT} aria-hidden="true">
      ${levels.map((level) => html`<line key=${level} class="grid" x1=${EDGES.left} x2=${width - EDGES.right} y1=${y(level)} y2=${y(level)} /><text x=${EDGES.left - 8} y=${y(level)} class="level">${level < 10 ? level : format(level)}</text>`)}
      ${timesBetween(from, to, inner / LABEL_WIDTH).map((time) => html`<text key=${time} x=${x(time)} y=${HEIGHT - 6} class="time">${clockTime(time * 1000)}</text>`)}
      ${times.length < 2 ? null : series.map(({ label: name, values, tone }, i) => html`<g key=${name} class=${`series-${tone}`}>${i === 0 ? html`<polygon points=${`${x(times[0] ?? to)},${base} ${pointsOf(values)} ${x(to)},${base}`} />` : null}<polyline points=${pointsOf(values)} /></g>`)}
      ${at === undefined ? null : html`<line class="pointer" x1=${x(at)} x2=${x(at)} y1=${EDGES.top} y2=${base} />${series.map(({ label: name, values, tone }) => html`<circle key=${name} class=${`series-${tone}`} cx=${x(at)} cy=${y(values[pointed] ?? 0)} r="3.5" />`)}`}
    </svg>
    ${at === undefined ? null : html`<p class="history-values" style=${x(at) > width / 2 ? { right: `${width - x(at) + 10}px` } : { left: `${x(at) + 10}px` }}><span class="faint">${clockTime(at * 1000)}</span>${series.map(({ label: name, values, tone }) => html`<span key=${name} class=${`key key-${tone}`}>${format(values[pointed] ?? 0)} ${name}</span>`)}</p>`}
  </div>`;
}

/** The index of the nearest time; -1 without any. */
function nearest(times: readonly number[], wanted: number): number {
  let best = -1;
  for (const [i, at] of times.entries())
    if (best < 0 || Math.abs(at - wanted) < Math.abs((times[best] ?? 0) - wanted)) best = i;
  return best;
}

/** A line without axes. */
export function Spark({ values, most }: { readonly values: readonly number[]; readonly most: number }): Markup {
  const top = Math.max(1e-9, ...values);
  const step = 100 / Math.max(1, most - 1);
  const start = 100 - step * (values.length - 1);
  const points = values.map((value, i) => `${(start + i * step).toFixed(2)},${(22 - (value / top) * 20).toFixed(2)}`);
  const line = points.join(' ');
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
    ${points.length > 1 ? html`<polygon points=${`${start.toFixed(2)},24 ${line} 100,24`} /><polyline points=${line} />` : null}
  </svg>`;
}

interface HistogramProps {
  readonly label: string;
  readonly bars: readonly { readonly name: string; readonly value: number }[];
}

/** More names would overlap. */
const MOST_NAMES = 7;

/** Bars with names below, or with some of them. */
export function Histogram({ label, bars }: HistogramProps): Markup {
  const top = Math.max(1, ...bars.map(({ value }) => value));
  const everyName = Math.ceil(bars.length / MOST_NAMES);
  return html`<div class="histogram" role="img" aria-label=${label}>${bars.map(
    ({ name, value }, i) => html`<div key=${name} class="histogram-bar" title=${`${name}: ${value}`}>
      <div class="histogram-room"><div class="histogram-fill" style=${{ height: `${value === 0 ? 0 : Math.max(2, (value / top) * 100)}%` }}></div></div>
      <div class="histogram-name">${i % everyName === 0 ? name : ''}</div>
    </div>`,
  )}</div>`;
}
