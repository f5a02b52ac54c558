// The scripts for shells. Verbs and options stand in them, so that most keys are answered at once; only for names that are
// others each day (offered-names) the command is asked.

import { CLIENT_TARGETS } from '../../editing/client-targets.ts';
import type { Options } from '../options.ts';
import { VERB_TABLE, type WordKind } from '../verb-table.ts';

export const SCRIPTS = { bash, zsh, fish } as const;

const ALWAYS = ['--help', '--no-color'];
/** Options behind which a server's name stands. */
const SERVER_OPTIONS = ['server', 'explain'];
const FIRST_WORDS = [...new Set(Object.keys(VERB_TABLE).map((verb) => verb.split(' ')[0] ?? ''))];
const PROGRAMS = CLIENT_TARGETS.map(({ client }) => client);
/** What the command is asked for. */
const ASKED = { server: 'servers', tool: 'tools', pending: 'pending', connected: 'connected' } as const;
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
const spellingsOf = (name: string, { alias }: Options[string]): string[] => [
  `--${name}`,
  ...(alias === undefined ? [] : [`-${alias}`]),
];
const flagsOf = (verb: string): string[] => [
  ...Object.entries(VERB_TABLE[verb]?.options ?? {}).flatMap(([name, option]) => spellingsOf(name, option)),
  ...ALWAYS,
];
const wordsOf = (verb: string): readonly WordKind[] => VERB_TABLE[verb]?.words ?? [];

/** Options behind which a value stands. */
function takingValues(): string[] {
  const names = Object.values(VERB_TABLE).flatMap(({ options }) =>
    Object.entries(options).flatMap(([name, option]) => (option.type === 'string' ? spellingsOf(name, option) : [])),
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
  if (kind === 'program') return `candidates="${PROGRAMS.join(' ')}"`;
  if (kind === 'file') return 'files=1';
  return `candidates=$("$program" completion ${ASKED[kind]}${kind === 'tool' ? ' "$server"' : ''} 2>/dev/null)`;
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
    `    ${SERVER_OPTIONS.map((name) => `--${name}`).join('|')}) candidates=$("$program" completion servers 2>/dev/null) ;;`,
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

/** fish asks each line by itself whether it applies; what it asks is in functions at the top. */
function fish(): string {
  const verbs = Object.entries(VERB_TABLE).flatMap(([verb, { options }]) => [
    ...Object.entries(options).map(([name, option]) =>
      fishLine(`__mcp_bridge_is ${quoted(verb)}`, fishOption(name, option)),
    ),
    ...wordsOf(verb).map((kind, i, kinds) => {
      const at = i === kinds.length - 1 ? `${i} more` : `${i}`;
      return fishLine(`__mcp_bridge_is ${quoted(verb)} ${at}`, fishWord(kind));
    }),
  ]);
  const groups = GROUPS.map((group) =>
    fishLine(`__mcp_bridge_is ${group} 0`, `-a ${quoted(verbsOf(group).join(' '))}`),
  );
  return `${FISH_FUNCTIONS}
complete -c mcp-bridge -f
${fishLine('__mcp_bridge_is -- 0 more', '-F')}
${fishLine("__mcp_bridge_is '' 0", `-a ${quoted(FIRST_WORDS.join(' '))}`)}
${fishLine("__mcp_bridge_is ''", '-l version')}
complete -c mcp-bridge -l help
${[...groups, ...verbs].join('\n')}
`;
}

const FISH_FUNCTIONS = `# Completion of mcp-bridge for fish: put it into ~/.config/fish/completions.
function __mcp_bridge_words -d 'The words before the one that is being written, without options and their values'
    set -l isValue 0
    for word in (commandline -opc)[2..-1]
        if test $isValue = 1
            set isValue 0
        else if test "$word" = --
            echo -- --
            return
        else if contains -- $word ${takingValues().join(' ')}
            set isValue 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end
function __mcp_bridge_is -d 'Whether this is the verb, and its how-manieth word is being written'
    set -l words (__mcp_bridge_words)
    set -l verb $words[1]
    set -e words[1]
    if contains -- -- $verb $words
        set verb --
        set words
    else if contains -- "$verb" ${GROUPS.join(' ')}; and set -q words[1]
        set verb "$verb $words[1]"
        set -e words[1]
    end
    test "$verb" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test (count $words) -eq $argv[2]; or begin
        test "$argv[3]" = more; and test (count $words) -gt $argv[2]
    end
end
function __mcp_bridge_names -d 'What the command knows: servers, or the tools of the server that is named, and more'
    set -l program (commandline -opc)[1]
    set -l words (__mcp_bridge_words)
    $program completion $argv[1] (test $argv[1] = tools; and echo $words[2]) 2>/dev/null
end`;

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function fishLine(condition: string, rest: string): string {
  return `complete -c mcp-bridge -n ${quoted(condition)} ${rest}`;
}

function fishOption(name: string, { type, describe, choices, alias }: Options[string]): string {
  const values = SERVER_OPTIONS.includes(name)
    ? "'(__mcp_bridge_names servers)'"
    : choices && quoted(choices.join(' '));
  const value = type === 'boolean' ? '' : values === undefined ? ' -r' : ` -x -a ${values}`;
  return `-l ${name}${alias === undefined ? '' : ` -s ${alias}`}${value} -d ${quoted(describe)}`;
}

function fishWord(kind: WordKind): string {
  if (typeof kind !== 'string') return `-a ${quoted(kind.join(' '))}`;
  if (kind === 'program') return `-a ${quoted(PROGRAMS.join(' '))}`;
  return kind === 'file' ? '-F' : `-a '(__mcp_bridge_names ${ASKED[kind]})'`;
}
