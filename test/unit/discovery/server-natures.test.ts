import { describe, expect, test } from 'vitest';
import { natureOf } from '../../../src/discovery/server-natures.ts';

const lineOf = (text: string): [string, string[]] => {
  const [command = '', ...args] = text.split(' ');
  return [command, args];
};
const keepsState = (text: string): boolean => natureOf(...lineOf(text))?.keepsState !== undefined;
const losesWrites = (text: string): boolean => natureOf(...lineOf(text))?.losesWrites !== undefined;

describe('a server is known to keep something for one client', () => {
  test.each([
    'npx -y @modelcontextprotocol/server-sequential-thinking',
    'npx @modelcontextprotocol/server-sequential-thinking@2026.1.2',
    'cmd /c npx -y @modelcontextprotocol/server-sequential-thinking',
    'env A=b npx -y @modelcontextprotocol/server-sequential-thinking',
    'mcp-server-sequential-thinking',
    'node /opt/lib/node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js',
    'docker run --rm -i mcp/sequentialthinking',
    'npx @playwright/mcp@latest --headless',
    'npx -y @executeautomation/playwright-mcp-server',
    'bunx chrome-devtools-mcp',
    'npx -y @modelcontextprotocol/server-puppeteer',
    'npx -y @angiejones/mcp-selenium',
    'uvx browser-use --mcp',
    'npx -y @browsermcp/mcp',
    'docker run -i --rm mcp/playwright',
    'npx -y @wonderwhy-er/desktop-commander',
    'npx -y tmux-mcp',
    'npx -y iterm-mcp',
    'uvx mcp-python-interpreter --dir /x',
    'npx -y mcp-repl',
    'npx -y @debugmcp/mcp-debugger stdio',
    'uvx gdb-mcp',
    'uvx jupyter-mcp-server@latest',
    'python -m jupyter_mcp_server',
    'uv run jupyter-mcp-server',
    'python3 /home/a/notebook_mcp.py',
  ])('%s', (line) => expect(keepsState(line)).toBe(true));
});

describe('nothing is known of', () => {
  test.each([
    'npx -y @modelcontextprotocol/server-filesystem /home/playwright',
    'npx -y @modelcontextprotocol/server-everything',
    'npx -y some-server --browser shell',
    'node /home/shell/server.js',
    'node server.js playwright',
    'uvx mcp-server-git --repository /repl',
    'docker run -i --rm somebody/memory',
    'python server.py',
    '',
  ])('%s', (line) => expect(natureOf(...lineOf(line))).toBeUndefined());
});

describe('a server is known to lose simultaneous writes', () => {
  test.each([
    'npx -y @modelcontextprotocol/server-memory',
    'docker run -i --rm mcp/memory',
    'node /x/node_modules/@modelcontextprotocol/server-memory/dist/index.js',
    'npx -y mcp-knowledge-graph',
  ])('%s', (line) => expect([losesWrites(line), keepsState(line)]).toEqual([true, false]));
});
