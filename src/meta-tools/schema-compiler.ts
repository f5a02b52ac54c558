// Schemas of tools made into functions. They come from servers, which may put anything into them: what is too large, or
// refers elsewhere, lets everything pass, and so does what could run for ever: a pattern, or references in circles.

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

/** Three times the largest of 358 tools of public servers; it is compiled in one go. */
const LARGEST_SCHEMA = 32 * 1024;
/** What is compiled leaves traces in its compiler: after so many there is a new one, at the price of a few schemas. */
const MOST_COMPILED = 500;
const MOST_FAULTS = 5;
/**
 * So many times a part of a schema may be held against a part of a value; 50 to 100 ms. A tool's schema has some fifty parts
 * and a call's arguments ten, so what is beyond it was made to be, or is too large to be checked here: the server decides.
 */
const MOST_WORK = 200_000;
/** A schema is a value too, of the schema for schemas. */
const MOST_STEPS_TO_COMPILE = 50_000;

/** Words by which a text that is long may decide whether something fits, where a short one would fit. */
const READS_TEXTS = /"(?:maxLength|not|if|oneOf|contains|dependentSchemas)"\s*:/;
const OLDER = /draft-0[4-7]/;
/** Of members for which a function would have to wait, or would be looked for while it runs. */
const NOT_FOLLOWED = /"(?:patternProperties|\$async|\$dynamicRef|\$recursiveRef)"\s*:/;

/** Errors of the compiler about a schema: all but one have no class of their own. */
const SCHEMA_FAULTS =
  /^(?:"nullable" cannot |type: null contradicts |type must be JSONType|\S+ value must be |invalid anchor |reference ".*" resolves to more than one |NOT SUPPORTED: keyword "id"|enum must have |URI .*malformed|Host.s domain name can not be converted )/s;

const anyText = Object.assign(() => ({ test: () => true }), { code: 'anyText' });

const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  validateSchema: false, // done before, where a schema that is none can be told from an error
  logger: false,
  addUsedSchema: false,
  inlineRefs: false, // or what is referred to a thousand times would be compiled as often
  code: { regExp: anyText },
};

const OLDER_COMPILER = (): Ajv => countedCompiler(new Ajv(OPTIONS));
const NEWER_COMPILER = (): Ajv => countedCompiler(new Ajv2020(OPTIONS));

/** `failed` hears of errors that are none of a schema. */
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

/** `most`: of the parts of the arguments, and of the references that are followed. */
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

/** A copy without its own name, under which the next schema might want to be known too. */
function compiled(ajv: Ajv, text: string, failed: (error: unknown) => void): ValidateFunction | undefined {
  const { $id: _, $schema: __, ...schema } = JSON.parse(text) as Record<string, unknown>;
  try {
    beginSteps(MOST_STEPS_TO_COMPILE);
    return ajv.validateSchema(schema) === true ? ajv.compile(schema) : undefined;
  } catch (error) {
    if (!isOfSchema(error)) failed(error);
    return undefined; // Not a schema that we understand: the server decides.
  }
}

function isOfSchema(error: unknown): boolean {
  if (error instanceof TooManySteps || error instanceof RangeError || error instanceof MissingRefError) return true;
  if (error instanceof URIError) return true;
  return error instanceof Error && error.constructor === Error && SCHEMA_FAULTS.test(error.message);
}

/** Of values nothing is said: they may be secrets. */
function wordsFor({ instancePath, keyword, params, message = 'is wrong' }: ErrorObject): string {
  const place = `arguments${instancePath.replaceAll('/', '.')}`;
  const { additionalProperty, missingProperty, allowedValues } = params as Record<string, unknown>;
  if (keyword === 'required') return `${place}.${String(missingProperty)} is missing`;
  if (keyword === 'additionalProperties') return `${place}.${String(additionalProperty)} is not known`;
  if (keyword === 'enum') return `${place} must be one of ${JSON.stringify(allowedValues).slice(0, 200)}`;
  return `${place} ${message}`;
}

// How many parts a value has that was JSON: itself, and each value within it, be it a text of a megabyte.

/** Counted up to `most`; beyond that it is one more. */
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

// A compiler of schemas whose references are counted while a value is looked at, and in which no word compares all parts of a
// value with all others. Without references a schema does for each part of a value no more than is written in it; with them a
// few lines, written to do harm, go round for ever or come to more steps than a machine ever does.

export class TooManySteps extends Error {}

let left = 0;

function step(): void {
  if (--left < 0) throw new TooManySteps();
}

/** From here on another value is looked at, in so many steps at most. */
export function beginSteps(most: number): void {
  left = most;
}

/** Two objects whose members stand in another order count as different: then the server decides. */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate: (isWanted: boolean, items: readonly unknown[]) =>
    !isWanted || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
  error: { message: 'must NOT have duplicate items' },
};

export function countedCompiler<Compiler extends Ajv>(compiler: Compiler): Compiler {
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
