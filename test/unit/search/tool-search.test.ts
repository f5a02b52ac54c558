import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SearchableTool } from '../../../src/search/tool-index.ts';
import { ToolSearch } from '../../../src/search/tool-search.ts';
import { deferred } from '../../../src/util/deferred.ts';

type Tool = Partial<SearchableTool> & { readonly name: string };
type Servers = Readonly<Record<string, readonly Tool[]>>;

const whole = (tool: Tool): SearchableTool => ({ parameters: [], tags: [], ...tool });

async function put(search: ToolSearch, server: string, tools: readonly Tool[], description = ''): Promise<void> {
  await search.set({ name: server, description }, tools.map(whole));
}

async function searchOver(servers: Servers, synonyms: string[][] = []): Promise<ToolSearch> {
  const search = new ToolSearch({ synonyms });
  for (const [server, tools] of Object.entries(servers)) await put(search, server, tools);
  return search;
}

/** As `server:tool`. */
function found(search: ToolSearch, query: string): string[] {
  return search.search(query).map(({ server, tool }) => `${server}:${tool}`);
}

const ISSUES: Servers = {
  github: [
    { name: 'create_issue', description: 'Create a new issue in a GitHub repository' },
    { name: 'list_issues', description: 'List issues in a GitHub repository' },
    { name: 'delete_issue', description: 'Delete an issue' },
    { name: 'create_issue_comment', description: 'Comment on an issue' },
    { name: 'listPullRequests', parameters: ['owner', 'baseBranch'] },
  ],
  linear: [{ name: 'create_issue', description: 'Create a new issue' }],
  weather: [{ name: 'forecast', title: 'Weather of the next days', tags: ['meteorology'] }],
};

describe('a question finds', () => {
  test.each([
    ['create issue github', 'github:create_issue'],
    ['linear: please open a ticket', 'linear:create_issue'],
    ['how do I file a bug report on GitHub?', 'github:create_issue'],
    ['how do I delete an issue', 'github:delete_issue'],
    ['is there a tool to create issues on GitHub', 'github:create_issue'],
    ['show me all issues', 'github:list_issues'],
    ['which issues are there', 'github:list_issues'],
    ['get rid of an issue', 'github:delete_issue'],
    ['removing issues', 'github:delete_issue'],
    ['list PRs', 'github:listPullRequests'],
    ['merge requests by base branch', 'github:listPullRequests'],
    ['foreca', 'weather:forecast'],
    ['forcast', 'weather:forecast'],
    ['ofrecast', 'weather:forecast'],
    ['meteorology', 'weather:forecast'],
    ['CREATE_ISSUE_COMMENT', 'github:create_issue_comment'],
  ])('%s: %s', async (question, tool) => {
    expect(found(await searchOver(ISSUES), question)[0]).toBe(tool);
  });

  test.each(['add numbers', 'add two numbers', 'add 2 numbers together', 'add up some numbers', 'the sum of numbers'])(
    'what adds them: %s',
    async (question) => {
      const more = [
        { name: 'get-sum', description: 'Returns the sum of two numbers', parameters: ['a', 'b'] },
        { name: 'add_comment', description: 'Add a comment with a number' },
        { name: 'list_numbers', description: 'List the phone numbers' },
      ];
      expect(found(await searchOver({ ...ISSUES, more }), question)[0]).toBe('more:get-sum');
    },
  );

  test.each([
    'Deprecated. Use read_text instead.',
    'Read a file. DEPRECATED: use read_text',
    '[deprecated] Read a file',
    'Read a file. This tool has been deprecated since 2.0.',
  ])('what is not deprecated before what says that it is: %s', async (description) => {
    const files = [
      { name: 'read_file', description },
      { name: 'read_text', description: 'Read a file as text' },
      { name: 'list_deprecated', description: 'Tell which packages are deprecated' },
    ];
    const search = await searchOver({ files });
    expect(found(search, 'read a file')[0]).toBe('files:read_text');
    expect(found(search, 'read_file')[0]).toBe('files:read_file');
    expect(found(search, 'list deprecated packages')[0]).toBe('files:list_deprecated');
  });

  test('what is written without spaces', async () => {
    const search = await searchOver({
      docs: [{ name: 'a', description: 'プロジェクトの課題を検索します' }, { name: 'b' }],
    });
    expect(found(search, '課題の検索')).toEqual(['docs:a']);
  });

  test('what only the config calls so', async () => {
    const question = 'blurb';
    expect(found(await searchOver(ISSUES), question)).toEqual([]);
    const search = await searchOver(ISSUES, [['comment', 'blurb', 'two words']]);
    expect(found(search, question)).toContain('github:create_issue_comment');
    expect(found(search, 'two words')).toContain('github:create_issue_comment');
    search.understand([]);
    expect(found(search, question)).toEqual([]);
    search.understand([['blurb', 'two words', 'comment']]);
    expect(found(search, question)).toContain('github:create_issue_comment');
  });

  test('what the server is described with', async () => {
    const search = await searchOver({ one: [{ name: 'search' }] });
    await put(search, 'two', [{ name: 'search' }], 'Everything about invoices');
    expect(found(search, 'search invoices')[0]).toBe('two:search');
  });
});

