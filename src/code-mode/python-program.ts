// The process that runs one Python program. Pyodide confines nothing, so the process is only started inside a
// confinement (confinement.ts), and ends after its program. It uses the same words as sandbox-program.ts.

import { constants } from 'node:fs';
import { setPriority } from 'node:os';
import { pathToFileURL } from 'node:url';
import { PYTHON_GUEST } from './python-guest.ts';
import { Speaker } from './words.ts';

export interface PythonRequest {
  readonly code: string;
  /** JSON: the servers with names and descriptions. */
  readonly servers: string;
  /** The directory of the package `pyodide`. */
  readonly pyodide: string;
  readonly number: number;
  readonly mostWordBytes: number;
}

type Send = (kind: string, text: string) => boolean;

/** The parts of Pyodide that are used. */
interface Pyodide {
  runPython(code: string): (send: Send, servers: string) => Iterable<(text: string) => unknown>;
  setStdout(options: { readonly batched: (text: string) => void }): void;
  setStdin(options: { readonly error: true }): void;
  setStderr(options: { readonly batched: (text: string) => void }): void;
}

interface PyodideModule {
  loadPyodide(options: { readonly indexURL: string; readonly jsglobals: object }): Promise<Pyodide>;
}

async function run(
  { code, servers, pyodide }: PythonRequest,
  speaker: Speaker,
  heard: (receive: (text: string) => void) => void,
): Promise<void> {
  // Emscripten needs this, but Node's permission model withholds it.
  Object.assign(process, { binding: () => ({ fs: constants }) });
  const place = pathToFileURL(`${pyodide}/`).href;
  const { loadPyodide } = (await import(`${place}pyodide.mjs`)) as PyodideModule;
  const jsglobals = { setTimeout, clearTimeout, setInterval, clearInterval, Object, Error, Promise };
  const python = await loadPyodide({ indexURL: `${pyodide}/`, jsglobals });
  const send: Send = (kind, text) => speaker.sayForProgram(kind, text) !== 'too-long';
  const print = (text: string): void => void send('print', JSON.stringify(text));
  python.setStdout({ batched: print });
  python.setStderr({ batched: print });
  python.setStdin({ error: true }); // the process's stdin belongs to the daemon
  const [start, receive] = python.runPython(PYTHON_GUEST)(send, servers);
  if (start === undefined || receive === undefined) throw new Error('Pyodide is of a version that is not known');
  heard((text) => void receive(text));
  setPriority(10); // servers and clients of the machine have priority
  speaker.say('begun'); // the program's time counts from here
  await start(code);
}

/** Runs the process until stdin ends. */
export function runSandbox(): void {
  let receive: ((text: string) => void) | undefined;
  let rest = '';
  process.stdout.on('error', () => process.exit(0));
  process.stdin.setEncoding('utf8');
  process.stdin.on('end', () => process.exit(0));
  process.stdin.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('{"run":')) receive?.(line);
      else {
        const { run: request } = JSON.parse(line) as { run: PythonRequest };
        const speaker = new Speaker(request.number, request.mostWordBytes, (text) => process.stdout.write(text));
        run(request, speaker, (hears) => {
          receive = hears;
        }).catch((error: unknown) => speaker.say('trap', JSON.stringify({ message: String(error) })));
      }
    }
  });
}
