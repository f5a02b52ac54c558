// How clients write variables, and how they are filled in: once, without replacing in the result again. Each client has
// one dialect; variables of other dialects stay as they are. No command is ever run to get a value.

import { referenceIn } from './inputs.ts';
import { type Machine, suppliedVariable } from './machine.ts';

export type VariableField = 'command' | 'args' | 'env' | 'cwd' | 'url' | 'headers';

/** The context of an entry. */
export interface Surroundings {
  readonly machine: Machine;
  /** The open project; undefined without one. */
  readonly project: string | undefined;
  /** Values that only this entry defines. */
  readonly own: ReadonlyMap<string, string | readonly string[]>;
  /** The value of an input from a person or the environment. */
  input(id: string): string | undefined;
}

export type VariableFinding =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly texts: readonly string[] }
  /** A variable that is not set, and its replacement. */
  | { readonly kind: 'missing'; readonly name: string; readonly text: string | undefined }
  | { readonly kind: 'input'; readonly id: string }
  /** A command that its client would run. */
  | { readonly kind: 'executes' };

export interface Dialect {
  readonly pattern: RegExp;
  readonly fields: readonly VariableField[];
  /** Evaluates a match; undefined if it is no variable. */
  find(match: readonly (string | undefined)[], field: VariableField, at: Surroundings): VariableFinding | undefined;
}

export type DialectName =
  | 'none'
  | 'agent-plugin'
  | 'amazon-q'
  | 'braces'
  | 'bridge'
  | 'claude'
  | 'continue'
  | 'copilot'
  | 'crush'
  | 'cursor'
  | 'env-colon'
  | 'gemini'
  | 'goose'
  | 'manifest'
  | 'plain-braces'
  | 'vscode'
  | 'warp'
  | 'windsurf';

const LAUNCH: readonly VariableField[] = ['command', 'args', 'env', 'url', 'headers'];
const ALL: readonly VariableField[] = [...LAUNCH, 'cwd'];

const BRACES = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;
const PLAIN_BRACES = /\$\{([A-Za-z_]\w*)\}/g;
const BRACED = /\$\{([^{}]*)\}/g;
const DOLLAR = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})/g;
const DOLLAR_AND_OWN = /\$(?:([A-Za-z_]\w*)|\{(\/|[A-Za-z_]\w*)(?::-([^}]*))?\})|%([A-Za-z_]\w*)%/g;

/** Claude Code does not pass its own credentials to servers at URLs. */
const OWN_CREDENTIALS = new Set(['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN']);

function variable(name: string, otherwise: string | undefined, { machine }: Surroundings): VariableFinding {
  const text = machine.variable(name, otherwise);
  return text === undefined ? { kind: 'missing', name, text: undefined } : { kind: 'text', text };
}

function ownVariable(name: string, { own }: Surroundings): VariableFinding | undefined {
  const value = own.get(name);
  if (value === undefined) return undefined;
  return typeof value === 'string' ? { kind: 'text', text: value } : { kind: 'list', texts: value };
}

function suppliedInput(id: string, { input }: Surroundings): VariableFinding {
  const text = input(id);
  return text === undefined ? { kind: 'input', id } : { kind: 'text', text };
}

function userConfig(name: string, at: Surroundings): VariableFinding | undefined {
  if (!name.startsWith('user_config.')) return undefined;
  return ownVariable(name, at) ?? suppliedInput(name, at);
}

/** `${env:X}`, `${input:X}`, and directories known to an editor. */
function editorVariable(content: string, at: Surroundings): VariableFinding | undefined {
  const { machine, project } = at;
  const [kind = '', name] = content.split(/:(.*)/s);
  if (kind === 'env' && name) return variable(name, undefined, at);
  if (kind === 'input' && name) return suppliedInput(name, at);
  if (content === 'userHome') return { kind: 'text', text: machine.home };
  if (content === '/' || content === 'pathSeparator') return { kind: 'text', text: machine.path.sep };
  if (!['workspaceFolder', 'workspaceFolderBasename', 'workspaceRoot', 'cwd'].includes(content)) return undefined;
  if (project === undefined) return suppliedInput(content, at);
  return { kind: 'text', text: content.endsWith('Basename') ? machine.path.basename(project) : project };
}

