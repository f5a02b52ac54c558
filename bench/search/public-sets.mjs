// Public sets of tools and questions, if they are there: in MCP_BRIDGE_SEARCH_SETS, else in ../shared/search-sets beside the
// project. They are data for measuring, and nothing of them goes into the product.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const USUAL = fileURLToPath(new URL('../../../shared/search-sets', import.meta.url));

/** The directory with the sets; undefined if there is none. */
export function setsDirectory() {
  const dir = process.env.MCP_BRIDGE_SEARCH_SETS ?? USUAL;
  return existsSync(dir) ? dir : undefined;
}

/** Of { name, servers, questions }; a question is right with one tool of each of its groups. */
export function publicSets(dir) {
  return readdirSync(dir)
    .filter((name) => existsSync(join(dir, name, 'questions.json')))
    .sort()
    .map((name) => ({
      name,
      servers: readJson(dir, name, 'servers.json').map(searchable),
      questions: readJson(dir, name, 'questions.json').map((one) => ({ ...one, groups: one.groups ?? [one.tools] })),
    }));
}

const readJson = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));

function searchable({ name, description = '', tools }) {
  return {
    name,
    description,
    tools: tools.map(({ name, title, description, inputSchema }) => ({
      name,
      title,
      description,
      parameters: Object.keys(inputSchema?.properties ?? {}),
      tags: [],
    })),
  };
}
