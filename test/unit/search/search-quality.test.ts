import { beforeAll, describe, expect, test } from 'vitest';
import { ToolSearch } from '../../../src/search/tool-search.ts';
import { type RecordedQuestion, recordedQuestions, recordedServers } from '../../support/recorded-tools.ts';

const FIRST = 0.85;
const AMONG_FIVE = 0.97;

const servers = recordedServers();
const questions = recordedQuestions();
const search = new ToolSearch();

beforeAll(async () => {
  for (const { server, tools } of servers) await search.set(server, tools);
});

function isAmong({ question, tools }: RecordedQuestion, limit: number): boolean {
  return search.search(question, { limit }).some(({ server, tool }) => tools.includes(`${server}:${tool}`));
}

describe('the questions', () => {
  test('are many, about many servers, and a third of them is set aside', () => {
    expect(servers.length).toBeGreaterThanOrEqual(12);
    expect(questions.length).toBeGreaterThanOrEqual(120);
    for (const [i, { set }] of questions.entries()) expect(set).toBe(i % 3 === 2 ? 'held-out' : 'tuning');
  });

  test('are about tools that were recorded', () => {
    const known = new Set(servers.flatMap(({ server, tools }) => tools.map(({ name }) => `${server.name}:${name}`)));
    for (const tool of questions.flatMap(({ tools }) => tools)) expect(known).toContain(tool);
  });
});

describe.each(['tuning', 'held-out'])('of the questions of the %s set', (set) => {
  const some = questions.filter((question) => question.set === set);

  test('most have a right tool as the first answer', () => {
    expect(some.filter((one) => isAmong(one, 1)).length / some.length).toBeGreaterThanOrEqual(FIRST);
  });

  test('almost all have one among five', () => {
    expect(some.filter((one) => isAmong(one, 5)).length / some.length).toBeGreaterThanOrEqual(AMONG_FIVE);
  });
});

test('every recorded tool is found by its name', () => {
  for (const { server, tools } of servers)
    for (const { name } of tools) {
      expect(search.search(`${server.name}:${name}`)[0]).toEqual({ server: server.name, tool: name, relevance: 1 });
      const named = search.search(name, { limit: 5 });
      expect(named).toContainEqual({ server: server.name, tool: name, relevance: 1 });
    }
});
