// Whether arguments fit a tool's schema, before its server is bothered. Each schema is compiled once. One that cannot be
// compiled lets everything pass: the server decides.

import { byteAt, COLON, QUOTE, skipSpace, skipString } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';
import type { KnownTool } from './known-tools.ts';

/** Says what is wrong, or undefined. */
type Validate = (args: unknown) => string | undefined;

export interface Compiled {
  readonly validate: Validate;
  /** Whether what stands in long texts may matter. */
  readonly readsTexts: boolean;
}

/** Arguments beyond this are looked at without their long texts, if that will do. */
const LONG = 16 * 1024;

const ANYTHING: Compiled = { validate: () => undefined, readsTexts: false };

export class ArgumentCheck {
  #compile: ((schema: object) => Compiled | undefined) | undefined;
  #loading: Promise<void> | undefined;
  readonly #compiled = new WeakMap<KnownTool, Compiled>();
  readonly #failed: (error: unknown) => void;

  /** `failed` hears of errors of ours: arguments pass all the same. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Resolves when it can be used; undefined from then on. */
  get ready(): Promise<void> | undefined {
    if (this.#compile !== undefined) return undefined;
    this.#loading ??= import('./schema-compiler.ts').then(({ schemaCompiler }) => {
      this.#compile = schemaCompiler(this.#failed);
    });
    return this.#loading;
  }

  /** What is wrong with the arguments at this place: a sentence with the path of each fault. */
  faultIn(tool: KnownTool, b: Buffer, args: Span): string | undefined {
    const { validate, readsTexts } = this.#compiledOf(tool);
    if (validate === ANYTHING.validate) return undefined;
    if (args.to - args.from > LONG) {
      const outline = outlineOf(b, args);
      // Of what is long without its long texts the server decides.
      if (outline === undefined || (!readsTexts && validate(outline) === undefined)) return undefined;
    }
    return validate(JSON.parse(b.toString('utf8', args.from, args.to)));
  }

  #compiledOf(tool: KnownTool): Compiled {
    const known = this.#compiled.get(tool);
    if (known !== undefined) return known;
    const { inputSchema } = tool.decode();
    const isSchema = typeof inputSchema === 'object' && inputSchema !== null;
    const compiled = isSchema ? (this.#compile?.(inputSchema) ?? ANYTHING) : ANYTHING;
    this.#compiled.set(tool, compiled);
    return compiled;
  }
}

// Arguments without what stands in their long texts, decoded: most schemas say no more of a text than that it is one, and
// to decode a megabyte for that would cost more than to pass it on.

/** Shorter ones are decoded as they are. */
const LONG_TEXT = 1024;
const PLACEHOLDER = JSON.stringify('x'.repeat(64));

/** What stands between the long texts; more takes longer to decode than anybody should wait for. */
const LONGEST_OUTLINE = 64 * 1024;

/** Of the value at this place, which was found to be JSON before; undefined if it is long without its long texts too. */
export function outlineOf(b: Buffer, { from, to }: Span): unknown {
  const parts: string[] = [];
  let kept = from;
  let left = LONGEST_OUTLINE;
  for (let p = b.indexOf(QUOTE, from); p >= 0 && p < to; ) {
    const end = skipString(b, p + 1);
    const isKey = byteAt(b, skipSpace(b, end)) === COLON;
    if (end - p > LONG_TEXT && !isKey) {
      parts.push(b.toString('utf8', kept, p), PLACEHOLDER);
      left -= p - kept + PLACEHOLDER.length;
      kept = end;
    }
    if (end - kept > left) return undefined;
    p = b.indexOf(QUOTE, end);
  }
  if (to - kept > left) return undefined;
  parts.push(b.toString('utf8', kept, to));
  return JSON.parse(parts.join(''));
}
