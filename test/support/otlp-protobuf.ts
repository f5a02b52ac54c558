// Reads OTLP in protobuf, as far as tests look at it: the fields of the published .proto files by their numbers. A field that is not in
// the table is skipped, and one of another wire type than the table says is an error.

export type Fields = Record<string, unknown>;

type Reader = 'text' | 'hex' | 'varint' | 'fixed64' | 'double' | 'doubles' | 'counts' | 'flag';
type Field = readonly [name: string, reader: Reader | MessageName, isRepeated?: 'many'];
type MessageName = keyof typeof MESSAGES;

const MESSAGES = {
  TracesData: { 1: ['resourceSpans', 'ResourceSpans', 'many'] },
  ResourceSpans: { 1: ['resource', 'Resource'], 2: ['scopeSpans', 'ScopeSpans', 'many'] },
  ScopeSpans: { 2: ['spans', 'Span', 'many'] },
  Resource: { 1: ['attributes', 'KeyValue', 'many'] },
  Span: {
    1: ['traceId', 'hex'],
    2: ['spanId', 'hex'],
    3: ['traceState', 'text'],
    4: ['parentSpanId', 'hex'],
    5: ['name', 'text'],
    6: ['kind', 'varint'],
    7: ['startTimeUnixNano', 'fixed64'],
    8: ['endTimeUnixNano', 'fixed64'],
    9: ['attributes', 'KeyValue', 'many'],
    11: ['events', 'Event', 'many'],
    15: ['status', 'Status'],
  },
  Event: { 2: ['name', 'text'], 3: ['attributes', 'KeyValue', 'many'] },
  Status: { 2: ['message', 'text'], 3: ['code', 'varint'] },
  KeyValue: { 1: ['key', 'text'], 2: ['value', 'AnyValue'] },
  AnyValue: {
    1: ['stringValue', 'text'],
    2: ['boolValue', 'flag'],
    3: ['intValue', 'varint'],
    4: ['doubleValue', 'double'],
  },
  MetricsData: { 1: ['resourceMetrics', 'ResourceMetrics', 'many'] },
  ResourceMetrics: { 1: ['resource', 'Resource'], 2: ['scopeMetrics', 'ScopeMetrics', 'many'] },
  ScopeMetrics: { 2: ['metrics', 'Metric', 'many'] },
  Metric: { 1: ['name', 'text'], 3: ['unit', 'text'], 9: ['histogram', 'Histogram'] },
  Histogram: { 1: ['dataPoints', 'HistogramDataPoint', 'many'], 2: ['aggregationTemporality', 'varint'] },
  HistogramDataPoint: {
    4: ['count', 'fixed64'],
    5: ['sum', 'double'],
    6: ['bucketCounts', 'counts'],
    7: ['explicitBounds', 'doubles'],
    9: ['attributes', 'KeyValue', 'many'],
  },
} as const satisfies Record<string, Record<number, readonly [string, string, 'many'?]>>;

const Wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

export function messageIn(name: string, b: Buffer): Fields {
  const table: Record<number, Field> = MESSAGES[name as MessageName];
  const message: Fields = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = b.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < b.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    let value: bigint | Buffer;
    if (wire === Wire.varint) value = varint();
    else {
      const bytes = wire === Wire.bytes ? Number(varint()) : wire === Wire.fixed64 ? 8 : 4;
      value = b.subarray(at, at + bytes);
      if (value.length !== bytes) throw new Error(`${name} is cut short`);
      at += bytes;
    }
    const field = table[tag >>> 3];
    if (field === undefined) continue;
    const [key, reader, isRepeated] = field;
    const read = readValue(reader, value);
    if (isRepeated === undefined) message[key] = read;
    else message[key] = [...((message[key] as unknown[]) ?? []), read];
  }
  return message;
}

function readValue(reader: Reader | MessageName, value: bigint | Buffer): unknown {
  if (typeof value === 'bigint') {
    if (reader === 'varint') return Number(BigInt.asIntN(64, value));
    if (reader === 'flag') return value !== 0n;
    throw new Error(`A number where ${reader} should be`);
  }
  switch (reader) {
    case 'text':
      return value.toString();
    case 'hex':
      return value.toString('hex');
    case 'fixed64':
      return String(value.readBigUInt64LE());
    case 'double':
      return value.readDoubleLE();
    case 'doubles':
      return eights(value, (b) => b.readDoubleLE());
    case 'counts':
      return eights(value, (b) => Number(b.readBigUInt64LE()));
    case 'varint':
    case 'flag':
      throw new Error(`Bytes where ${reader} should be`);
    default:
      return messageIn(reader, value);
  }
}

function eights(b: Buffer, read: (item: Buffer) => number): number[] {
  return Array.from({ length: b.length / 8 }, (_, i) => read(b.subarray(i * 8, i * 8 + 8)));
}
