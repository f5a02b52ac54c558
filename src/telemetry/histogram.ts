// Counts durations by attributes, in the convention's buckets. The number of series is limited; further ones are
// counted in one overflow series, as OpenTelemetry defines it.

import { ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType, type HistogramMetricData } from '@opentelemetry/sdk-metrics';
import { type Attributes, DURATION_BOUNDS } from './convention.ts';

/** Seconds and nanoseconds since 1970. */
export type HrMoment = [number, number];

const MOST_SERIES = 2000;
const OVERFLOW: Attributes = { 'otel.metric.overflow': true };
const OVERFLOW_KEY = '';

export interface Description {
  readonly name: string;
  readonly description: string;
}

/**
 * The durations with one set of attributes. A series may become outdated when a report is sent; see DurationHistogram.
 */
export class Series {
  readonly attributes: Attributes;
  readonly #counts = new Float64Array(DURATION_BOUNDS.length + 1);
  #count = 0;
  #sum = 0;
  #least = Number.POSITIVE_INFINITY;
  #most = Number.NEGATIVE_INFINITY;

  constructor(attributes: Attributes) {
    this.attributes = attributes;
  }

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < DURATION_BOUNDS.length && seconds > (DURATION_BOUNDS[bucket] as number)) bucket++;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count++;
    this.#sum += seconds;
    if (seconds < this.#least) this.#least = seconds;
    if (seconds > this.#most) this.#most = seconds;
  }

  get value() {
    return {
      buckets: { boundaries: [...DURATION_BOUNDS], counts: [...this.#counts] },
      count: this.#count,
      sum: this.#sum,
      min: this.#least,
      max: this.#most,
    };
  }
}

export class DurationHistogram {
  readonly #description: Description;
  readonly #isDelta: boolean;
  #series = new Map<string, Series>();
  /** Changes when all series begin again. */
  generation = 0;
  #since: HrMoment;

  constructor(description: Description, isDelta: boolean, now: HrMoment) {
    this.#description = description;
    this.#isDelta = isDelta;
    this.#since = now;
  }

  /** Counts a duration. Equal keys have equal attributes, which are requested once. */
  add(key: string, seconds: number, attributesOf: () => Attributes): void {
    this.of(key, attributesOf).add(seconds);
  }

  /** The series of a key; valid while the generation is the same. */
  of(key: string, attributesOf: () => Attributes): Series {
    return this.#series.get(key) ?? this.#newSeries(key, attributesOf);
  }

  #newSeries(key: string, attributesOf: () => Attributes): Series {
    const isFull = this.#series.size >= MOST_SERIES;
    const overflow = isFull ? this.#series.get(OVERFLOW_KEY) : undefined;
    if (overflow !== undefined) return overflow;
    const series = new Series(isFull ? OVERFLOW : attributesOf());
    this.#series.set(isFull ? OVERFLOW_KEY : key, series);
    return series;
  }

  /** The counts so far, or since the last time; undefined if there are none. */
  collect(now: HrMoment): HistogramMetricData | undefined {
    if (this.#series.size === 0) return undefined;
    const startTime = this.#since;
    const dataPoints = [...this.#series.values()].map(({ attributes, value }) => ({
      ...{ startTime, endTime: now, attributes, value },
    }));
    if (this.#isDelta) {
      this.#series = new Map();
      this.generation++;
      this.#since = now;
    }
    return {
      descriptor: { ...this.#description, unit: 's', valueType: ValueType.DOUBLE },
      aggregationTemporality: this.#isDelta ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints,
    };
  }
}
