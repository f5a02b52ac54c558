// The recorded tools as the search takes them, and many more made of them: copies of every server, in which a part of the
// words is another one, the same in every run.
import { readdirSync, readFileSync } from 'node:fs';

const DIR = new URL('tools/', import.meta.url);
const QUESTIONS = new URL('../search-quality.json', import.meta.url);
const OTHER_WORDS = 20_000;
const CHANGED = 0.2;

const readJson = (url) => JSON.parse(readFileSync(url, 'utf8'));

/** Of { question, tools: ['server:tool'], set: 'tuning' | 'held-out' }. */
export const questions = () => readJson(QUESTIONS);

/** Of { name, description, tools }. */
export function recordedServers() {
  const files = readdirSync(DIR).sort();
  return files
    .map((file) => readJson(new URL(file, DIR)))
    .map(({ name, tools }) => ({
      name,
      description: '',
      tools: tools.map(searchable),
    }));
}

function searchable({ name, title, description, inputSchema }) {
  return { name, title, description, parameters: Object.keys(inputSchema?.properties ?? {}), tags: [] };
}

export function manyServers(count) {
  const random = seeded(1);
  const recorded = recordedServers();
  const servers = [];
  for (let copy = 0, made = 0; made < count; copy++)
    for (const server of recorded) {
      const tools = server.tools.slice(0, count - made).map((tool) => changed(tool, random));
      servers.push({ ...server, name: `${server.name}-${copy}`, tools });
      made += tools.length;
    }
  return servers;
}

function changed(tool, random) {
  const change = (text) => text?.replace(/[a-z]{3,}/gi, (word) => (random() < CHANGED ? otherWord(random) : word));
  return { ...tool, name: change(tool.name), description: change(tool.description) };
}

function otherWord(random) {
  let rest = Math.floor(random() ** 2 * OTHER_WORDS);
  let word = '';
  for (; rest > 0 || word.length < 4; rest = Math.floor(rest / 12))
    word += 'bdfgklmnprst'[rest % 12] + 'aeiou'[rest % 5];
  return word;
}

/** mulberry32 */
function seeded(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
