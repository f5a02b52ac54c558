// Drawings of numbers: the history of some minutes, a small line without axes, and a histogram.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { html, type Markup } from '../html.ts';
import { theme } from '../theme.ts';

interface HistoryProps {
  readonly label: string;
  /** Seconds since the epoch, and a value for each of them by series. */
  readonly times: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly number[]; readonly colour: string }[];
  readonly format: (value: number) => string;
  readonly spanSeconds: number;
}

const HEIGHT = 196;

/** Lines over time: all that is known, of the last `spanSeconds`. */
export function History({ label, times, series, format, spanSeconds }: HistoryProps): Markup {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = useRef<uPlot.AlignedData>([[], []]);
  data.current = [times as number[], ...series.map(({ values }) => values as number[])];
  const chosen = theme.value;
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const styles = getComputedStyle(document.documentElement);
    const colour = (name: string): string => styles.getPropertyValue(name).trim();
    const font = `11px ${styles.getPropertyValue('--sans')}`;
    const axis = {
      stroke: colour('--faint'),
      font,
      ticks: { show: false },
      grid: { stroke: colour('--line'), width: 1 },
    };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 6 }, y: false },
        scales: {
          x: {
            time: false,
            range: (_, min, max) => spanOf(min, max, spanSeconds),
          },
          y: { range: (_, __, max) => [0, Math.max(1, (max ?? 0) * 1.15)] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            incrs: [10, 30, 60, 120],
            space: 90,
            size: 26,
            values: (_, splits) => splits.map((at) => timeOf(at)),
          },
          { ...axis, size: 46, space: 44, values: (_, splits) => splits.map(format) },
        ],
        series: [
          {},
          ...series.map((one, at) => ({
            label: one.label,
            stroke: colour(one.colour),
            width: 1.5,
            points: { show: false },
            ...(at === 0 && { fill: colour('--accent-wash') }),
          })),
        ],
      },
      data.current,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [chosen, spanSeconds]);
  useEffect(() => plot.current?.setData(data.current), [times]);
  return html`<div class="history" role="img" aria-label=${label} ref=${place}></div>`;
}

/** A minute at least, and no more than is known. */
function spanOf(min: number | null, max: number | null, mostSeconds: number): [number, number] {
  const now = max ?? Date.now() / 1000;
  return [Math.max(now - mostSeconds, Math.min(min ?? now, now - 60)), now];
}

function timeOf(at: number): string {
  return new Date(at * 1000).toLocaleTimeString('en-GB', { hour12: false });
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

/** Bars with their names below. */
export function Histogram({ label, bars }: HistogramProps): Markup {
  const top = Math.max(1, ...bars.map(({ value }) => value));
  return html`<div class="histogram" role="img" aria-label=${label}>${bars.map(
    ({ name, value }) => html`<div key=${name} class="histogram-bar" title=${`${name}: ${value}`}>
      <div class="histogram-room"><div class="histogram-fill" style=${{ height: `${value === 0 ? 0 : Math.max(2, (value / top) * 100)}%` }}></div></div>
      <div class="histogram-name">${name}</div>
    </div>`,
  )}</div>`;
}
