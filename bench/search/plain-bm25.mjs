// Plain BM25 (k1 1.2, b 0.75) over the name, title and description of each tool: what any search engine does, for comparison.
const K1 = 1.2;
const B = 0.75;

const wordsOf = (text) =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? [];

export class PlainBm25 {
  #documents = [];
  #counts = new Map();
  #length = 0;

  constructor(servers) {
    for (const server of servers) for (const tool of server.tools) this.#add(`${server.name}:${tool.name}`, tool);
  }

  #add(id, { name, title = '', description = '' }) {
    const times = new Map();
    const words = wordsOf(`${name} ${title} ${description}`);
    for (const word of words) times.set(word, (times.get(word) ?? 0) + 1);
    for (const word of times.keys()) this.#counts.set(word, (this.#counts.get(word) ?? 0) + 1);
    this.#length += words.length;
    this.#documents.push({ id, times, length: words.length });
  }

  /** The ids of the best tools. */
  search(question, limit) {
    const words = [...new Set(wordsOf(question))];
    const scored = this.#documents.map((one) => ({ id: one.id, score: this.#score(one, words) }));
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id }) => id);
  }

  #score({ times, length }, words) {
    const size = this.#documents.length;
    const part = 1 - B + (B * length * size) / this.#length;
    return words.reduce((sum, word) => {
      const found = times.get(word) ?? 0;
      const count = this.#counts.get(word) ?? 0;
      const rarity = Math.log(1 + (size - count + 0.5) / (count + 0.5));
      return sum + (found === 0 ? 0 : (rarity * found * (K1 + 1)) / (found + K1 * part));
    }, 0);
  }
}
