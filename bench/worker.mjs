// The parent's end of a child of this bench that takes orders over IPC, one at a time.
// A child that dies leaves no order unanswered.
import { program } from './workspace.mjs';

export class Worker {
  #child;

  /** `prefix` is a command that runs another one, such as taskset. */
  constructor(workspace, name, prefix = []) {
    const [command, ...args] = [...prefix, process.execPath, program(name)];
    this.#child = workspace.spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  order(message) {
    return new Promise((resolve, reject) => {
      const onMessage = (answer) => {
        this.#child.off('exit', onExit);
        resolve(answer);
      };
      const onExit = (code) => {
        this.#child.off('message', onMessage);
        reject(new Error(`a worker of the bench ended with ${code}`));
      };
      this.#child.once('message', onMessage).once('exit', onExit);
      this.#child.send(message);
    });
  }

  async end(workspace) {
    await workspace.end(this.#child);
  }
}
