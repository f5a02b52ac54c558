// Schemas of tools made into functions. They come from servers, which may put anything into them: what is too large, or
// refers elsewhere, lets everything pass, and so does a pattern, since it could run for ever.

import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Compiled } from './argument-check.ts';

const LARGEST_SCHEMA = 256 * 1024;
const MOST_FAULTS = 5;

/** Words by which a text that is long may decide whether something fits, where a short one would fit. */
const READS_TEXTS = /"(?:maxLength|not|if|oneOf|contains|dependentSchemas)"\s*:/;
const OLDER = /draft-0[4-7]/;

const anyText = Object.assign(() => ({ test: () => true }), { code: 'anyText' });

const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  validateFormats: false,
  logger: false,
  addUsedSchema: false,
  code: { regExp: anyText },
};

export function schemaCompiler(): (schema: object) => Compiled | undefined {
  const [older, newer] = [new Ajv(OPTIONS), new Ajv2020(OPTIONS)];
  return (schema) => {
    const text = JSON.stringify(schema);
    if (text.length > LARGEST_SCHEMA || text.includes('"patternProperties"')) return undefined;
    const isOlder = '$schema' in schema && OLDER.test(String(schema.$schema));
    const validate = compiled(isOlder ? older : newer, text);
    if (validate === undefined) return undefined;
    return {
      validate: (args) =>
        validate(args) ? undefined : (validate.errors ?? []).slice(0, MOST_FAULTS).map(wordsFor).join('; '),
      readsTexts: READS_TEXTS.test(text),
    };
  };
}

/** A copy without its own name, under which the next schema might want to be known too. */
function compiled(ajv: Ajv, text: string): ValidateFunction | undefined {
  try {
    const { $id: _, $schema: __, ...schema } = JSON.parse(text) as Record<string, unknown>;
    return ajv.compile(schema);
  } catch {
    return undefined; // Not a schema that we understand: the server decides.
  }
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
