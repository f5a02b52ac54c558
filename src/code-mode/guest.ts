// The globals of a program: the servers' tools as functions, search, types, console, timers. This function's text runs
// inside the interpreter, so it may use nothing from outside itself. It protects nothing, because the program may
// change all of it. The daemon checks everything that comes out.

import type { ProgramWordKind } from './words.ts';

export interface GuestError {
  readonly name: string;
  readonly message: string;
  /** The stack in the interpreter's format. */
  readonly stack?: string;
  readonly code?: unknown;
}

export interface GuestHost {
  /** Sends a word of the program: its kind, and its text in JSON (see words.ts). False if the text is too long. */
  readonly send: (kind: ProgramWordKind, text: string) => boolean;
  /** Calls `receive` with `{"timer":id}` after some time. */
  readonly wait: (id: number, ms: number) => void;
}

export interface Guest {
  /** Runs the program. `serversText` is JSON: the servers with names and descriptions. */
  readonly start: (program: () => unknown, serversText: string) => void;
  /** Takes an answer as JSON. */
  readonly receive: (text: string) => void;
  /** The number of pending answers and timers. */
  readonly awaited: () => number;
}

export function guest({ send, wait }: GuestHost): Guest {
  interface Settle {
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: unknown) => void;
    readonly isTool: 'value' | 'raw' | undefined;
    readonly about: { readonly server: string; readonly tool: string } | undefined;
  }
  type Fields = Record<string, unknown>;
  // Copied, because the program may replace them, and its faults should still be reported.
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const pending = new Map<number, Settle>();
  const timers = new Map<number, () => void>();
  const known: { readonly name: string; readonly description: string }[] = [];
  const names: string[] = [];
  const scope = globalThis as unknown as Fields;
  let lastId = 0;

  class ToolError extends Error {
    readonly code: unknown;
    readonly data: unknown;
    readonly server: string | undefined;
    readonly tool: string | undefined;

    constructor(message: string, code: unknown, data: unknown, about: Settle['about']) {
      super(message);
      this.name = 'ToolError';
      this.code = code;
      this.data = data;
      this.server = about?.server;
      this.tool = about?.tool;
    }
  }

  /** Sends a request made of `texts`, each in JSON, which contains no tab. */
  const ask = (
    kind: 'call' | 'search' | 'describe',
    texts: readonly string[],
    isTool: Settle['isTool'],
    about: Settle['about'],
  ): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      let text = `${id}`;
      for (let i = 0; i < texts.length; i++) text += `\t${texts[i]}`;
      pending.set(id, { resolve, reject, isTool, about });
      if (send(kind, text)) return;
      pending.delete(id);
      reject(
        new ToolError(
          'The arguments are longer than those of a program may be',
          'TOOL_ARGUMENTS_INVALID',
          undefined,
          about,
        ),
      );
    });
  /** Shortens a name that the program chose. */
  const named = (name: string): string => stringify(name.slice(0, 500));

  /** The useful part of a tool's result: its structured content, its text, or JSON in its text. */
  const usefulIn = (result: Fields): unknown => {
    if (result.structuredContent !== undefined) return result.structuredContent;
    const content = isArray(result.content) ? (result.content as Fields[]) : [];
    if (content.length === 0 || content.some((part) => part.type !== 'text')) return content;
    const text = content.map((part) => String(part.text)).join('\n');
    const first = text.trimStart()[0];
    if (first !== '{' && first !== '[') return text;
    try {
      return parse(text);
    } catch {
      return text;
    }
  };

  const settle = ({ resolve, reject, isTool, about }: Settle, answer: Fields): void => {
    const error = answer.error as Fields | undefined;
    if (error !== undefined) {
      const data = error.data as { error?: Fields; code?: unknown } | undefined;
      const code = data?.error?.code ?? data?.code ?? error.code;
      return reject(new ToolError(String(error.message), code, error.data, about));
    }
    if (isTool === undefined) return resolve(answer.value);
    const result = (answer.result ?? {}) as Fields;
    if (isTool === 'raw') return resolve(result);
    const value = usefulIn(result);
    if (result.isError !== true) return resolve(value);
    const message = typeof value === 'string' ? value : stringify(value);
    reject(new ToolError(message, 'TOOL_FAILED', result.content, about));
  };

  const toolOf = (server: string, tool: string): unknown => {
    const called = (how: 'value' | 'raw') => (args: unknown) => {
      const text = args === undefined ? '{}' : stringify(args);
      return ask('call', [named(server), named(tool), text ?? 'null'], how, { server, tool });
    };
    return Object.assign(called('value'), { raw: called('raw') });
  };

  /** An object with a property per text. Properties that promises and JSON look for are excluded. */
  const byName = (make: (name: string) => unknown, listed: readonly string[]): unknown => {
    const made = new Map<string, unknown>();
    return new Proxy(Object.create(null) as object, {
      get: (_, name) => {
        if (typeof name !== 'string' || name === 'then' || name === 'toJSON') return undefined;
        if (!made.has(name)) made.set(name, make(name));
        return made.get(name);
      },
      has: (_, name) => typeof name === 'string' && (listed.length === 0 || listed.includes(name)),
      ownKeys: () => [...listed],
      getOwnPropertyDescriptor: (_, name) =>
        typeof name === 'string' && listed.includes(name)
          ? { enumerable: true, configurable: true, writable: false, value: undefined }
          : undefined,
    });
  };

  const shown = (value: unknown): string => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    if (typeof value !== 'object' || value === null) return String(value);
    try {
      return stringify(value) ?? String(value);
    } catch {
      return '[not JSON]';
    }
  };
  const print = (...values: unknown[]): void => void send('print', stringify(values.map(shown).join(' ')));

  const setTimer = (
    task: (...args: unknown[]) => unknown,
    ms: unknown,
    isRepeated: boolean,
    args: unknown[],
  ): number => {
    const id = ++lastId;
    const again = (): void => {
      timers.set(id, () => {
        if (isRepeated) again();
        else timers.delete(id);
        task(...args);
      });
      wait(id, Number(ms) || 0);
    };
    again();
    return id;
  };
  const clearTimer = (id: unknown): void => void timers.delete(id as number);

  const servers = byName((server) => byName((tool) => toolOf(server, tool), []), names);
  const globals: Fields = {
    servers,
    ToolError,
    search: (query: unknown, options: unknown = {}) =>
      ask('search', [stringify(String(query)), stringify(options) ?? 'null'], undefined, undefined),
    describe: (...wanted: unknown[]) =>
      ask('describe', [stringify([...new Set(wanted.flat().map(String))])], undefined, undefined),
    discovered_servers: (options?: { readonly detailed?: boolean }) =>
      options?.detailed === true ? known.map((server) => ({ ...server })) : [...names],
    console: { log: print, info: print, warn: print, error: print, debug: print },
    setTimeout: (task: () => unknown, ms: unknown, ...args: unknown[]) => setTimer(task, ms, false, args),
    setInterval: (task: () => unknown, ms: unknown, ...args: unknown[]) => setTimer(task, ms, true, args),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
  };
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(scope, name, { value, writable: true, configurable: true, enumerable: false });

  const errorOf = (thrown: unknown): GuestError => {
    if (!(thrown instanceof Error)) return { name: 'Error', message: shown(thrown).slice(0, 4000) };
    const { name, message, stack } = thrown;
    const { code } = thrown as { code?: unknown };
    const isPlain = typeof code === 'string' || typeof code === 'number';
    return {
      name: String(name).slice(0, 200),
      message: String(message).slice(0, 4000),
      ...(typeof stack === 'string' && { stack: stack.slice(0, 4000) }),
      ...(isPlain && { code: typeof code === 'string' ? code.slice(0, 200) : code }),
    };
  };
  const fails = (thrown: unknown): void => {
    let error: GuestError = { name: 'Error', message: 'The error cannot be shown' };
    try {
      error = errorOf(thrown);
    } catch {
      // Kept as it is: a getter of the error failed.
    }
    // Written member by member, because a prototype could change how an object is serialized.
    let text = `{"name":${stringify(error.name)},"message":${stringify(error.message)}`;
    if (error.stack !== undefined) text += `,"stack":${stringify(error.stack)}`;
    if (error.code !== undefined) text += `,"code":${stringify(error.code)}`;
    void send('threw', `${text}}`);
  };
  const returns = (value: unknown): void => {
    let text: string | undefined;
    try {
      text = stringify(value);
    } catch (error) {
      return fails(new TypeError(`The returned value is not JSON: ${(error as Error).message}`));
    }
    if (text === undefined && value !== undefined)
      return fails(new TypeError(`The returned value is not JSON: it is a ${typeof value}`));
    void send('returned', text ?? '');
  };

  return {
    start: (program, serversText) => {
      known.push(...(parse(serversText) as typeof known));
      names.push(...known.map(({ name }) => name));
      const run = async (): Promise<void> => returns(await program());
      run().catch(fails);
    },
    receive: (text) => {
      const answer = parse(text) as Fields;
      if (answer.timer !== undefined) {
        timers.get(answer.timer as number)?.();
        return;
      }
      const waiting = pending.get(answer.id as number);
      pending.delete(answer.id as number);
      if (waiting !== undefined) settle(waiting, answer);
    },
    awaited: () => pending.size + timers.size,
  };
}
