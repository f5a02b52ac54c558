// Reads the text format of Prometheus, version 0.0.4, and takes nothing that the format does not allow:
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

interface ParsedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ParsedMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: ParsedSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"/;
const NUMBER = /^(?:[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf)|NaN)$/i;
const TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'];

export function parsePrometheus(text: string): Map<string, ParsedMetric> {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end');
  const metrics = new Map<string, ParsedMetric>();
  let current: ParsedMetric | undefined;
  const seen = new Set<string>();
  const lines = text.split('\n').slice(0, -1);
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const help = /^# HELP ([^ ]+) ((?:[^\\]|\\[\\n])*)$/.exec(line);
    if (help !== null) {
      const name = help[1] ?? '';
      const type = /^# TYPE ([^ ]+) (\S+)$/.exec(lines[++i] ?? '');
      if (NAME.exec(name)?.[0] !== name || type?.[1] !== name || !TYPES.includes(type[2] ?? ''))
        throw new Error(`wrong head: ${line} / ${lines[i]}`);
      if (metrics.has(name)) throw new Error(`${name} comes twice`);
      current = { name, type: type[2] ?? '', help: help[2] ?? '', samples: [] };
      metrics.set(name, current);
      continue;
    }
    const sample = parseSample(line);
    if (current === undefined || !belongs(sample, current)) throw new Error(`a sample of no metric: ${line}`);
    const identity = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
    if (seen.has(identity)) throw new Error(`a sample comes twice: ${line}`);
    seen.add(identity);
    current.samples.push(sample);
  }
  for (const metric of metrics.values()) check(metric);
  return metrics;
}

function parseSample(line: string): ParsedSample {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) throw new Error(`no name: ${line}`);
  let rest = line.slice(name.length);
  const labels: Record<string, string> = {};
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    while (!rest.startsWith('}')) {
      const label = LABEL.exec(rest);
      if (label === null || Object.hasOwn(labels, label[1] ?? '')) throw new Error(`wrong labels: ${line}`);
      const unescaped = (label[2] ?? '').replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
      labels[label[1] ?? ''] = unescaped;
      rest = rest.slice(label[0].length);
      if (rest.startsWith(',')) rest = rest.slice(1);
      else if (!rest.startsWith('}')) throw new Error(`wrong labels: ${line}`);
    }
    rest = rest.slice(1);
  }
  if (!/^ \S+$/.test(rest) || !NUMBER.test(rest.slice(1))) throw new Error(`wrong value: ${line}`);
  return { name, labels, value: Number(rest.slice(1).replace('Inf', 'Infinity')) };
}

function belongs({ name }: ParsedSample, metric: ParsedMetric): boolean {
  const names =
    metric.type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => metric.name + end) : [metric.name];
  return names.includes(name);
}

function check({ name, type, samples, help }: ParsedMetric): void {
  if (help === '' || samples.length === 0) throw new Error(`${name} says nothing`);
  if (type === 'counter' && (!name.endsWith('_total') || samples.some(({ value }) => value < 0)))
    throw new Error(`${name} is no counter`);
  if (type === 'gauge' && /_(?:total|count|sum|bucket)$/.test(name)) throw new Error(`${name} is no gauge`);
  if (type === 'histogram') checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: readonly ParsedSample[]): void {
  const series = new Map<string, ParsedSample[]>();
  for (const sample of samples) {
    const { le: _, ...others } = sample.labels;
    const key = JSON.stringify(others);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const own of series.values()) {
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => Number((labels.le ?? '').replace('+Inf', 'Infinity')));
    const rises = (list: readonly number[], strictly: boolean): boolean =>
      list.every((value, i) => i === 0 || value > (list[i - 1] ?? 0) || (!strictly && value === list[i - 1]));
    const values = buckets.map(({ value }) => value);
    const count = own.find((sample) => sample.name === `${name}_count`)?.value;
    if (!rises(bounds, true) || !rises(values, false) || bounds.at(-1) !== Number.POSITIVE_INFINITY)
      throw new Error(`the buckets of ${name} do not rise to +Inf`);
    if (count !== values.at(-1) || !own.some((sample) => sample.name === `${name}_sum`))
      throw new Error(`${name} does not add up`);
  }
}
