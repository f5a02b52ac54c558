// A reporter that ends a run with one plain line, for programs that read it: after the figures of the coverage if it is measured.

import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

export default class ClosingLine implements Reporter {
  #isCoverageShown = false;
  #line = '';

  onInit({ config }: Vitest): void {
    this.#isCoverageShown = config.coverage.enabled;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module): TestCase[] => [...module.children.allTests()]);
    const count = (state: string): number => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const inBrowser = modules.filter(({ moduleId }) => moduleId.includes('/test/browser/'));
    const leftOut = inBrowser.flatMap((module) => [...module.children.allTests('skipped')]).length;
    if (leftOut > 0)
      process.stdout.write(`\nLeft out, as there is no Chromium here: ${leftOut} tests of the dashboard\n`);
    this.#line = `\n${count('passed')} passed, ${count('failed') + broken} failed\n`;
    if (!this.#isCoverageShown) this.#close();
  }

  onFinishedReportCoverage(): void {
    this.#close();
  }

  #close(): void {
    process.stdout.write(this.#line);
  }
}
