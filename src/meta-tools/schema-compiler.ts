// Compiles tool schemas into functions. Servers may send any schema, so none may be expensive: patterns are not run,
// references are counted, and a schema that is too large or refers elsewhere accepts everything.

import {
  _,
  Ajv,
  type CodeKeywordDefinition,
  type ErrorObject,
  type FuncKeywordDefinition,
  type KeywordCxt,
  MissingRefError,
  type Options,
  type ValidateFunction,
} from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Compiled } from './argument-check.ts';

/** Three times the largest schema among 358 tools of public servers. A schema is compiled in one turn. */
const LARGEST_SCHEMA = 32 * 1024;
/** A compiler keeps data of each schema, so it is replaced after this many. */
const MOST_COMPILED = 500;
const MOST_FAULTS = 5;
/**
 * The maximum number of comparisons between parts of a schema and of a value: 50 to 100 ms. A tool's schema has about
 * fifty parts and a call's arguments ten. More than this is hostile or too large to check here, so the server decides.
 */
const MOST_WORK = 200_000;
/** The maximum number of steps to validate a schema itself. */
const MOST_STEPS_TO_COMPILE = 50_000;

/** Keywords that may refuse a long text where a short one would pass. */
const READS_TEXTS = /"(?:maxLength|not|if|oneOf|contains|dependentSchemas)"\s*:/;
const OLDER = /draft-0[4-7]/;
/** Keywords that need patterns, promises, or lookups at run time. */
const NOT_FOLLOWED = /"(?:patternProperties|\$async|\$dynamicRef|\$recursiveRef)"\s*:/;

/** The compiler's messages for a bad schema; it has no class for these errors. */
const SCHEMA_FAULTS =
  /^(?:"nullable" cannot |type: null contradicts |type must be JSONType|\S+ value must be |invalid anchor |reference ".*" resolves to more than one |NOT SUPPORTED: keyword "id"|enum must have |URI .*malformed|Host.s domain name can not be converted )/s;

const anyText = Object.assign(() => ({ test: () => true }), { code: 'anyText' });

const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  validateSchema: false, // done before, where a bad schema can be told from other errors
  logger: false,
  addUsedSchema: false,
  inlineRefs: false, // otherwise a part with a thousand references would be compiled a thousand times
  code: { regExp: anyText },
};

const OLDER_COMPILER = (): Ajv => countedCompiler(new Ajv(OPTIONS));
const NEWER_COMPILER = (): Ajv => countedCompiler(new Ajv2020(OPTIONS));

/** `failed` is called with errors that the schema did not cause. */
export function schemaCompiler(failed: (error: unknown) => void): (schema: object) => Compiled | undefined {
  let [older, newer] = [OLDER_COMPILER(), NEWER_COMPILER()];
  let count = 0;
  return (schema) => {
    const text = JSON.stringify(schema);
    if (text.length > LARGEST_SCHEMA || NOT_FOLLOWED.test(text)) return undefined;
    if (++count % MOST_COMPILED === 0) [older, newer] = [OLDER_COMPILER(), NEWER_COMPILER()];
    const isOlder = '$schema' in schema && OLDER.test(String(schema.$schema));
    const validate = compiled(isOlder ? older : newer, text, failed);
    const most = Math.floor(MOST_WORK / partsOf(schema, MOST_WORK));
    return validate && { validate: (args) => faultsIn(args, validate, most), readsTexts: READS_TEXTS.test(text) };
  };
}

/** `most` limits the parts of the arguments, and the references followed. */
function faultsIn(args: unknown, validate: ValidateFunction, most: number): string | undefined {
  if (partsOf(args, most) > most) return undefined;
  try {
    beginSteps(most);
    if (validate(args)) return undefined;
  } catch (error) {
    if (error instanceof TooManySteps || error instanceof RangeError) return undefined; // the server decides
    throw error;
  }
  return (validate.errors ?? []).slice(0, MOST_FAULTS).map(wordsFor).join('; ');
}

/** Compiles a copy without `$id`, because another schema may have the same one. */
function compiled(ajv: Ajv, text: string, failed: (error: unknown) => void): ValidateFunction | undefined {
  const { $id: _, $schema: __, ...schema } = JSON.parse(text) as Record<string, unknown>;
  try {
    beginSteps(MOST_STEPS_TO_COMPILE);
    return ajv.validateSchema(schema) === true ? ajv.compile(schema) : undefined;
  } catch (error) {
    if (!isOfSchema(error)) failed(error);
    return undefined; // The server decides.
  }
}

function isOfSchema(error: unknown): boolean {
  if (error instanceof TooManySteps || error instanceof RangeError || error instanceof MissingRefError) return true;
  if (error instanceof URIError) return true;
  return error instanceof Error && error.constructor === Error && SCHEMA_FAULTS.test(error.message);
}

/** Describes a fault by its place. Values are omitted, because they may be secret. */
function wordsFor({ instancePath, keyword, params, message = 'is wrong' }: ErrorObject): string {
  const place = `arguments${instancePath.replaceAll('/', '.')}`;
  const { additionalProperty, missingProperty, allowedValues } = params as Record<string, unknown>;
  if (keyword === 'required') return `${place}.${String(missingProperty)} is missing`;
  if (keyword === 'additionalProperties') return `${place}.${String(additionalProperty)} is not known`;
  if (keyword === 'enum') return `${place} must be one of ${JSON.stringify(allowedValues).slice(0, 200)}`;
  return `${place} ${message}`;
}

/** Counts a JSON value and everything inside it; returns `most + 1` if there are more than `most`. */
export function partsOf(value: unknown, most: number): number {
  const left: unknown[] = [value];
  let parts = 0;
  while (left.length > 0 && parts <= most) {
    const next = left.pop();
    parts++;
    if (typeof next !== 'object' || next === null) continue;
    const within: unknown[] = Object.values(next);
    if (parts + left.length + within.length > most) return most + 1;
    for (const each of within) left.push(each);
  }
  return parts;
}

// --- counted references ---
//
// Without references, a schema costs at most its own length per part of a value. With them, a few hostile lines could
// run for ever, so each followed reference counts as a step.

class TooManySteps extends Error {}

let left = 0;

function step(): void {
  if (--left < 0) throw new TooManySteps();
}

/** Starts the check of a value with `most` steps. */
function beginSteps(most: number): void {
  left = most;
}

/** Compares items by their text, in linear time. Objects with another member order count as different. */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate: (isWanted: boolean, items: readonly unknown[]) =>
    !isWanted || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
  error: { message: 'must NOT have duplicate items' },
};

export /** Changes a compiler so that it counts references and does not compare each item with all others. */
function countedCompiler<Compiler extends Ajv>(compiler: Compiler): Compiler {
  const plain = compiler.getKeyword('$ref') as CodeKeywordDefinition;
  compiler.removeKeyword('uniqueItems').addKeyword(UNIQUE_ITEMS);
  compiler.removeKeyword('$ref');
  compiler.addKeyword({
    keyword: '$ref',
    schemaType: 'string',
    code: (context: KeywordCxt) => {
      context.gen.code(_`${context.gen.scopeValue('func', { ref: step })}()`);
      plain.code(context);
    },
  });
  return compiler;
}
