// The interface between programs of models and the view that they use. code-desk.ts implements the view's side; the
// room code-mode, loaded with the first program, runs them.

/** The answer to a program. A failed call is an error, like a normal answer. Texts are JSON in latin1. */
export type HostAnswer =
  | { readonly is: 'result' | 'value'; readonly text: string }
  | { readonly is: 'error'; readonly text: string };

export interface ProgramServer {
  readonly name: string;
  readonly description: string;
}

/** A tool with the members that types are made from. */
export interface TypedTool {
  readonly server: string;
  readonly tool: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

/** The requests that a program may make. Each gets one answer, possibly after the program has ended. */
export interface ProgramHost {
  /** The servers that the client sees. */
  servers(): readonly ProgramServer[];
  /** Runs a tool; the arguments are JSON in latin1. */
  call(server: string, tool: string, argumentsText: string, answered: (answer: HostAnswer) => void): void;
  /** Finds tools by words. */
  search(query: string, options: unknown): Promise<object>;
  /** Finds tools by SERVER or SERVER.TOOL. Each is decoded when used. */
  tools(name: string): Promise<readonly (() => TypedTool)[]>;
  /** The real name of a server that a program named. */
  nameOf(server: string): string;
  /** True while its client must come back with answers. */
  isAway(): boolean;
  /** True while a person is asked something for this program: its waiting time does not count then. */
  isAsking(): boolean;
  /** Called once with the result of its tool as JSON, unless the program is stopped. */
  ended(result: string): void;
}

type ProgramLanguage = 'javascript' | 'python';

export interface ProgramRequest {
  readonly language: ProgramLanguage;
  readonly code: string;
  /** Undefined for the config's time limit. */
  readonly timeoutMs: number | undefined;
  /** Programs of the same client may share one process, one after another. */
  readonly client: object;
  /** The user of a client, if users have a limit; undefined for the daemon's own user, who has none. */
  readonly owner: string | undefined;
  /** The names of the only servers that it may use; undefined for all that the client sees. */
  readonly servers?: readonly string[] | undefined;
}

export interface RunningProgram {
  /** Ends it at once. */
  stop(): void;
}

export interface Programs {
  /** Throws if no more programs may run. */
  run(request: ProgramRequest, host: ProgramHost): RunningProgram;
}

/** The view's access to programs; missing if they are switched off. */
export interface CodeMode {
  /** True if programs may be in Python. */
  readonly hasPython: boolean;
  /** Loads the code that runs programs. */
  load(): Promise<Programs>;
}
