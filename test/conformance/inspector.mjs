// The MCP Inspector as a client: it lists the tools of a server of others and calls one, direct and through `connect`,
// and must get the same.
import { deepEqual, equal, ok } from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

const TIMEOUT_MS = 30_000;
const ERAS = ['legacy', 'auto', 'modern'];
/** A tool of the servers of the suite. */
const CALLED = 'test_simple_text';

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

  /** Throws when a client of either era cannot list and call tools at these URLs. Resolves to the eras that it was told to speak. */
  async checkOverHttp(urls) {
    for (const url of urls)
      for (const era of ERAS) {
        const target = ['--protocol-era', era, '--transport', 'http', '--server-url', url];
        const { tools } = await this.#run([...target, '--method', 'tools/list']);
        ok(
          tools.some(({ name }) => name === CALLED),
          `${url}, ${era}: ${CALLED} is not listed`,
        );
        const { content } = await this.#run([...target, '--method', 'tools/call', '--tool-name', CALLED]);
        equal(content[0].type, 'text', `${url}, ${era}`);
      }
    return ERAS;
  }

  #ask(serverArgs, method) {
    return this.#run(['--method', ...method, '--', process.execPath, ...serverArgs]);
  }

  async #run(wanted) {
    const args = [this.#program, '--cli', '--quiet', ...wanted];
    const { code, stdout, stderr } = await this.#workspace.run(this.#node, args, TIMEOUT_MS);
    equal(code, 0, `The inspector failed: ${stdout}${stderr}`);
    return JSON.parse(stdout);
  }
}
