// The shell scripts. They contain all commands and options, so that most completions are instant; only for names that
// change do they ask the command.

import { CLIENT_TARGETS } from '../../../editing/client-targets.ts';
import type { Command, NameKind, SHELLS } from '../../command.ts';
import type { Options } from '../../start-options.ts';

type Commands = Readonly<Record<string, Command>>;
/** A kind of names, or fixed choices. */
type WordKind = NameKind | readonly string[];

const ALWAYS = ['--help', '--no-color'];
/** Options followed by a server's name. */
const SERVER_OPTIONS = ['server', 'explain'];
const PROGRAMS = CLIENT_TARGETS.map(({ client }) => client);
/** Kinds for which the script asks the command. */
const ASKED = { server: 'servers', tool: 'tools', pending: 'pending', connected: 'connected' } as const;

export function shellScript(shell: (typeof SHELLS)[number], commands: Commands): string {
  return new Scripts(commands)[shell]();
}

class Scripts {
  readonly #commands: Commands;
  readonly #firstWords: readonly string[];
  /** First words of commands with two words. */
  readonly #pairs: readonly string[];

  constructor(commands: Commands) {
    const names = Object.keys(commands);
    const firsts = (of: readonly string[]): string[] => [...new Set(of.map((name) => name.split(' ')[0] ?? ''))];
    this.#commands = commands;
    this.#firstWords = firsts(names);
    this.#pairs = firsts(names.filter((name) => name.includes(' ')));
  }

  bash(): string {
    return `# Completion of mcp-bridge for bash: source it, or put it where bash-completion looks.
_mcp_bridge() {
  local program="\${COMP_WORDS[0]}" current="\${COMP_WORDS[COMP_CWORD]}"
  local given=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${this.#common()}
  if [[ -n $files ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$candidates" -- "$current"))
  fi
}
complete -o filenames -F _mcp_bridge mcp-bridge
`;
  }

  zsh(): string {
    return `#compdef mcp-bridge
# Completion of mcp-bridge for zsh: put it as _mcp-bridge into a directory of $fpath.
_mcp_bridge() {
  local program="\${words[1]}" current="\${words[CURRENT]}"
  local -a given
  given=("\${(@)words[2,CURRENT-1]}")
${this.#common()}
  if [[ -n $files ]]; then _files; else compadd -- \${=candidates}; fi
}
if [[ \${funcstack[1]} == _mcp-bridge ]]; then _mcp_bridge "$@"; else compdef _mcp_bridge mcp-bridge; fi
`;
  }

