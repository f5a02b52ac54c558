// Compiles src/wire/assembly/ into a module that holds the bytes. With --check it only says whether that is up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import asc from 'assemblyscript/asc';

const target = 'src/wire/string-body-wasm.ts';
const { error, stderr, binary } = await (async () => {
  let binary;
  const result = await asc.main(
    [
      'src/wire/assembly/string-body.ts',
      '-O3',
      '--runtime',
      'stub',
      '--noAssert',
      '--enable',
      'simd',
      '--initialMemory',
      '2',
      '--maximumMemory',
      '2',
      '-o',
      'out.wasm',
    ],
    {
      writeFile: (name, data) => {
        if (name === 'out.wasm') binary = data;
      },
    },
  );
  return { ...result, binary };
})();
if (error) {
  console.error(stderr.toString());
  process.exit(1);
}
const lines = Buffer.from(binary)
  .toString('base64')
  .match(/.{1,110}/g);
const text = `// Made from assembly/string-body.ts by \`make wasm\`; \`make check\` compares them.
// biome-ignore format: one line of bytes below the other
export const STRING_BODY_WASM = [
${lines.map((line) => `  '${line}',`).join('\n')}
].join('');
`;
if (!process.argv.includes('--check')) writeFileSync(target, text);
else if (readFileSync(target, 'utf8') !== text) {
  console.error(`${target} is older than its source: run make wasm`);
  process.exit(1);
}
