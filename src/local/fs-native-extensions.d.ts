// The package ships no types. Only what is used.
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock of the kernel's on the open file, or returns false at once if another one holds it. */
  export function tryLock(fd: number): boolean;
}
