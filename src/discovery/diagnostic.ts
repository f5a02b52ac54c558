// Messages of discovery about files and entries. A message names the place and the remedy. It never contains a value of
// env or headers, or a piece of a file.

export type DiagnosticLevel = 'error' | 'warn' | 'info';

export type DiagnosticCode =
  | 'ambiguous'
  | 'bad-container'
  | 'bad-env-value'
  | 'bom'
  | 'command-with-spaces'
  | 'comments'
  | 'duplicate-key'
  | 'empty'
  | 'encoding'
  | 'executes'
  | 'future-version'
  | 'ignored-location'
  | 'invalid-entry'
  | 'missing-env'
  | 'missing-file'
  | 'no-sandbox'
  | 'not-private'
  | 'not-a-file'
  | 'parse'
  | 'policy-rule'
  | 'probable-duplicate'
  | 'reserved-name'
  | 'stale-config'
  | 'too-large'
  | 'tool-filter'
  | 'unreadable'
  | 'url-without-type'
  | 'whitespace'
  | 'windows-npx'
  | 'wrong-key';

export interface Diagnostic {
  readonly level: DiagnosticLevel;
  readonly code: DiagnosticCode;
  readonly path?: string;
  readonly server?: string;
  /** The name of the variable, key, or rule concerned. */
  readonly name?: string;
  readonly message: string;
}

export type Report = (diagnostic: Diagnostic) => void;

const LEVELS: Readonly<Partial<Record<DiagnosticCode, DiagnosticLevel>>> = {
  parse: 'error',
  'tool-filter': 'error',
  bom: 'info',
  empty: 'info',
  'probable-duplicate': 'info',
};

export type About = Omit<Diagnostic, 'level' | 'code' | 'message'>;

export function diagnostic(code: DiagnosticCode, message: string, about: About = {}): Diagnostic {
  return { level: LEVELS[code] ?? 'warn', code, ...about, message };
}
