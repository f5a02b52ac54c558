// Parts of Node that @types/node leaves out.
declare global {
  /** Present since Node 6. They skip the lookup of an encoding's name, which costs more than copying an id. */
  interface Buffer {
    latin1Slice(start: number, end: number): string;
    latin1Write(text: string, offset: number): number;
    utf8Write(text: string, offset: number): number;
  }

  /** The part that is used here; the whole would come with a browser's types. */
  namespace WebAssembly {
    class Module {
      constructor(bytes: Uint8Array);
    }
    class Instance {
      constructor(module: Module, imports: object);
      readonly exports: Record<string, unknown>;
    }
    class Memory {
      constructor(descriptor: { readonly initial: number; readonly maximum?: number });
      readonly buffer: ArrayBuffer;
    }
  }
}

export {};
