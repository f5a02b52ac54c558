import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { OPTIMISE_LATE } from '../../../src/cli/compiler-pace.ts';

test('with the flag, V8 optimises a function after some three times as many calls', () => {
  const ratio = callsUntilOptimised(OPTIMISE_LATE) / callsUntilOptimised('--no-trace-opt');
  expect(ratio).toBeGreaterThan(2);
  expect(ratio).toBeLessThan(12);
});

/** How often a process calls a function under this flag of V8 before that is optimised. */
function callsUntilOptimised(flag: string): number {
  const program = `
    require('node:v8').setFlagsFromString('${flag}');
    let sum = 0;
    const work = (n) => { for (const digit of [1, 2, 3]) sum += digit * n; };
    const isOptimised = () => (%GetOptimizationStatus(work) & (1 << 4)) !== 0;
    const count = () => { let calls = 0; while (calls < 100_000 && !isOptimised()) work(calls++); return calls; };
    %NeverOptimizeFunction(count);
    console.log(count());`;
  const flags = ['--allow-natives-syntax', '--no-concurrent-recompilation', '--no-maglev'];
  const calls = Number(execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' }));
  expect(calls).toBeLessThan(100_000);
  return calls;
}
