import { defineConfig } from 'vitest/config';
import LongestFirst from './test/support/longest-first.ts';

const project = (name: string, timeoutMs: number) => ({
  extends: true as const,
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    setupFiles: ['test/support/own-home.ts', `test/support/${name === 'unit' ? 'nothing-left' : 'no-leftovers'}.ts`],
    // Unit tests leave nothing behind, so that one process runs them all: it loads the source once.
    isolate: name !== 'unit',
    restoreMocks: true,
    testTimeout: timeoutMs,
    hookTimeout: timeoutMs,
  },
});

export default defineConfig({
  define: { MCP_BRIDGE_VERSION: '"0.0.0-test"' },
  test: {
    projects: [
      project('unit', 60_000),
      project('integration', 120_000),
      project('e2e', 120_000),
      project('browser', 120_000),
    ],
    reporters: ['default', './test/support/closing-line.ts'],
    // Two cores, shared with others: more workers would only make each test slower.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/wire/assembly/**', 'src/**/*.d.ts'],
      // Summed up by scripts/coverage.mjs, which has the least that is wanted.
      reporter: ['json', 'html'],
      reportOnFailure: true,
    },
  },
});
