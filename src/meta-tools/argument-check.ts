// Checks arguments against a tool's schema before its server gets the call. Each schema is compiled once. If it cannot
// be compiled, or the check would take long, the arguments pass and the server decides.

import { byteAt, COLON, QUOTE, skipSpace, skipString } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';
import type { KnownTool } from './known-tools.ts';

/** Returns the fault, or undefined. */
type Validate = (args: unknown) => string | undefined;

export interface Compiled {
  readonly validate: Validate;
  /** True if the schema may refuse a long text where a short one would pass. */
  readonly readsTexts: boolean;
}

/** Longer arguments are checked first without their long texts. */
const LONG = 16 * 1024;

const ANYTHING: Compiled = { validate: () => undefined, readsTexts: false };

export class ArgumentCheck {
  #compile: ((schema: object) => Compiled | undefined) | undefined;
  #loading: Promise<void> | undefined;
  readonly #compiled = new WeakMap<KnownTool, Compiled>();
  readonly #failed: (error: unknown) => void;

  /** `failed` is called with errors of the compiler itself; the arguments pass anyway. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Loads the compiler; undefined once it is loaded. */
  get ready(): Promise<void> | undefined {
    if (this.#compile !== undefined) return undefined;
    this.#loading ??= import('./schema-compiler.ts').then(({ schemaCompiler }) => {
      this.#compile = schemaCompiler(this.#failed);
    });
    return this.#loading;
  }

  /** Checks the arguments at this position. Returns a sentence with the path of each fault, or undefined. */
  faultIn(tool: KnownTool, b: Buffer, args: Span): string | undefined {
    const { validate, readsTexts } = this.#compiledOf(tool);
    if (validate === ANYTHING.validate) return undefined;
    if (args.to - args.from > LONG) {
      const outline = outlineOf(b, args);
      // Long even without its long texts: the server decides.
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

// --- outlines of long arguments ---

/** Shorter texts are kept. */
const LONG_TEXT = 1024;
const PLACEHOLDER = JSON.stringify('x'.repeat(64));

/** The maximum length of an outline. Decoding a longer one would delay other clients. */
const LONGEST_OUTLINE = 64 * 1024;

/**
 * Decodes a value with placeholders for long texts: most schemas only require that a text is a text, and decoding a
 * megabyte costs more than passing it on. The JSON must be valid. Undefined if the outline is too long.
 */
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
