// A compiler of schemas whose references are counted while a value is looked at. Without them a schema does no more than is
// written in it; with them a few lines, written to do harm, go round for ever or come to more steps than a machine ever does.

import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt } from 'ajv';

export class TooManySteps extends Error {}

/** Of one value; a tenth of a second at most. */
const MOST_STEPS = 50_000;

let left = 0;

function step(): void {
  if (--left < 0) throw new TooManySteps();
}

/** From here on another value is looked at. */
export function beginSteps(): void {
  left = MOST_STEPS;
}

export function countReferences<Compiler extends Ajv>(compiler: Compiler): Compiler {
  const plain = compiler.getKeyword('$ref') as CodeKeywordDefinition;
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
