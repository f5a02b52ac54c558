// Whether arguments fit a tool's schema, before its server is bothered. Each schema is compiled once. One that cannot be
// compiled lets everything pass: the server decides.

import type { Span } from '../wire/json-members.ts';
import { outlineOf } from './argument-outline.ts';
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
