// Formats numbers, times and sizes for people: short, and of equal width in a column.

const MISSING = '–';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Adds commas for thousands. `Intl` would have to load before the first paint. */
function grouped(value: number): string {
  return `${Math.round(value)}`.replace(/\B(?=(?:\d{3})+$)/g, ',');
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : grouped(value);
}

/** Such as `1.2k` or `3.4M`, for narrow places. */
export function shortCount(value: number): string {
  if (value < 10_000) return grouped(value);
  if (value < 1_000_000) return `${trimmed(value / 1000)}k`;
  return `${trimmed(value / 1_000_000)}M`;
}

/** Calls per second. */
export function rate(value: number): string {
  if (value === 0) return '0';
  if (value < 10) return value.toFixed(1);
  return shortCount(value);
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return MISSING;
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${trimmed(ms / 1000)} s`;
  return span(ms);
}

/** A longer time, in its two largest units. */
export function span(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [d, h, m, s] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  if (d > 0) return `${d} d ${h} h`;
  if (h > 0) return `${h} h ${m} min`;
  if (m > 0) return `${m} min ${s} s`;
  return `${s} s`;
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return MISSING;
  if (value < 1024) return `${value} B`;
  if (value < 1024 ** 2) return `${trimmed(value / 1024)} KiB`;
  if (value < 1024 ** 3) return `${trimmed(value / 1024 ** 2)} MiB`;
  return `${trimmed(value / 1024 ** 3)} GiB`;
}

/** The time of day. */
export function clockTime(at: number | string | Date): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return MISSING;
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':');
}

export function dateTime(at: number | string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return MISSING;
  return `${twoDigits(date.getDate())} ${MONTHS[date.getMonth()] ?? ''}, ${clockTime(date)}`;
}

const twoDigits = (value: number): string => `${value}`.padStart(2, '0');

export function plural(number: number, noun: string, many = `${noun}s`): string {
  return `${count(number)} ${number === 1 ? noun : many}`;
}

function trimmed(value: number): string {
  return value < 10 ? value.toFixed(1) : grouped(value);
}