describe('a question with several wishes finds', () => {
  const TASKS: Servers = {
    ...ISSUES,
    hotels: [
      { name: 'find_rooms', description: 'Find rooms in hotels of a city' },
      { name: 'book_room', description: 'Book a room in a hotel' },
      { name: 'cancel_room', description: 'Cancel a room that was booked in a hotel' },
      { name: 'list_hotels', description: 'List the hotels of a city with their rooms' },
      { name: 'rate_hotel', description: 'Rate a hotel in a city' },
    ],
    files: [{ name: 'write_file', description: 'Write a text to a file' }],
  };

  test.each([
    'Book a hotel room in the city. Then tell me the weather of the next days.',
    'book a hotel room in the city and tell me the weather of the next days',
    'book a hotel room in the city, then the weather of the next days please',
    'book a hotel room in the city; weather of the next days',
    'book a hotel room in the city\nweather of the next days',
  ])('a tool for each, before a second one for the first: %j', async (question) => {
    expect(
      found(await searchOver(TASKS), question)
        .slice(0, 2)
        .sort(),
    ).toEqual(['hotels:book_room', 'weather:forecast']);
  });

  test('all of them among the first, also those after many words', async () => {
    const question =
      'I am planning a trip with my whole family for the first days of October, and all of us want to stay together close to the ' +
      'old centre if that is at all possible. Please book a room in a hotel of the city for us. After that, tell me the weather. ' +
      'Write a text about the trip to a file called plan. In the end, create an issue on GitHub with the title of the trip.';
    const first = found(await searchOver(TASKS), question).slice(0, 5);
    for (const tool of ['hotels:book_room', 'weather:forecast', 'files:write_file', 'github:create_issue'])
      expect(first).toContain(tool);
  });

  test('what two wishes share, once', async () => {
    const answers = found(await searchOver(TASKS), 'list the issues on GitHub and list the hotels of the city');
    expect(new Set(answers).size).toBe(answers.length);
    expect(answers.slice(0, 2).sort()).toEqual(['github:list_issues', 'hotels:list_hotels']);
  });

  test('no more with a wish for nothing', async () => {
    const search = await searchOver(TASKS);
    const question = 'book a hotel room in the city';
    expect(found(search, `${question}. Thank you very much! And also: please.`)).toEqual(found(search, question));
  });
});

describe('a question with words that no tool has', () => {
  test('has less relevant answers than one without them', async () => {
    const search = await searchOver(ISSUES);
    const [known] = search.search('list issues');
    const [unknown] = search.search('list zebras');
    expect(unknown?.relevance).toBeLessThan((known?.relevance ?? 0) * 0.9);
  });

  test('is decided by nouns, not by verbs', async () => {
    const search = await searchOver({
      papers: ['papers', 'notes', 'songs', 'maps'].map((of) => ({
        name: `search_${of}`,
        description: `Search for ${of}`,
      })),
      homes: [{ name: 'listings', description: 'Homestays and other places to stay' }],
    });
    expect(found(search, 'search for homestays in Zanzibar')[0]).toBe('homes:listings');
  });
});

describe('a path or an address in a question', () => {
  const FILES: Servers = {
    disk: [{ name: 'read_file', description: 'Read a file from the disk' }],
    papers: [{ name: 'list_papers', description: 'List the papers of a root topic' }],
    sheets: [{ name: 'read_excel', description: 'Read a sheet of an xlsx file' }],
    web: [{ name: 'fetch', description: 'Fetch the content of a URL' }],
  };

  test.each([
    ['open /root/papers/list_papers.txt', 'disk:read_file'],
    ['open ~/papers/list.txt', 'disk:read_file'],
    ['open C:\\root\\papers\\list.txt', 'disk:read_file'],
    ['open list_papers.txt', 'disk:read_file'],
    ['read /root/papers/list.xlsx', 'sheets:read_excel'],
    ['what does https://papers.example/list?of=root say', 'web:fetch'],
  ])('says what kind of thing is given, and its words say nothing: %s', async (question, tool) => {
    expect(found(await searchOver(FILES), question)[0]).toBe(tool);
  });
});

