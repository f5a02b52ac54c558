// Runs the code of a CommonJS module from its text. It never looks for a module by its name.

import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { invariant } from '../util/invariant.ts';

/** Runs the code of a module and returns its exports. `file` is the place of the code, for traces and for `require`. */
export function runModule(text: string, file: string): unknown {
  const module = { exports: {} };
  const run: unknown = compileFunction(text, ['exports', 'require', 'module', '__filename'], { filename: file });
  invariant(typeof run === 'function', 'code compiles to a function');
  Reflect.apply(run, module.exports, [module.exports, createRequire(file), module, file]);
  return module.exports;
}
