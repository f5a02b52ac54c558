// A server without the bridge, behind one HTTP session: a process that speaks MCP a line a message. It carries JSON values.

/** A process of its own, which ends when its input does. */
export function processPeer(workspace, args) {
  const child = workspace.start(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  return new Peer(workspace, child);
}

class Peer {
  onMessage = () => undefined;
  onClose = () => undefined;
  #workspace;
  #child;

  constructor(workspace, child) {
    this.#workspace = workspace;
    this.#child = child;
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) this.onMessage(JSON.parse(line));
    });
    child.stdout.once('close', () => this.onClose());
    child.stdin.on('error', () => this.onClose());
  }

  send(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  close() {
    this.#child.stdin.end();
    return this.#workspace.ended(this.#child);
  }
}
