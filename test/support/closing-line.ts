// A reporter that ends a run with one plain line, for programs that read it.

import type { Reporter, TestCase, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module): TestCase[] => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length;
    process.stdout.write(`\n${count('passed')} passed, ${count('failed') + broken} failed\n`);
  }
}
