// When V8 optimises the code of a `connect`: three times later than it would by itself (docs/adr/0053).

/** 132 KB by itself: so much bytecode a function runs before it is optimised. */
export const OPTIMISE_LATE = '--interrupt-budget=400000';

/** Node loads this module a third of a millisecond, so it is called behind the first answer. */
export function optimiseLate(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(OPTIMISE_LATE);
}