describe('the answers end', () => {
  const many = Array.from({ length: 12 }, (_, i) => ({ name: `read_page_${i}`, description: 'Read a page' }));
  const MIXED: Servers = {
    web: [...many, { name: 'print_page', description: 'Print a page on paper, with its pictures' }],
    disk: [{ name: 'delete_disk', description: 'Wipe a disk' }],
  };

  test('where the first one is sure and the rest far behind it', async () => {
    expect(found(await searchOver(MIXED), 'print a page on paper')).toEqual(['web:print_page']);
  });

  test('nowhere if somebody says how many are wanted', async () => {
    expect((await searchOver(MIXED)).search('print a page on paper', { limit: 10 })).toHaveLength(10);
  });

  test('after ten, for a question with several wishes', async () => {
    const answers = found(await searchOver(MIXED), 'print a page on paper, then wipe a disk');
    expect(answers.slice(0, 2).sort()).toEqual(['disk:delete_disk', 'web:print_page']);
    expect(answers).toHaveLength(10);
  });
});

describe('a tool is certain', () => {
  test.each(['create_issue', 'github:create_issue', 'github__create_issue', ' github create_issue '])(
    'by %s',
    async (query) => {
      const [first] = (await searchOver(ISSUES)).search(query);
      expect(first).toEqual({ server: 'github', tool: 'create_issue', relevance: 1 });
    },
  );

  test.each(['search_tools', '__proto__', 'constructor', '🙂', '***', 'a'.repeat(300), '課'])(
    'also one named %s',
    async (name) => {
      const search = await searchOver({ ...ISSUES, odd: [{ name }] });
      expect(search.search(name)[0]).toEqual({ server: 'odd', tool: name, relevance: 1 });
    },
  );
});

describe('what is asked for besides', () => {
  test('one server', async () => {
    const search = await searchOver(ISSUES);
    expect(search.search('create issue', { server: 'linear' }).map(({ server }) => server)).toEqual(['linear']);
    expect(search.search('create issue', { server: 'none' })).toEqual([]);
  });

  test.each([
    [undefined, 10],
    [3, 3],
    [2.9, 2],
    [0, 10],
    [Number.NaN, 10],
    [-1, 1],
    [1e9, 100],
    [Number.POSITIVE_INFINITY, 100],
  ])('a limit of %s: %i', async (limit, count) => {
    const tools = Array.from({ length: 200 }, (_, i) => ({ name: `look_${i}` }));
    const search = await searchOver({ many: tools });
    expect(search.search('look', { limit })).toHaveLength(count);
  });

  test('only what is accepted', async () => {
    const search = await searchOver(ISSUES);
    const accepts = (server: string): boolean => server !== 'github';
    expect(search.search('github:create_issue', { accepts }).map(({ server }) => server)).toEqual(['linear']);
    expect(search.search('create issue', { accepts, limit: 1 })).toHaveLength(1);
  });
});

describe('an answer comes to', () => {
  test.each(['', ' \n ', '🙂🙂', '.*+?[](){}|^$\\', '"\'; --', '\ud800', '\u202e\u0000'])('%j', async (query) => {
    const search = await searchOver(ISSUES);
    expect(search.search(query)).toEqual([]);
  });

  test.each(['create issue ', 'x', '🙂', '課', ' ', 'aB', '\u0301'])('1 MB of %j', async (piece) => {
    const search = await searchOver(ISSUES);
    expect(search.search(piece.repeat(2 ** 20 / piece.length)).length).toBeLessThanOrEqual(10);
  });

  test('tools without description, with a long one, with signs that nobody sees', async () => {
    const search = await searchOver({
      odd: [
        { name: 'bare' },
        { name: 'long', description: `zebra ${'word '.repeat(2 ** 18)}` },
        { name: '\u001b[31mred\u001b[0m', description: '\u202egnp\u202c', parameters: Array(100_000).fill('p') },
        { name: '' },
      ],
    });
    expect(found(search, 'zebra')).toEqual(['odd:long']);
    expect(found(search, 'red')).toEqual(['odd:\u001b[31mred\u001b[0m']);
  });
});

