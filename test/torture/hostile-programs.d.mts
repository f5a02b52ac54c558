export type HostileProgram = readonly [name: string, code: string, outcome: 'answer' | 'error' | 'limit'];
export const FORGED_WORDS: string;
export const HOSTILE_PROGRAMS: readonly HostileProgram[];
export const QUICK: readonly HostileProgram[];
export function faultOf(program: HostileProgram, answer: object): string | undefined;
export const HONEST: string;
export function faultAfter(program: HostileProgram, answer: object): string | undefined;
