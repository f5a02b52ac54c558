// Servers that are known not to be shareable as they are, each with the reason. They are recognized by the package or
// program that runs, never by the name that a user chose.

import type { ServerNature } from '../model/server-definition.ts';
import { type CommandLine, programName, unwrapped } from './command-line.ts';
import { packageRun } from './signature.ts';

interface Entry {
  /** Packages and programs, without scope, registry or version. */
  readonly names?: readonly string[];
  /** Words in a package's or program's name that identify it. */
  readonly words?: readonly string[];
  readonly nature: ServerNature;
}

const NATURES: readonly Entry[] = [
  {
    names: ['server-sequential-thinking', 'mcp-server-sequential-thinking', 'sequentialthinking'],
    words: ['sequential'],
    nature: { keepsState: 'it adds the thoughts of all its clients to one list' },
  },
  {
    names: ['chrome-devtools-mcp', 'mobile-mcp'],
    words: [
      'playwright',
      'puppeteer',
      'selenium',
      'webdriver',
      'browser',
      'browserbase',
      'browserbasehq',
      'browsermcp',
      'stagehand',
      'appium',
    ],
    nature: { keepsState: 'it drives one browser, with pages that belong to whoever opened them' },
  },
  {
    names: ['desktop-commander', 'desktopcommandermcp'],
    words: ['shell', 'terminal', 'tmux', 'iterm', 'ssh', 'pty'],
    nature: { keepsState: 'it keeps a shell, with its directory, variables and programs' },
  },
  {
    names: ['mcp-python-interpreter'],
    words: ['repl', 'interpreter', 'irb'],
    nature: { keepsState: 'it keeps an interpreter, with the variables of whoever set them' },
  },
  {
    words: ['debugger', 'gdb', 'lldb', 'pdb', 'dap'],
    nature: { keepsState: 'it keeps a debugger, with breakpoints and a program that is stopped' },
  },
  {
    words: ['jupyter', 'notebook', 'ipython', 'ipykernel'],
    nature: { keepsState: 'it keeps a notebook open, with the variables of its kernel' },
  },
  {
    names: ['server-memory', 'mcp-server-memory', 'memory', 'mcp-knowledge-graph'],
    nature: {
      losesWrites: 'it writes its whole file in each call, so that calls at the same time lose what the others write',
    },
  },
];

/** The nature of a server; undefined if nothing is known. */
export function natureOf(command: string, args: readonly string[]): ServerNature | undefined {
  const names = namesOf(unwrapped(command, args));
  return NATURES.find((entry) => names.some((name) => isOf(entry, name)))?.nature;
}

function isOf({ names = [], words = [] }: Entry, name: string): boolean {
  return names.includes(name) || name.split(/[-_.]/).some((word) => words.includes(word));
}

const IN_MODULES = /[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/g;
const INTERPRETERS = new Set(['node', 'deno', 'bun', 'python', 'python3', 'uv', 'poetry', 'npx', 'npm', 'java']);

/** The names to recognize a command line by: its package, program, and an interpreter's script or module. */
function namesOf(line: CommandLine): string[] {
  const run = packageRun(line);
  if (run !== undefined) return [mcpImageName(run.unversioned)];
  const program = programName(line.command);
  const script = INTERPRETERS.has(program.toLowerCase()) ? scriptIn(line.args) : undefined;
  const texts = [line.command, ...(script === undefined ? [] : [script])];
  const packages = texts.flatMap((text) => [...text.matchAll(IN_MODULES)].map(([, name = '']) => name));
  return [...packages, program, ...(script === undefined ? [] : [programName(script)])].map(ownName);
}

/** Only the image `mcp/memory` is that server; another publisher's image `memory` may be anything. */
function mcpImageName(identity: string): string {
  const isImage = identity.startsWith('docker:');
  return isImage && !/^docker:(?:docker\.io\/)?mcp\//.test(identity) ? `image-${ownName(identity)}` : ownName(identity);
}

function scriptIn(args: readonly string[]): string | undefined {
  const rest = args[0] === 'run' ? args.slice(1) : args;
  const module = rest.indexOf('-m');
  return module >= 0 ? rest[module + 1] : rest.find((arg) => !arg.startsWith('-'));
}

/** Generic names, as in `@playwright/mcp`; there the scope identifies the server. */
const GENERIC = /^(?:mcp|server|mcp-server|server-mcp)$/;

/** The name without registry, scope and ending. */
function ownName(name: string): string {
  const [, scope = '', inScope = ''] = /@([^\\/@]+)[\\/]([^\\/@]+)$/.exec(name) ?? [];
  if (GENERIC.test(inScope)) return scope.toLowerCase();
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\'), name.lastIndexOf(':')) + 1);
  return last.toLowerCase().replace(/\.(?:[cm]?[jt]s|py)$/, '');
}
