// The help texts, as wide as the terminal: the overview of all commands in groups, and the help of one command.
// Everything comes from the command table; nothing is run.

import { type Command, GROUPS, type Word } from '../command.ts';
import { COMMANDS, commandNamed, PAIRS } from '../command-table.ts';
import { type Option, WHERE } from '../start-options.ts';

const ABOUT = 'Lets many MCP clients on this host share MCP servers through one socket.';
const HELP = ['-h, --help', 'Show this help'] as const;
const VERSION = ['    --version', 'Show the version'] as const;
const NO_COLOUR = ['    --no-color', 'Show no colours; NO_COLOR does the same, FORCE_COLOR the opposite'] as const;
const INDENT = '  ';
const GAP = 2;
/** The minimum width of a text beside its name. */
const LEAST_TEXT = 30;
/** The column of a text below its name. */
const BELOW = 6;

type Entry = readonly [name: string, text: string];

/** The help of a command, or of the first word of a pair; the overview for any other name. */
export function helpText(name: string, width: number): string {
  const command = commandNamed(name);
  if (command !== undefined) return commandHelp(name, command, width);
  return Object.hasOwn(PAIRS, name) ? pairHelp(name, width) : overview(width);
}

function overview(width: number): string {
  const entries = listed();
  const column = columnOf(entries.map(({ entry }) => entry));
  const groups = GROUPS.map((group) => {
    const own = entries.filter((one) => one.group === group);
    return section(
      group,
      own.map(({ entry }) => entry),
      { width, column },
    );
  });
  const options = [HELP, VERSION, NO_COLOUR];
  const ends = section('Options', options, { width, column: columnOf(options) });
  const more = 'What a command takes: mcp-bridge COMMAND --help';
  return [...paragraphs(['mcp-bridge COMMAND [OPTION…]', ABOUT], width), ...groups, ends, more].join('\n\n');
}

/** Each command once; a pair counts as one. */
function listed(): readonly { readonly group: Command['group']; readonly entry: Entry }[] {
  const first = new Map<string, { readonly group: Command['group']; readonly entry: Entry }>();
  for (const [name, { group, summary }] of Object.entries(COMMANDS)) {
    const [word = ''] = name.split(' ');
    if (!first.has(word)) first.set(word, { group, entry: [word, PAIRS[word]?.summary ?? summary] });
  }
  return [...first.values()];
}

function pairHelp(word: string, width: number): string {
  const entries = Object.entries(COMMANDS).flatMap(([name, { summary }]): Entry[] =>
    name.startsWith(`${word} `) ? [[name, summary]] : [],
  );
  const column = columnOf([...entries, HELP, NO_COLOUR]);
  const head = paragraphs([`mcp-bridge ${word} COMMAND`, PAIRS[word]?.summary ?? ''], width);
  const sections = [
    section('Commands', entries, { width, column }),
    section('Options', [HELP, NO_COLOUR], { width, column }),
  ];
  return [...head, ...sections].join('\n\n');
}

function commandHelp(name: string, command: Command, width: number): string {
  const { summary, options, examples } = command;
  const words = command.words.filter(({ isHidden }) => isHidden !== true);
  const { usage = [words.map(usageOf).join(' ')] } = command;
  const shown = words.map((word): Entry => [word.name, withChoices(word.describe, word.choices)]);
  const isCommon = (option: string): boolean => Object.hasOwn(WHERE, option);
  const names = Object.keys(options).toSorted((a, b) => Number(isCommon(a)) - Number(isCommon(b)));
  const own = names.flatMap((option): Entry[] => (options[option] ? [optionEntry(option, options[option])] : []));
  const entries = [...own, HELP, NO_COLOUR];
  const style = { width, column: columnOf([...shown, ...entries]) };
  return [
    usage.map((line) => `mcp-bridge ${name} ${line}`.trimEnd()).join('\n'),
    ...paragraphs([summary], width),
    ...(shown.length === 0 ? [] : [section('Arguments', shown, style)]),
    section('Options', entries, style),
    ...(examples.length === 0 ? [] : [`Examples:\n${examples.map(exampleLine).join('\n')}`]),
  ].join('\n\n');
}

const exampleLine = (example: string): string =>
  `${INDENT}${example.includes('mcp-bridge ') ? '' : 'mcp-bridge '}${example}`;

/** A word as it appears in usage lines and in the parser. */
export function usageOf({ name, isNeeded, isMany }: Word): string {
  const word = isMany === true ? `${name}..` : name;
  return isNeeded === true ? `<${word}>` : `[${word}]`;
}

function optionEntry(name: string, { describe, choices, alias }: Option): Entry {
  return [`${alias === undefined ? '   ' : `-${alias},`} --${name}`, withChoices(describe, choices)];
}

function withChoices(text: string, choices: readonly string[] | undefined): string {
  return choices === undefined ? text : `${text}: ${choices.join(', ')}`;
}

// --- layout ---

interface Layout {
  readonly width: number;
  /** The column where texts begin. */
  readonly column: number;
}

function columnOf(entries: readonly Entry[]): number {
  return INDENT.length + Math.max(...entries.map(([name]) => name.length)) + GAP;
}

/** Puts texts beside their names, or below if there is too little room. */
function section(title: string, entries: readonly Entry[], { width, column }: Layout): string {
  const isBeside = width - column >= LEAST_TEXT;
  const start = isBeside ? column : BELOW;
  const lines = entries.flatMap(([name, text]) => {
    const texts = filled(text, width - start).map((line) => ' '.repeat(start) + line);
    const first = INDENT + name;
    return isBeside ? [first + (texts[0] ?? '').slice(first.length), ...texts.slice(1)] : [first, ...texts];
  });
  return [`${title}:`, ...lines].join('\n');
}

const paragraphs = (texts: readonly string[], width: number): string[] =>
  texts.map((text) => filled(text, width).join('\n'));

/** Fills lines with words. A word that is too long gets its own line. */
function filled(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
