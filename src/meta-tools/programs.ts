// Programs of models: what runs them, and what they may ask for while they run. The view's side of it is code-desk.ts; the room
// code-mode, which is loaded with the first program, is the other side.

/** Anything that calls cannot be run with comes back as an error, like an answer. Texts are JSON, each character one byte. */
export type HostAnswer =
  | { readonly is: 'result' | 'value'; readonly text: string }
  | { readonly is: 'error'; readonly text: string };

export interface ProgramServer {
  readonly name: string;
  readonly description: string;
}

/** A tool with the members of its definition that types are made from. */
export interface TypedTool {
  readonly server: string;
  readonly tool: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

/** The requests that a program may make. An answer comes once, also after the program has ended. */
export interface ProgramHost {
  /** The servers that the client sees. */
  servers(): readonly ProgramServer[];
  /** Runs a tool, with arguments as JSON, each character one byte. */
  call(server: string, tool: string, argumentsText: string, answered: (answer: HostAnswer) => void): void;
  /** Finds tools by words. */
  search(query: string, options: unknown): Promise<object>;
  /** Finds tools by SERVER or SERVER.TOOL. Each is decoded when it is read. */
  tools(name: string): Promise<readonly (() => TypedTool)[]>;
  /** The name of the server that a program has spelled so. */
  nameOf(server: string): string;
  /** True while its client is to come back with answers. */
  isAway(): boolean;
  /** True while a person is asked something for this program: then the time in which it waits does not count. */
  isAsking(): boolean;
  /** The program is over: `result` is that of its tool, as JSON. Called once, unless the program is stopped. */
  ended(result: string): void;
}

type ProgramLanguage = 'javascript' | 'python';

export interface ProgramRequest {
  readonly language: ProgramLanguage;
  readonly code: string;
  /** Undefined for the time that the config allows. */
  readonly timeoutMs: number | undefined;
  /** Programs of one client may have one process, one after the other. */
  readonly client: object;
  /** The user of a client, if a user may have many; undefined for the user of the daemon, who may have them all. */
  readonly owner: string | undefined;
  /** The only servers that it may use, by their names; undefined for all that the client sees. */
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

/** The means of the view to run programs; absent where they are switched off. */
export interface CodeMode {
  /** True if programs in Python may be run. */
  readonly hasPython: boolean;
  /** Loads what runs programs. */
  load(): Promise<Programs>;
}
