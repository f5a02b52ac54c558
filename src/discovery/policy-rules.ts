// Reads the lists of allowed and denied servers: what each rule matches, and which rules can match nothing. A denial
// that cannot be parsed is an error: it would let through what somebody meant to block. In the bridge's own list it
// blocks all.

import { diagnostic, type Report } from './diagnostic.ts';
import { isTree } from './tree.ts';
import { type UrlPattern, urlPattern } from './url-pattern.ts';

interface AnyRule {
  /** The rule's name for people, such as `deniedMcpServers[2]`. */
  readonly label: string;
  /** The file that contains it. */
  readonly file: string;
}

export type PolicyRule =
  | (AnyRule & { readonly kind: 'name'; readonly name: string; readonly hasWildcards: boolean })
  | (AnyRule & { readonly kind: 'command'; readonly argv: readonly string[]; readonly hasWildcards: boolean })
  | (AnyRule & { readonly kind: 'url'; readonly pattern: UrlPattern })
  /** Matches every server, because the rule cannot be parsed. */
  | (AnyRule & { readonly kind: 'unclear' });

export type ListName = 'allowedMcpServers' | 'deniedMcpServers';

export interface RuleReading {
  readonly file: string;
  /** The section that contains the lists, such as `policy.`. */
  readonly within?: string;
  readonly report: Report;
  /** True if a denial that cannot be parsed denies every server. */
  readonly closes?: boolean;
  env(name: string): string | undefined;
}

const KINDS = ['serverName', 'serverCommand', 'serverUrl'];
const VARIABLE = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/** The rules; undefined without a list. Unusable rules are left out and reported. */
export function rulesIn(value: unknown, list: ListName, reading: RuleReading): PolicyRule[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) {
    const label = `${reading.within ?? ''}${list}`;
    const closes = reading.closes === true;
    tell(
      list,
      label,
      closes && list === 'deniedMcpServers' ? 'must be a list' : 'must be a list, and is not heeded',
      reading,
    );
    return closes ? unclear({ label, file: reading.file }, list) : undefined;
  }
  return value.flatMap((item: unknown, i) => {
    const label = `${reading.within ?? ''}${list}[${i}]`;
    const rule = ruleOf(item, { label, file: reading.file }, list, reading);
    if (typeof rule !== 'string') return [rule];
    tell(list, label, rule, reading);
    return reading.closes === true ? unclear({ label, file: reading.file }, list) : [];
  });
}

/** Handles a rule that cannot be parsed: an allow rule then allows nothing. */
function unclear(at: AnyRule, list: ListName): PolicyRule[] {
  return list === 'deniedMcpServers' ? [{ ...at, kind: 'unclear' }] : [];
}

function ruleOf(item: unknown, at: AnyRule, list: ListName, reading: RuleReading): PolicyRule | string {
  if (!isTree(item)) return 'must be an object';
  const [kind, ...more] = Object.keys(item);
  if (kind === undefined || more.length > 0 || !KINDS.includes(kind))
    return `must have exactly one of ${KINDS.join(', ')}`;
  const value = item[kind];
  if (kind === 'serverName') return nameRule(value, at, list);
  if (kind === 'serverCommand') return commandRule(value, at, list, reading);
  return urlRule(value, at, list, reading);
}

function nameRule(name: unknown, at: AnyRule, list: ListName): PolicyRule | string {
  if (typeof name !== 'string' || name === '') return 'fits nothing: it has no name';
  if (list === 'allowedMcpServers' && !/^[A-Za-z0-9_-]+$/.test(name))
    return 'fits nothing: a name that is allowed has letters, digits, "-" and "_" only';
  return { ...at, kind: 'name', name, hasWildcards: list === 'deniedMcpServers' };
}

/** Reads a command rule. An allow rule must spell out each word: a star would allow unknown commands. */
function commandRule(argv: unknown, at: AnyRule, list: ListName, reading: RuleReading): PolicyRule | string {
  if (!Array.isArray(argv) || argv.length === 0 || argv[0] === '') return 'fits nothing: it has no command';
  if (!argv.every((arg) => typeof arg === 'string')) return 'fits nothing: a command is a list of texts';
  const isDenial = list === 'deniedMcpServers';
  if (!isDenial && argv[0]?.includes('*')) return 'fits nothing: a command that is allowed has no wildcards';
  return { ...at, kind: 'command', argv: argv.map((arg) => filled(arg, reading)), hasWildcards: isDenial };
}

function urlRule(text: unknown, at: AnyRule, list: ListName, reading: RuleReading): PolicyRule | string {
  if (typeof text !== 'string') return 'fits nothing: it has no URL';
  if (list === 'allowedMcpServers' && widens(text, reading))
    return 'is not heeded: a variable in it would change whom it allows';
  const pattern = urlPattern(filled(text, reading));
  return pattern === undefined ? 'fits nothing: a URL begins with its scheme' : { ...at, kind: 'url', pattern };
}

function filled(text: string, { env }: RuleReading): string {
  return text.replace(
    VARIABLE,
    (whole, name: string, otherwise: string | undefined) => env(name) ?? otherwise ?? whole,
  );
}

/** True if a variable could change the scheme, the host, or the extent of the allowed paths. */
function widens(text: string, { env }: RuleReading): boolean {
  const pathAt =
    /^[^:]*:\/\/[^/?#]*/.exec(text.replace(VARIABLE, (whole) => '_'.repeat(whole.length)))?.[0].length ?? 0;
  return [...text.matchAll(VARIABLE)].some(({ index, 1: name = '', 2: otherwise }) => {
    const value = env(name) ?? otherwise;
    return index < pathAt || pathAt === 0 || (value !== undefined && /[/\\?#*]|\.\./.test(value));
  });
}

function tell(list: ListName, label: string, problem: string, { file, report, closes }: RuleReading): void {
  const isDenial = list === 'deniedMcpServers';
  const effect =
    closes === true ? `${problem}; until it is corrected, every server is blocked` : withoutEffect(problem);
  const outcome = isDenial ? effect : problem;
  const message = `${file}: the rule ${label} ${outcome}.`;
  const found = diagnostic('policy-rule', message, { path: file, name: label });
  report(isDenial ? { ...found, level: 'error' } : found);
}

function withoutEffect(problem: string): string {
  return problem.startsWith('fits nothing') ? problem.replace('fits', 'blocks') : `${problem}; it blocks nothing`;
}
