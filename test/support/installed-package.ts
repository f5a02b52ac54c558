// The package as whoever installs it has it, and the Nodes that it promises to run on. These lie in the cache below
// node_modules, and are fetched when they are first needed.

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { nodePackage } from './node-package.mjs';
import { ROOT } from './test-daemon.ts';

const execute = promisify(execFile);
const NODES = join(ROOT, 'node_modules/.cache/nodes');
const NEWEST_TYPES = join(ROOT, 'node_modules/.cache/newest-types');
const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

/** With the user's own home: where their packages come from may be said there. */
const npm = (args: readonly string[]) =>
  execute('npm', [...args, ...QUIET], { cwd: ROOT, env: { ...process.env, HOME: userInfo().homedir } });

interface PackedFile {
  readonly path: string;
  readonly size: number;
}

export interface Packed {
  readonly file: string;
  readonly bytes: number;
  readonly unpackedBytes: number;
  readonly files: readonly PackedFile[];
}

/** Packs what was built. */
export async function pack(dir: string): Promise<Packed> {
  const { stdout } = await npm(['pack', '--json', '--pack-destination', dir]);
  const said = JSON.parse(stdout) as unknown;
  // An array, or since npm 12 an object by the packages' names.
  const [packed] = Object.values(said as object) as [
    { filename: string; size: number; unpackedSize: number; files: PackedFile[] },
  ];
  const { filename, size, unpackedSize, files } = packed;
  return { file: join(dir, filename), bytes: size, unpackedBytes: unpackedSize, files };
}

/** Installs a packed package as the command of a prefix, without any script; the directory that it is in. */
export async function installGlobally(file: string, prefix: string): Promise<string> {
  // Its packages were fetched for this project already, so that nothing waits for the network.
  await npm(['install', '--global', '--prefer-offline', '--prefix', prefix, file]);
  return join(prefix, 'lib/node_modules/mcp-bridge');
}

/** Copies what was built, and the packages that it needs: what an installation holds, without npm. */
export function copyPackage(to: string): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const needed = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  for (const path of ['package.json', 'dist', ...needed.map(([name]) => name)])
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(to, path), { recursive: true }); // some are for other systems
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

/** The directory of the newest Node of this line. */
export async function nodeOf(line: number): Promise<string> {
  const dir = join(NODES, String(line));
  const program = join(dir, 'node_modules', nodePackage(), 'bin/node');
  if (!existsSync(program)) {
    rmSync(dir, { recursive: true, force: true }); // what was fetched in part
    mkdirSync(dir, { recursive: true });
    await npm(['install', '--no-save', '--prefix', dir, `${nodePackage()}@${line}`]);
  }
  return dirname(program);
}

/** The directory of the types of the newest Node, as a new project installs them. */
export async function newestNodeTypes(): Promise<string> {
  const types = join(NEWEST_TYPES, 'node_modules/@types');
  if (!existsSync(join(types, 'node/index.d.ts'))) {
    rmSync(NEWEST_TYPES, { recursive: true, force: true });
    mkdirSync(NEWEST_TYPES, { recursive: true });
    await npm(['install', '--no-save', '--prefix', NEWEST_TYPES, '@types/node@latest']);
  }
  return types;
}
