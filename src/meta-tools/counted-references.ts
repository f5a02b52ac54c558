// A compiler of schemas whose references are counted while a value is looked at, and in which no word compares all parts of a
// value with all others. Without references a schema does for each part of a value no more than is written in it; with them a
// few lines, written to do harm, go round for ever or come to more steps than a machine ever does.

import { _, type Ajv, type CodeKeywordDefinition, type FuncKeywordDefinition, type KeywordCxt } from 'ajv';

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
