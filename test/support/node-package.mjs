// The packages that are a Node for this machine and nothing else; the package `node` would run a script to fetch it.

/** The name of those of this platform; each of their versions is a Node. */
export function nodePackage() {
  const name = process.platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
  return `${name}-${process.platform}-${process.arch}`;
}