describe('servers that come and go', () => {
  const tools = (name: string, count: number) => Array.from({ length: count }, (_, i) => ({ name: `${name}_${i}` }));

  test('leave nothing behind, however many tools each had', async () => {
    const search = new ToolSearch();
    const sizes = [3, 40, 7, 1, 0, 25];
    for (const round of [0, 1, 2])
      for (const [i, size] of sizes.entries()) await put(search, `s${i}`, tools(`look_${i}_${round}`, size + round));
    for (const [i, size] of sizes.entries()) {
      expect(search.search('look', { server: `s${i}`, limit: 100 })).toHaveLength(size + 2);
      expect(search.search(`look_${i}_1_0`, { limit: 1 })[0]?.relevance).toBeLessThan(1);
    }
    for (const i of [1, 3, 5]) search.remove(`s${i}`);
    expect(search.search('look', { limit: 100 }).map(({ server }) => server)).not.toContain('s1');
    await put(search, 'new', tools('other', 30));
    expect(search.search('other', { limit: 100 })).toHaveLength(30);
    expect(search.search('look', { limit: 100 })).toHaveLength(5 + 9 + 2);
  });
});

describe('while an index is built', () => {
  const tools = Array.from({ length: 1000 }, (_, i) => whole({ name: `tool_${i}`, description: 'word '.repeat(100) }));

  test('others have their turn, also between many small servers', async () => {
    let turns = 0;
    const search = new ToolSearch({ yieldTurn: async () => void turns++ });
    await search.set({ name: 'big', description: '' }, tools);
    expect(turns).toBeGreaterThan(30);
    turns = 0;
    for (const [i, tool] of tools.entries()) await search.set({ name: `small-${i}`, description: '' }, [tool]);
    expect(turns).toBeGreaterThan(30);
  });

  test('what was known before is found, and the last one wins', async () => {
    const gate = deferred<void>();
    const search = new ToolSearch({ yieldTurn: () => gate.promise });
    await put(search, 's', [{ name: 'old' }]);
    const slow = search.set({ name: 's', description: '' }, tools.slice(0, 40));
    expect(found(search, 'old')).toEqual(['s:old']);
    await put(search, 's', [{ name: 'newest' }]);
    gate.resolve();
    await slow;
    expect(found(search, 'newest tool_1')).toEqual(['s:newest']);
  });

  test('a server that is removed meanwhile stays away', async () => {
    const gate = deferred<void>();
    const search = new ToolSearch({ yieldTurn: () => gate.promise });
    const slow = search.set({ name: 's', description: '' }, tools.slice(0, 40));
    search.remove('s');
    gate.resolve();
    await slow;
    expect(found(search, 'tool_1')).toEqual([]);
  });
});

describe('whatever the tools and the question', () => {
  const word = fc.constantFrom('create', 'list', 'issues', 'issue', 'getPage', 'pages', 'db', '課題', 'x1', 'deleted');
  const text = fc.oneof(
    fc.array(word, { maxLength: 5 }).map((words) => words.join(' ')),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  const tool: fc.Arbitrary<Tool> = fc.record({
    name: fc.oneof(
      fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('_')),
      text,
    ),
    description: text,
    parameters: fc.array(text, { maxLength: 3 }),
    tags: fc.array(text, { maxLength: 2 }),
  });
  const tools = fc.array(tool, { maxLength: 6 });
  const servers = fc.uniqueArray(fc.tuple(fc.oneof(word, text), tools), { selector: ([name]) => name, maxLength: 5 });

  test('the answers are sorted, between 0 and 1, and the same in whatever order the servers came and went', async () => {
    await fc.assert(
      fc.asyncProperty(servers, fc.tuple(fc.oneof(word, text), tools), text, async (some, [name, others], query) => {
        const one = new ToolSearch();
        for (const [server, list] of some) await put(one, server, list);
        const other = new ToolSearch();
        await put(other, name, others);
        for (const [server] of some) await put(other, server, others);
        for (const [server, list] of [...some].reverse()) await put(other, server, list);
        if (!some.some(([server]) => server === name)) other.remove(name);
        const answers = one.search(query);
        expect(other.search(query)).toEqual(answers);
        const relevances = answers.map(({ relevance }) => relevance);
        expect(relevances).toEqual([...relevances].sort((a, b) => b - a));
        expect(relevances.every((relevance) => relevance > 0 && relevance <= 1)).toBe(true);
      }),
    );
  });

  test('a tool is found by its name', async () => {
    await fc.assert(
      fc.asyncProperty(servers, async (some) => {
        const search = new ToolSearch();
        for (const [server, list] of some) await put(search, server, list);
        for (const [server, list] of some)
          for (const { name } of list.filter((one) => one.name === one.name.trim() && one.name !== ''))
            expect(search.search(name, { limit: 100 })).toContainEqual({ server, tool: name, relevance: 1 });
      }),
    );
  });
});
