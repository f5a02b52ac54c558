// `telemetry`: reads the destination and the amount of traces and metrics. With a fault in the address nothing is sent,
// so that nothing goes to a place that nobody meant.

import { OTLP, TELEMETRY } from '../model/settings.ts';
import {
  NO_TELEMETRY,
  type OtlpSettings,
  type TelemetrySettings,
  telemetrySettings,
} from '../model/telemetry-settings.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import { type Reader, readSettings } from './reader.ts';

const PLACE = 'telemetry';
const KEYS = [...Object.keys(TELEMETRY), 'otlp', 'resource', 'sampling'];
const OTLP_KEYS = [...Object.keys(OTLP), 'endpoint', 'headers'];

export function telemetrySettingsOf(reader: Reader, value: unknown): TelemetrySettings {
  if (value === undefined) return NO_TELEMETRY;
  const section = reader.section(value, PLACE);
  reader.keys(section, PLACE, KEYS);
  return telemetrySettings(readSettings(reader, section, PLACE, TELEMETRY), {
    sampling: samplingOf(reader, section.sampling),
    resource: textsOf(reader, section.resource, `${PLACE}.resource`),
    otlp: otlpOf(reader, section.otlp),
  });
}

function otlpOf(reader: Reader, value: unknown): OtlpSettings {
  const place = `${PLACE}.otlp`;
  const before = reader.errors;
  const section = reader.section(value, place);
  reader.keys(section, place, OTLP_KEYS);
  const settings = readSettings(reader, section, place, OTLP);
  const headers = textsOf(reader, section.headers, `${place}.headers`);
  const endpoint = reader.text(section.endpoint, `${place}.endpoint`);
  if (endpoint !== undefined && !isHttp(endpoint))
    reader.fault(`${place}.endpoint`, 'must be a URL such as http://127.0.0.1:4318');
  return reader.errors > before ? NO_TELEMETRY.otlp : { ...settings, endpoint, headers };
}

function isHttp(text: string): boolean {
  const protocol = parsedUrl(text)?.protocol;
  return protocol === 'http:' || protocol === 'https:';
}

function textsOf(reader: Reader, value: unknown, place: string): Record<string, string> {
  const texts: readonly [string, unknown][] = Object.entries(reader.textMap(value, place));
  return Object.fromEntries(texts.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}

function samplingOf(reader: Reader, value: unknown): number {
  if (value === undefined) return NO_TELEMETRY.sampling;
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  reader.fault(`${PLACE}.sampling`, 'must be a number from 0 to 1');
  return 0;
}
