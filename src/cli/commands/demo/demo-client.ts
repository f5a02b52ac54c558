// One client of the demonstration: the SDK's client on its own `mcp-bridge connect`, like an editor or an agent.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { isRecord, membersOf, textOf } from '../../../util/json-value.ts';

export interface DemoClientOptions {
  readonly node: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly version: string;
}

export class DemoClient {
  readonly name: string;
  readonly #transport: StdioClientTransport;
  readonly #client: Client;

  constructor(name: string, { node, program, args, environment, cwd, version }: DemoClientOptions) {
    this.name = name;
    this.#client = new Client({ name, version });
    this.#transport = new StdioClientTransport({
      command: node,
      args: [program, 'connect', '--mcp-client-id', name, ...args],
      env: { ...environment },
      cwd,
      stderr: 'ignore',
    });
  }

  /** The pid of its `mcp-bridge connect`. */
  get pid(): number | null {
    return this.#transport.pid;
  }

  connect(): Promise<void> {
    return this.#client.connect(this.#transport);
  }

  /** The text that a tool of its view answers. */
  async use(tool: string, args: Record<string, unknown>): Promise<string> {
    const { content } = await this.#client.callTool({ name: tool, arguments: args });
    const [first] = Array.isArray(content) ? content.filter(isRecord) : [];
    return textOf(membersOf(first).text);
  }

  /** The text that a tool of the example server answers; the view `discover` runs it. */
  call(tool: string, args: Record<string, unknown> = {}): Promise<string> {
    return this.use('execute_tool', { server: 'example', tool, arguments: args });
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
