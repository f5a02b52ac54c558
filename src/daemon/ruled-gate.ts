// A tool gate that follows rules: those of the config, and the filter in the client file that defines the server. The
// last matching rule decides; a tool without a rule is allowed.

import type { ToolGate } from '../model/tool-gate.ts';
import type { ToolFilter, ToolRule } from '../model/tool-rules.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { anyOf, problemIn } from '../util/glob.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';

type Matches = (text: string) => boolean;

interface Judgement {
  readonly refusal: BridgeError | undefined;
  readonly tags: readonly string[];
}

export interface GateRules {
  /** The server's name, and other names for it. */
  readonly names: readonly [string, ...string[]];
  /** Where the rules are written, for messages. */
  readonly where: string;
  readonly rules: readonly ToolRule[];
  readonly filter: ToolFilter;
}

/** The maximum number of remembered decisions: clients may ask about any number of names. */
const MOST_JUDGED = 10_000;

export class RuledGate implements ToolGate {
  readonly isOpen: boolean;
  readonly #names: readonly string[];
  readonly #where: string;
  readonly #rules: readonly (ToolRule & { readonly matches: Matches })[];
  readonly #filter: { readonly allows: Matches; readonly denies: Matches };
  readonly #judged = new Map<string, Judgement>();

  constructor({ names, where, rules, filter }: GateRules) {
    this.#names = names;
    this.#where = where;
    this.#rules = rules.map((rule) => ({ ...rule, matches: matcher(rule.patterns, rule.isEnabled === false) }));
    this.#filter = {
      allows: filter.allow === undefined ? () => true : matcher(filter.allow, false),
      denies: matcher(filter.deny, true),
    };
    const filters = filter.allow !== undefined || filter.deny.length > 0;
    this.isOpen = !filters && rules.every(({ isEnabled }) => isEnabled !== false);
  }

  refusalOf(tool: string): BridgeError | undefined {
    return this.#judge(tool).refusal;
  }

  tagsOf(tool: string): readonly string[] {
    return this.#judge(tool).tags;
  }

  isChanged(): boolean {
    return false;
  }

  #judge(tool: string): Judgement {
    const known = this.#judged.get(tool);
    if (known !== undefined) return known;
    const longest = Math.max(tool.length, ...this.#names.map(({ length }) => length));
    if (longest > LONGEST_NAME) return { refusal: this.#tooLong(tool), tags: [] };
    const names = [tool, ...this.#names.flatMap((server) => [server, `${server}:${tool}`])];
    const about = this.#rules.filter(({ matches }) => names.some(matches));
    const isEnabled = about.findLast((rule) => rule.isEnabled !== undefined)?.isEnabled ?? true;
    const { allows, denies } = this.#filter;
    const isFiltered = !allows(tool) || denies(tool);
    const judgement = {
      refusal: isEnabled && !isFiltered ? undefined : this.#disabled(tool, isFiltered),
      tags: [...new Set(about.flatMap(({ tags }) => tags))],
    };
    if (this.#judged.size >= MOST_JUDGED) this.#judged.clear();
    this.#judged.set(tool, judgement);
    return judgement;
  }

  /** Refuses a name that is too long to compare, because a rule may forbid it. */
  #tooLong(tool: string): BridgeError {
    return new BridgeError('TOOL_DISABLED', `The tool ${JSON.stringify(tool.slice(0, 128))}… has too long a name`, {
      server: (this.#names[0] ?? '').slice(0, 128),
      hint: `Rules apply to names of at most ${LONGEST_NAME} characters.`,
    });
  }

  #disabled(tool: string, isFiltered: boolean): BridgeError {
    const where = isFiltered ? 'in the file that the server is defined in' : this.#where;
    const [server = ''] = this.#names;
    return new BridgeError('TOOL_DISABLED', `The tool ${JSON.stringify(tool.slice(0, 128))} of ${server} is disabled`, {
      server,
      hint: `It is switched off ${where}.`,
    });
  }
}

/** An invalid pattern matches everything in forbidding rules, and nothing in allowing ones (ADR 22). */
function matcher(patterns: readonly string[], isForbidding: boolean): Matches {
  return problemIn(patterns) === undefined ? anyOf(patterns) : () => isForbidding;
}