/** A variable, or if it is not set, the input of the same name. */
function variableOrInput(name: string, at: Surroundings): VariableFinding {
  const text = suppliedVariable(name, at.machine);
  return text === undefined ? suppliedInput(name, at) : { kind: 'text', text };
}

/** `${NAME}`, `${NAME:-otherwise}`, and the references `${env:NAME}` and `${input:NAME}`. */
function bridgeVariable(content: string, at: Surroundings): VariableFinding | undefined {
  const reference = referenceIn(content);
  if (reference?.of === 'input') return suppliedInput(reference.name, at);
  if (reference !== undefined)
    return reference.otherwise === undefined
      ? variableOrInput(reference.name, at)
      : variable(reference.name, reference.otherwise, at);
  const [, name, otherwise] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(content) ?? [];
  return name === undefined ? undefined : variable(name, otherwise, at);
}

/** A setting, or the output of an extension's command: only VS Code knows these. */
function codeVariable(content: string, at: Surroundings): VariableFinding | undefined {
  return /^(?:config|command):./s.test(content) ? suppliedInput(content, at) : editorVariable(content, at);
}

/** Warp treats a missing or empty variable as an error. */
function warpVariable(name: string, at: Surroundings): VariableFinding {
  return at.machine.env(name) === '' ? suppliedInput(name, at) : variableOrInput(name, at);
}

/** A variable from `envs`, or from `env_keys`, whose values are in the keyring; no other environment variables. */
function gooseVariable(name: string, at: Surroundings): VariableFinding | undefined {
  if (!at.own.has(`${KEYRING}${name}`)) return ownVariable(name, at);
  return variableOrInput(name, at);
}

/** The prefix for the names in Goose's `env_keys`. */
export const KEYRING = 'keyring:';

/** Files that exist were read before. */
function windsurfVariable(content: string, at: Surroundings): VariableFinding | undefined {
  const [, kind, name = ''] = /^(env|file):(.+)$/s.exec(content) ?? [];
  if (kind === 'file') return suppliedInput(content, at);
  return kind === 'env' ? variable(name, undefined, at) : undefined;
}

/** Values of a plugin apply everywhere; those of the environment only in two places. */
function copilotVariable(
  name: string,
  otherwise: string | undefined,
  { field, at }: { field: VariableField; at: Surroundings },
): VariableFinding | undefined {
  const own = ownVariable(name, at);
  return own === undefined && (field === 'env' || field === 'headers') ? variable(name, otherwise, at) : own;
}

function claudeVariable(
  match: readonly (string | undefined)[],
  field: VariableField,
  at: Surroundings,
): VariableFinding | undefined {
  const [, content = ''] = match;
  const known = ownVariable(content, at) ?? userConfig(content, at);
  if (known !== undefined) return known;
  const [, name, otherwise] = /^([A-Za-z_]\w*)(?::-(.*))?$/s.exec(content) ?? [];
  if (name === undefined) return undefined;
  if (OWN_CREDENTIALS.has(name) && (field === 'url' || field === 'headers')) return { kind: 'text', text: '' };
  return variable(name, otherwise, at);
}

/** The second pass over `env` removes variables that are not set. */
function geminiVariable(
  match: readonly (string | undefined)[],
  field: VariableField,
  at: Surroundings,
): VariableFinding | undefined {
  const [, bare, braced, otherwise, percent] = match;
  if (percent !== undefined && (field !== 'env' || at.machine.platform !== 'win32')) return undefined;
  const name = bare ?? braced ?? percent ?? '';
  const known = braced === undefined ? undefined : ownVariable(braced, at);
  if (known !== undefined || name === '/') return known;
  const isGone = field === 'env' && otherwise === undefined && at.machine.env(name) === undefined;
  return isGone ? { kind: 'missing', name, text: '' } : variable(name, otherwise, at);
}

