// The scripts for shells. Verbs and options stand in them, so that most keys are answered at once; only for the names of
// servers and tools the daemon is asked.

import { VERB_TABLE, type WordKind } from '../verb-table.ts';

export const SCRIPTS = { bash, zsh, fish } as const;

const ALWAYS = ['--help'];
const FIRST_WORDS = [...new Set(Object.keys(VERB_TABLE).map((verb) => verb.split(' ')[0] ?? ''))];
const GROUPS = [
  ...new Set(
    Object.keys(VERB_TABLE)
      .filter((verb) => verb.includes(' '))
      .map((verb) => verb.split(' ')[0] ?? ''),
  ),
];

const verbsOf = (group: string): string[] =>
  Object.keys(VERB_TABLE)
    .filter((verb) => verb.startsWith(`${group} `))
    .map((verb) => verb.slice(group.length + 1));
const flagsOf = (verb: string): string[] => [
  ...Object.keys(VERB_TABLE[verb]?.options ?? {}).map((name) => `--${name}`),
  ...ALWAYS,
];
const wordsOf = (verb: string): readonly WordKind[] => VERB_TABLE[verb]?.words ?? [];

/** Options behind which a value stands. */
function takingValues(): string[] {
  const names = Object.values(VERB_TABLE).flatMap(({ options }) =>
    Object.entries(options).flatMap(([name, { type }]) => (type === 'string' ? [`--${name}`] : [])),
  );
  return [...new Set(names)];
}

/** How bash and zsh, which agree on `case`, fill `candidates`; \`$verb\` and \`$position\` are known, and \`$server\`. */
function wordCases(): string {
  const cases = Object.keys(VERB_TABLE).flatMap((verb) => {
    const kinds = wordsOf(verb);
    return kinds.map((kind, i) => {
      const place = i === kinds.length - 1 ? '*' : `${i}`;
      return `    "${verb}":${place}) ${wordAction(kind)} ;;`;
    });
  });
  const groups = GROUPS.map((group) => `    "${group}":0) candidates="${verbsOf(group).join(' ')}" ;;`);
  return [`    "":0) candidates="${FIRST_WORDS.join(' ')}" ;;`, ...groups, ...cases].join('\n');
}

function wordAction(kind: WordKind): string {
  if (typeof kind !== 'string') return `candidates="${kind.join(' ')}"`;
  if (kind === 'server') return `candidates=$("$program" completion servers 2>/dev/null)`;
  if (kind === 'tool') return `candidates=$("$program" completion tools "$server" 2>/dev/null)`;
  return 'files=1';
}

function flagCases(): string {
  const cases = Object.keys(VERB_TABLE).map((verb) => `    "${verb}") candidates="${flagsOf(verb).join(' ')}" ;;`);
  return [...cases, `    *) candidates="${[...ALWAYS, '--version'].join(' ')}" ;;`].join('\n');
}

function valueCases(): string {
  const choices = new Map<string, readonly string[]>();
  for (const { options } of Object.values(VERB_TABLE))
    for (const [name, option] of Object.entries(options)) if (option.choices) choices.set(name, option.choices);
  return [
    ...[...choices].map(([name, values]) => `    --${name}) candidates="${values.join(' ')}" ;;`),
    `    --server|--explain) candidates=$("$program" completion servers 2>/dev/null) ;;`,
    '    *) files=1 ;;',
  ].join('\n');
}

/** What the two have in common: which verb it is, and the how-manieth word of it. `at` is what comes before the word. */
function common(): string {
  return `  local verb="" server="" before="" candidates="" files="" word
  local position=0 values=" ${takingValues().join(' ')} "
  for word in "\${given[@]}"; do
    if [[ $word == -- ]]; then files=1; break; fi
    if [[ $values == *" $before "* && -n $before ]]; then before=""; continue; fi
    before=$word
    if [[ $word == -* ]]; then continue; fi
    if [[ -z $verb ]]; then verb=$word
    elif [[ ( ${GROUPS.map((group) => `$verb == ${group}`).join(' || ')} ) ]]; then verb="$verb $word"
    else
      if (( position == 0 )); then server=$word; fi
      position=$((position + 1))
    fi
  done
  if [[ -n $files ]]; then :
  elif [[ -n $before && $values == *" $before "* ]]; then
    case "$before" in
${valueCases()}
    esac
  elif [[ $current == -* ]]; then
    case "$verb" in
${flagCases()}
    esac
  else
    case "$verb":"$position" in
${wordCases()}
    esac
  fi`;
}

function bash(): string {
  return `# Completion of mcp-bridge for bash: source it, or put it where bash-completion looks.
_mcp_bridge() {
  local program="\${COMP_WORDS[0]}" current="\${COMP_WORDS[COMP_CWORD]}"
  local given=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${common()}
  if [[ -n $files ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$candidates" -- "$current"))
  fi
}
complete -o filenames -F _mcp_bridge mcp-bridge
`;
}

function zsh(): string {
  return `#compdef mcp-bridge
# Completion of mcp-bridge for zsh: put it as _mcp-bridge into a directory of $fpath.
_mcp_bridge() {
  local program="\${words[1]}" current="\${words[CURRENT]}"
  local -a given
  given=("\${(@)words[2,CURRENT-1]}")
${common()}
  if [[ -n $files ]]; then _files; else compadd -- \${=candidates}; fi
}
if [[ \${funcstack[1]} == _mcp-bridge ]]; then _mcp_bridge "$@"; else compdef _mcp_bridge mcp-bridge; fi
`;
}

function fish(): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const line = (condition: string, rest: string): string => `complete -c mcp-bridge -n ${quoted(condition)} ${rest}`;
  const lines = Object.entries(VERB_TABLE).flatMap(([verb, { options }]) => {
    const [first = '', second] = verb.split(' ');
    const isIt = `__fish_seen_subcommand_from ${first}${second === undefined ? '' : `; and __fish_seen_subcommand_from ${second}`}`;
    const flags = Object.entries(options).map(([name, { type, describe, choices }]) => {
      const value = type === 'boolean' ? '' : choices === undefined ? ' -r' : ` -x -a ${quoted(choices.join(' '))}`;
      return line(isIt, `-l ${name}${value} -d ${quoted(describe)}`);
    });
    return [
      ...flags,
      ...wordsOf(verb).flatMap((kind, i) => fishWord(kind, isIt, i + (second === undefined ? 1 : 2), line)),
    ];
  });
  return `# Completion of mcp-bridge for fish: put it into ~/.config/fish/completions.
function __mcp_bridge_words
    count (commandline -opc | string match -v -- '-*')
end
complete -c mcp-bridge -f
${line('__fish_use_subcommand', `-a ${quoted(FIRST_WORDS.join(' '))}`)}
${GROUPS.map((group) => line(`__fish_seen_subcommand_from ${group}; and test (__mcp_bridge_words) -eq 2`, `-a ${quoted(verbsOf(group).join(' '))}`)).join('\n')}
${lines.join('\n')}
`;
}

function fishWord(
  kind: WordKind,
  isIt: string,
  at: number,
  line: (condition: string, rest: string) => string,
): string[] {
  const here = `${isIt}; and test (__mcp_bridge_words) -eq ${at + 1}`;
  if (typeof kind !== 'string') return [line(here, `-a '${kind.join(' ')}'`)];
  if (kind === 'server') return [line(here, `-a '(mcp-bridge completion servers 2>/dev/null)'`)];
  if (kind === 'tool')
    return [
      line(here, `-a '(mcp-bridge completion tools (commandline -opc | string match -v -- "-*")[3] 2>/dev/null)'`),
    ];
  return [line(here, '-F')];
}
