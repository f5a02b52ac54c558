// The verbs in groups, as `mcp-bridge --help` shows them: made of what the parser says, which has them in one row.

const WIDTH = 100;
/** Titles, and the verbs below each. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Every day': [
    'servers',
    'tools',
    'search',
    'describe',
    'call',
    'resources',
    'prompts',
    'refresh',
    'status',
    'top',
    'clients',
  ],
  'Servers and clients': [
    ...[
      'discover',
      'approve',
      'reject',
      'add',
      'remove',
      'import',
      'input',
      'enable',
      'disable',
      'auth',
      'install',
      'uninstall',
      'demo',
    ],
  ],
  'The daemon': ['start', 'stop', 'restart', 'upgrade', 'reload', 'service', 'serve', 'connect'],
  'When something is wrong': ['doctor', 'logs', 'config', 'policy', 'metrics'],
  'Programs that speak to each other': ['send', 'attach', 'announce'],
  'The shell': ['completion'],
};

/** One that is in no group would be missed. */
const OTHERS = 'More';
const ENTRY = /^ {2}mcp-bridge (\S+)(.*?) {2,}(.*)$/;

interface Entry {
  readonly verb: string;
  readonly usage: string;
  readonly says: string;
}

/** `help` is what the parser says of all verbs. */
export function overview(help: string): string {
  const lines = help.split('\n');
  const entries = lines.flatMap((line) => entryIn(line) ?? []);
  const first = lines.findIndex((line) => entryIn(line) !== undefined);
  const [head, tail] = [lines.slice(0, first - 1), lines.slice(first + entries.length)];
  const column = Math.max(...entries.map(({ usage }) => usage.length)) + 2;
  const groups = [...Object.entries(GROUPS), [OTHERS, ungrouped(entries)] as const].flatMap(([title, verbs]) => {
    const own = verbs.flatMap((verb) => entries.find((entry) => entry.verb === verb) ?? []);
    return own.length === 0 ? [] : [`${title}:`, ...own.flatMap((entry) => shown(entry, column)), ''];
  });
  return [...head, ...groups.slice(0, -1), ...tail].join('\n');
}

function entryIn(line: string): Entry | undefined {
  const [, verb, words = '', says = ''] = ENTRY.exec(line) ?? [];
  return verb === undefined ? undefined : { verb, usage: `  mcp-bridge ${verb}${words}`, says };
}

function ungrouped(entries: readonly Entry[]): readonly string[] {
  const grouped = new Set(Object.values(GROUPS).flat());
  return entries.map(({ verb }) => verb).filter((verb) => !grouped.has(verb));
}

function shown({ usage, says }: Entry, column: number): string[] {
  const lines = [''];
  for (const word of says.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && column + last.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.map((line, i) => (i === 0 ? usage : '').padEnd(column) + line);
}
