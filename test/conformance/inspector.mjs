// The MCP Inspector as a client: it lists the tools of a server of others and calls one, direct and through `connect`,
// and must get the same.
import { deepEqual, equal } from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

const TIMEOUT_MS = 30_000;

/** The server, as it stands in a configuration. */
export const EVERYTHING = {
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))],
};

export class Inspector {
  #workspace;
  #node;
  #program;

  constructor(workspace, { node, inspector }) {
    this.#workspace = workspace;
    this.#node = node;
    this.#program = inspector;
  }

  /** Throws when what comes through `connectArgs` is not what the server says. Resolves to the number of its tools. */
  async check(connectArgs) {
    const { tools } = await this.#ask(EVERYTHING.args, ['tools/list']);
    deepEqual((await this.#ask(connectArgs, ['tools/list'])).tools, tools);
    const call = ['tools/call', '--tool-name', 'echo', '--tool-arg', 'message=hello'];
    const { content } = await this.#ask(connectArgs, call);
    deepEqual(content, [{ type: 'text', text: 'Echo: hello' }]);
    return tools.length;
  }

  async #ask(serverArgs, method) {
    const args = [this.#program, '--cli', '--quiet', '--method', ...method, '--', process.execPath, ...serverArgs];
    const { code, stdout, stderr } = await this.#workspace.run(this.#node, args, TIMEOUT_MS);
    equal(code, 0, `The inspector failed: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  }
}
