// What reading a frame costs, by the table of keys of each era, against JSON.parse of the same bytes. A change of the scan
// shows here before it shows in the throughput. Short turns, interleaved, and medians of ratios: the machine has other work.
//   node bench/scan.mjs
import { build } from 'esbuild';
import { median, medianRatio } from './statistics.mjs';
import { program } from './workspace.mjs';

const TURNS = 1500;
const WARM_UP_TURNS = 300;
const SCANS_A_TURN = 2000;
const MAX_DEPTH = 128;

const source = `
  export { Envelope } from './wire/envelope.ts';
  export { ERA_2025 } from './protocol/era-2025.ts';
  export { ERA_2026 } from './protocol/era-2026.ts';
`;
const { outputFiles } = await build({
  stdin: { contents: source, resolveDir: program('../src') },
  ...{ bundle: true, write: false, format: 'esm', platform: 'node' },
});
const code = Buffer.from(outputFiles[0].contents).toString('base64');
const { Envelope, ERA_2025, ERA_2026 } = await import(`data:text/javascript;base64,${code}`);

const text = 'const a = "x";\n  if (b) { return \'c\'; }\n  for (const d of e) f(d, "g");\n';
const frame = (message) => Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 12345, ...message })}\n`);
const params = { name: 'echo', arguments: { text } };
const prefix = 'io.modelcontextprotocol/';
const meta = {
  [`${prefix}protocolVersion`]: '2026-07-28',
  [`${prefix}clientInfo`]: { name: 'bench', version: '1.0.0' },
  [`${prefix}clientCapabilities`]: {},
};
const legacy = [frame({ method: 'tools/call', params }), frame({ result: { content: [{ type: 'text', text }] } })];
const modern = [
  frame({ method: 'tools/call', params: { ...params, _meta: meta } }),
  frame({ result: { resultType: 'complete', content: [{ type: 'text', text }] } }),
];

const scan = (era) => {
  const envelope = new Envelope(era.keys);
  return (b) => envelope.scan(b, 0, b.length - 1, MAX_DEPTH);
};
const parse = (b) => JSON.parse(b.latin1Slice(0, b.length - 1)) !== undefined;
const subjects = [
  { title: 'frames of 2025, JSON.parse', read: parse, frames: legacy, turnsNs: [] },
  { title: 'frames of 2025, keys of 2025', read: scan(ERA_2025), frames: legacy, turnsNs: [] },
  { title: 'frames of 2025, keys of 2026', read: scan(ERA_2026), frames: legacy, turnsNs: [] },
  { title: 'frames of 2026, JSON.parse', read: parse, frames: modern, turnsNs: [] },
  { title: 'frames of 2026, keys of 2026', read: scan(ERA_2026), frames: modern, turnsNs: [] },
];

for (let turn = -WARM_UP_TURNS; turn < TURNS; turn++) {
  for (const { read, frames, turnsNs } of subjects) {
    const began = process.hrtime.bigint();
    for (let i = 0; i < SCANS_A_TURN; i++) if (!read(frames[i & 1])) throw new Error('a frame was refused');
    if (turn >= 0) turnsNs.push(Number(process.hrtime.bigint() - began) / SCANS_A_TURN);
  }
}
const parsed = Object.fromEntries(
  subjects.filter(({ read }) => read === parse).map((one) => [one.title.slice(0, 14), one]),
);
for (const { title, turnsNs } of subjects) {
  const ratio = medianRatio(turnsNs, parsed[title.slice(0, 14)].turnsNs);
  console.log(`${title.padEnd(30)} ${median(turnsNs).toFixed(0).padStart(6)} ns  ${ratio.toFixed(2)} × JSON.parse`);
}