  /**
   * The fish script. fish evaluates the condition of each line separately; the functions at the top hold these
   * conditions.
   */
  fish(): string {
    const commands = Object.entries(this.#commands).flatMap(([name, command]) => [
      ...Object.entries(command.options).map(([option, terms]) =>
        fishLine(`__mcp_bridge_is ${quoted(name)}`, fishOption(option, terms)),
      ),
      ...wordsOf(command).map((kind, i, kinds) => {
        const at = i === kinds.length - 1 ? `${i} more` : `${i}`;
        return fishLine(`__mcp_bridge_is ${quoted(name)} ${at}`, fishWord(kind));
      }),
    ]);
    const pairs = this.#pairs.map((first) =>
      fishLine(`__mcp_bridge_is ${first} 0`, `-a ${quoted(this.#secondWords(first).join(' '))}`),
    );
    return `${this.#fishFunctions()}
complete -c mcp-bridge -f
${fishLine('__mcp_bridge_is -- 0 more', '-F')}
${fishLine("__mcp_bridge_is '' 0", `-a ${quoted(this.#firstWords.join(' '))}`)}
${fishLine("__mcp_bridge_is ''", '-l version')}
complete -c mcp-bridge -l help
${[...pairs, ...commands].join('\n')}
`;
  }

  #secondWords(first: string): string[] {
    return Object.keys(this.#commands)
      .filter((name) => name.startsWith(`${first} `))
      .map((name) => name.slice(first.length + 1));
  }

  /** Options followed by a value. */
  #takingValues(): string[] {
    const names = Object.values(this.#commands).flatMap(({ options }) =>
      Object.entries(options).flatMap(([name, option]) => (option.type === 'string' ? spellingsOf(name, option) : [])),
    );
    return [...new Set(names)];
  }

  /** Lines of a `case` for bash and zsh that fill `candidates` from `$command`, `$position` and `$server`. */
  #wordCases(): string {
    const cases = Object.entries(this.#commands).flatMap(([name, command]) =>
      wordsOf(command).map((kind, i, kinds) => {
        const place = i === kinds.length - 1 ? '*' : `${i}`;
        return `    "${name}":${place}) ${wordAction(kind)} ;;`;
      }),
    );
    const pairs = this.#pairs.map((first) => `    "${first}":0) candidates="${this.#secondWords(first).join(' ')}" ;;`);
    return [`    "":0) candidates="${this.#firstWords.join(' ')}" ;;`, ...pairs, ...cases].join('\n');
  }

  #flagCases(): string {
    const cases = Object.entries(this.#commands).map(([name, { options }]) => {
      const flags = Object.entries(options).flatMap(([option, terms]) => spellingsOf(option, terms));
      return `    "${name}") candidates="${[...flags, ...ALWAYS].join(' ')}" ;;`;
    });
    return [...cases, `    *) candidates="${[...ALWAYS, '--version'].join(' ')}" ;;`].join('\n');
  }

  #valueCases(): string {
    const choices = new Map<string, readonly string[]>();
    for (const { options } of Object.values(this.#commands))
      for (const [name, option] of Object.entries(options)) if (option.choices) choices.set(name, option.choices);
    return [
      ...[...choices].map(([name, values]) => `    --${name}) candidates="${values.join(' ')}" ;;`),
      `    ${SERVER_OPTIONS.map((name) => `--${name}`).join('|')}) candidates=$("$program" completion servers 2>/dev/null) ;;`,
      '    *) files=1 ;;',
    ].join('\n');
  }

  /** Lines for bash and zsh that find the command, and the position of the current word after it. */
  #common(): string {
    return `  local command="" server="" before="" candidates="" files="" word
  local position=0 values=" ${this.#takingValues().join(' ')} "
  for word in "\${given[@]}"; do
    if [[ $word == -- ]]; then files=1; break; fi
    if [[ $values == *" $before "* && -n $before ]]; then before=""; continue; fi
    before=$word
    if [[ $word == -* ]]; then continue; fi
    if [[ -z $command ]]; then command=$word
    elif [[ ( ${this.#pairs.map((first) => `$command == ${first}`).join(' || ')} ) ]]; then command="$command $word"
    else
      if (( position == 0 )); then server=$word; fi
      position=$((position + 1))
    fi
  done
  if [[ -n $files ]]; then :
  elif [[ -n $before && $values == *" $before "* ]]; then
    case "$before" in
${this.#valueCases()}
    esac
  elif [[ $current == -* ]]; then
    case "$command" in
${this.#flagCases()}
    esac
  else
    case "$command":"$position" in
${this.#wordCases()}
    esac
  fi`;
  }

  #fishFunctions(): string {
    return `# Completion of mcp-bridge for fish: put it into ~/.config/fish/completions.
function __mcp_bridge_words -d 'The words before the one that is being written, without options and their values'
    set -l isValue 0
    for word in (commandline -opc)[2..-1]
        if test $isValue = 1
            set isValue 0
        else if test "$word" = --
            echo -- --
            return
        else if contains -- $word ${this.#takingValues().join(' ')}
            set isValue 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end
function __mcp_bridge_is -d 'Whether this is the command, and the word at this position is being written'
    set -l words (__mcp_bridge_words)
    set -l command $words[1]
    set -e words[1]
    if contains -- -- $command $words
        set command --
        set words
    else if contains -- "$command" ${this.#pairs.join(' ')}; and set -q words[1]
        set command "$command $words[1]"
        set -e words[1]
    end
    test "$command" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test (count $words) -eq $argv[2]; or begin
        test "$argv[3]" = more; and test (count $words) -gt $argv[2]
    end
end
function __mcp_bridge_names -d 'Names that the command knows: servers, or the tools of the server that is named, and more'
    set -l program (commandline -opc)[1]
    set -l words (__mcp_bridge_words)
    $program completion $argv[1] (test $argv[1] = tools; and echo $words[2]) 2>/dev/null
end`;
  }
}

/** The kinds of the words after a command; the last one applies to all that follow. */
function wordsOf({ words }: Command): readonly WordKind[] {
  const kinds = words.flatMap(({ isHidden, completes, choices = [] }) => (isHidden ? [] : [completes ?? choices]));
  return kinds.length === 0 || words.at(-1)?.isMany === true ? kinds : [...kinds, []];
}

function spellingsOf(name: string, { alias }: Options[string]): string[] {
  return [`--${name}`, ...(alias === undefined ? [] : [`-${alias}`])];
}

function wordAction(kind: WordKind): string {
  if (typeof kind !== 'string') return `candidates="${kind.join(' ')}"`;
  if (kind === 'program') return `candidates="${PROGRAMS.join(' ')}"`;
  if (kind === 'file') return 'files=1';
  return `candidates=$("$program" completion ${ASKED[kind]}${kind === 'tool' ? ' "$server"' : ''} 2>/dev/null)`;
}

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
