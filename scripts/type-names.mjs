// Fails when two files of src/ export a type under one name: whoever reads the name must know which of them it is.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DECLARED = /^export (?:declare )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm;

const files = new Map();
for (const path of readdirSync('src', { recursive: true }).filter((path) => path.endsWith('.ts'))) {
  for (const [, name] of readFileSync(join('src', path), 'utf8').matchAll(DECLARED))
    files.set(name, [...(files.get(name) ?? []), join('src', path)]);
}

const shared = [...files].filter(([, paths]) => paths.length > 1);
for (const [name, paths] of shared) console.error(`${name} is exported by ${paths.join(' and ')}: rename one of them`);
process.exitCode = shared.length === 0 ? 0 : 1;