const NEVER = /(?!)/g;

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  none: { pattern: NEVER, fields: [], find: () => undefined },
  braces: { pattern: BRACES, fields: ALL, find: ([, name = '', otherwise], _, at) => variable(name, otherwise, at) },
  bridge: { pattern: BRACED, fields: ALL, find: ([, content = ''], _, at) => bridgeVariable(content, at) },
  claude: { pattern: BRACED, fields: ALL, find: claudeVariable },
  vscode: { pattern: BRACED, fields: ALL, find: ([, content = ''], _, at) => codeVariable(content, at) },
  cursor: {
    pattern: BRACED,
    fields: ALL,
    find: ([, content = ''], _, at) => (content.startsWith('input:') ? undefined : editorVariable(content, at)),
  },
  'env-colon': {
    pattern: /\$\{env:([^{}]+)\}/g,
    fields: ALL,
    find: ([, name = ''], _, at) => variable(name, undefined, at),
  },
  'amazon-q': {
    pattern: /\$\{env:([^{}]+)\}/g,
    fields: ['env', 'headers'],
    find: ([, name = ''], _, at) => variable(name, undefined, at),
  },
  windsurf: { pattern: BRACED, fields: ALL, find: ([, content = ''], _, at) => windsurfVariable(content, at) },
  'plain-braces': { pattern: PLAIN_BRACES, fields: ALL, find: ([, name = ''], _, at) => variable(name, undefined, at) },
  warp: { pattern: PLAIN_BRACES, fields: ALL, find: ([, name = ''], _, at) => warpVariable(name, at) },
  goose: {
    pattern: DOLLAR,
    fields: ['url', 'headers'],
    find: ([, bare, braced], _, at) => gooseVariable(bare ?? braced ?? '', at),
  },
  gemini: { pattern: DOLLAR_AND_OWN, fields: ALL, find: geminiVariable },
  copilot: {
    pattern: DOLLAR,
    fields: ALL,
    find: ([, bare, braced, otherwise], field, at) => copilotVariable(bare ?? braced ?? '', otherwise, { field, at }),
  },
  crush: {
    pattern: /\$\(|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})/g,
    fields: ALL,
    find: ([whole, bare, braced, otherwise], _, at) =>
      whole === '$(' ? { kind: 'executes' } : variable(bare ?? braced ?? '', otherwise, at),
  },
  continue: {
    pattern: /\$\{\{\s*(secrets|inputs)\.([\w.-]+)\s*\}\}/g,
    fields: ALL,
    find: ([, , name = ''], _, at) => variableOrInput(name, at),
  },
  /** The dialect of a desktop extension; without an extension, no variable is known. */
  manifest: {
    pattern: BRACED,
    fields: ALL,
    find: ([, name = ''], _, at) => ownVariable(name, at) ?? (at.own.size > 0 ? userConfig(name, at) : undefined),
  },
  'agent-plugin': {
    pattern: BRACED,
    fields: ['args', 'env', 'cwd'],
    find: ([, name = ''], _, at) => ownVariable(name, at),
  },
};

export class Variables {
  readonly #dialect: Dialect;
  readonly #at: Surroundings;
  readonly missing = new Set<string>();
  readonly inputs = new Set<string>();
  executes = false;

  constructor(dialect: Dialect, at: Surroundings) {
    this.#dialect = dialect;
    this.#at = at;
  }

  fill(text: string, field: VariableField): string {
    if (!this.#dialect.fields.includes(field)) return text;
    return text.replace(this.#dialect.pattern, (...match: unknown[]) => {
      const end = match.findIndex((part) => typeof part === 'number');
      const groups = match.slice(0, end) as (string | undefined)[];
      const whole = groups[0] ?? '';
      return this.#textOf(this.#dialect.find(groups, field, this.#at), whole);
    });
  }

  /** Fills in arguments. A list variable that is an argument of its own becomes several arguments. */
  fillArgs(args: readonly string[]): string[] {
    return args.flatMap((arg) => this.#listIn(arg) ?? [this.fill(arg, 'args')]);
  }

  /** The value of a variable that an entry refers to by name; undefined if it is not set. */
  named(name: string): string | undefined {
    return suppliedVariable(name, this.#at.machine) ?? this.#at.input(name);
  }

  #listIn(arg: string): readonly string[] | undefined {
    const name = /^\$\{([^{}]*)\}$/.exec(arg)?.[1];
    const value = name === undefined ? undefined : this.#at.own.get(name);
    return Array.isArray(value) ? value : undefined;
  }

  #textOf(finding: VariableFinding | undefined, whole: string): string {
    switch (finding?.kind) {
      case undefined:
        return whole;
      case 'text':
        return finding.text;
      case 'list':
        return finding.texts.join(',');
      case 'missing':
        this.missing.add(finding.name);
        return finding.text ?? whole;
      case 'input':
        this.inputs.add(finding.id);
        return whole;
      case 'executes':
        this.executes = true;
        return whole;
    }
  }
}
