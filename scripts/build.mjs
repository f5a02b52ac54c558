// Bundles the command into dist/. Splitting keeps what only some verbs need out of the file that `connect` loads.
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
rmSync('dist', { recursive: true, force: true });
await build({
  entryPoints: { 'mcp-bridge': 'src/cli/main.ts', 'example-server': 'src/daemon/example-server.ts' },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  chunkNames: 'chunks/[name]-[hash]',
  define: { MCP_BRIDGE_VERSION: JSON.stringify(version) },
  logLevel: 'warning',
});
chmodSync('dist/mcp-bridge.js', 0o755);
