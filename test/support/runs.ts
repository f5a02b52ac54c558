// How often a random test is run: a fifth of what was found to be enough in every `make test`, all of it in `make torture`.

const SHARE = process.env.RANDOM_RUNS === 'all' ? 1 : 0.2;

export function runs(all: number): number {
  return Math.ceil(all * SHARE);
}
