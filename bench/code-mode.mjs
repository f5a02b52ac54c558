// What code mode saves: ten tasks over real servers, once through single calls and once as a program. Both come to the same answer.
// Counted are the tokens that enter the context: what the model writes in calls, and what comes back. Then what a program costs in time.
//   node bench/code-mode.mjs [--build DIR]
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { RawClient, Tally } from './raw-client.mjs';
import { startDaemon } from './subjects.mjs';
import { inWorkspace, program } from './workspace.mjs';

const packageProgram = (name) => program(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** Files as a small project has them. */
function makeFiles(folder) {
  const put = (name, text) => {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  for (const month of times(6, (i) => i))
    put(
      `sales/2026-0${month + 1}.csv`,
      `day,amount\n${times(28, (day) => `${day + 1},${(month + 1) * (day + 3)}`).join('\n')}\n`,
    );
  for (const i of times(12, (i) => i))
    put(
      `src/part-${i}.js`,
      times(40, (n) => (n % (i + 5) === 0 ? `// TODO ${i}.${n}` : `export const v${n} = ${n * i};`)).join('\n'),
    );
  for (const i of times(5, (i) => i))
    put(
      `logs/app-${i}.log`,
      times(120, (n) => `2026-03-0${i + 1} ${n % 37 === 0 ? 'ERROR disk' : 'info request'} ${n}`).join('\n'),
    );
  const settings = Object.fromEntries(times(60, (i) => [`key${i}`, `value ${i}`]));
  put('config/old.json', JSON.stringify(settings, null, 2));
  put('config/new.json', JSON.stringify({ ...settings, key7: 'changed', key42: 'other', extra: 1 }, null, 2));
  put('people.txt', times(25, (i) => `Person ${i}, team ${i % 4}`).join('\n'));
}

/** Each task: the calls that it takes one by one, what is made of their answers, and the program for the same. */
function tasksIn(folder) {
  const read = (path) => ['files', 'read_text_file', { path: join(folder, path) }];
  const list = (path) => ['files', 'list_directory', { path: join(folder, path) }];
  const [sales, sources, logs] = [
    times(6, (i) => `sales/2026-0${i + 1}.csv`),
    times(12, (i) => `src/part-${i}.js`),
    times(5, (i) => `logs/app-${i}.log`),
  ];
  const dir = JSON.stringify(folder);
  const readAll = `const read = async (path) => { const { content } = await servers.files.read_text_file({ path: ${dir} + '/' + path }); return content };\n`;
  const named = `const files = async (path) => { const { content } = await servers.files.list_directory({ path: ${dir} + '/' + path }); return content.split('\\n').map((line) => line.slice(7)) };\n`;
  const sumOf = (text) =>
    text
      .trim()
      .split('\n')
      .slice(1)
      .reduce((sum, line) => sum + Number(line.split(',')[1]), 0);
  return [
    {
      title: 'add up six months of sales',
      calls: [list('sales'), ...sales.map(read)],
      answer: ([, ...texts]) => texts.reduce((sum, text) => sum + sumOf(text), 0),
      code: `${readAll}${named}let sum = 0;\nfor (const name of await files('sales')) for (const line of (await read('sales/' + name)).trim().split('\\n').slice(1)) sum += Number(line.split(',')[1]);\nreturn sum;`,
    },
    {
      title: 'the best month of six',
      calls: [list('sales'), ...sales.map(read)],
      answer: ([, ...texts]) =>
        sales[texts.map(sumOf).reduce((best, sum, i, all) => (sum > all[best] ? i : best), 0)].slice(6),
      code: `${readAll}${named}const sums = [];\nfor (const name of await files('sales')) sums.push([name, (await read('sales/' + name)).trim().split('\\n').slice(1).reduce((sum, line) => sum + Number(line.split(',')[1]), 0)]);\nreturn sums.sort((a, b) => b[1] - a[1])[0][0];`,
    },
    {
      title: 'count TODO in twelve sources',
      calls: [list('src'), ...sources.map(read)],
      answer: ([, ...texts]) => texts.join('\n').split('TODO').length - 1,
      code: `${readAll}${named}const texts = await Promise.all((await files('src')).map((name) => read('src/' + name)));\nreturn texts.join('').split('TODO').length - 1;`,
    },
    {
      title: 'errors in five logs, by day',
      calls: [list('logs'), ...logs.map(read)],
      answer: ([, ...texts]) =>
        Object.fromEntries(texts.map((text) => [text.slice(0, 10), text.split('ERROR').length - 1])),
      code: `${readAll}${named}const found = {};\nfor (const name of await files('logs')) { const text = await read('logs/' + name); found[text.slice(0, 10)] = text.split('ERROR').length - 1 }\nreturn found;`,
    },
    {
      title: 'what differs between two configs',
      calls: [read('config/old.json'), read('config/new.json')],
      answer: ([one, two]) => {
        const [a, b] = [JSON.parse(one), JSON.parse(two)];
        return Object.keys({ ...a, ...b }).filter((key) => a[key] !== b[key]);
      },
      code: `${readAll}const [a, b] = (await Promise.all([read('config/old.json'), read('config/new.json')])).map((text) => JSON.parse(text));\nreturn Object.keys({ ...a, ...b }).filter((key) => a[key] !== b[key]);`,
    },
    {
      title: 'the largest of twelve sources',
      calls: [list('src'), ...sources.map((path) => ['files', 'get_file_info', { path: join(folder, path) }])],
      answer: ([, ...infos]) =>
        sources[
          infos
            .map((text) => Number(/size: (\d+)/.exec(text)?.[1]))
            .reduce((best, size, i, all) => (size > all[best] ? i : best), 0)
        ].slice(4),
      code: `${named}let best = ['', 0];\nfor (const name of await files('src')) { const { content } = await servers.files.get_file_info({ path: ${dir} + '/src/' + name }); const size = Number(/size: (\\d+)/.exec(content)[1]); if (size > best[1]) best = [name, size] }\nreturn best[0];`,
    },
    {
      title: 'note 25 people of a file in memory',
      calls: [
        read('people.txt'),
        ...times(25, (i) => [
          'memory',
          'create_entities',
          { entities: [{ name: `Person ${i}`, entityType: 'person', observations: [`team ${i % 4}`] }] },
        ]),
      ],
      answer: () => 25,
      code: `${readAll}const people = (await read('people.txt')).split('\\n').map((line) => line.split(', '));\nfor (const [name, team] of people) await servers.memory.create_entities({ entities: [{ name, entityType: 'person', observations: [team] }] });\nreturn people.length;`,
    },
    {
      title: 'who is in team 2, from memory',
      calls: [['memory', 'read_graph', {}]],
      answer: ([graph]) =>
        JSON.parse(graph)
          .entities.filter(({ observations }) => observations.includes('team 2'))
          .map(({ name }) => name),
      code: `const { entities } = await servers.memory.read_graph({});\nreturn entities.filter(({ observations }) => observations.includes('team 2')).map(({ name }) => name);`,
    },
    {
      title: 'sum ten numbers by a tool, one by one',
      calls: times(9, (i) => ['everything', 'get-sum', { a: ((i + 1) * (i + 2)) / 2, b: i + 2 }]),
      answer: (texts) => Number(/(\d+)\.$/.exec(texts.at(-1))?.[1]),
      code: `let sum = 1;\nfor (let n = 2; n <= 10; n++) sum = Number(/(\\d+)\\.$/.exec(await servers.everything['get-sum']({ a: sum, b: n }))[1]);\nreturn sum;`,
    },
    {
      title: 'write a report of the sales',
      calls: [
        ...sales.map(read),
        [
          'files',
          'write_file',
          {
            path: join(folder, 'report.txt'),
            content: sales.map((path, i) => `${path.slice(6)}: ${406 * 0 + (i + 1) * 462}`).join('\n'),
          },
        ],
      ],
      answer: () => 6,
      code: `${readAll}${named}const lines = [];\nfor (const name of (await files('sales')).sort()) lines.push(name + ': ' + (await read('sales/' + name)).trim().split('\\n').slice(1).reduce((sum, line) => sum + Number(line.split(',')[1]), 0));\nawait servers.files.write_file({ path: ${dir} + '/report.txt', content: lines.join('\\n') });\nreturn lines.length;`,
    },
  ];
}

await inWorkspace(measure);

async function measure(workspace) {
  const folder = workspace.newPath('folder');
  mkdirSync(folder);
  makeFiles(folder);
  const node = (name, args = [], env = {}) => ({
    command: process.execPath,
    args: [packageProgram(name), ...args],
    env,
  });
  const daemon = await startDaemon(workspace, {
    servers: {
      files: node('filesystem', [folder]),
      memory: node('memory', [], { MEMORY_FILE_PATH: workspace.newPath('jsonl') }),
      everything: node('everything', ['stdio']),
      echo: { command: process.execPath, args: [program('echo-server.mjs')] },
    },
    settings: { codeMode: { enabled: true } },
  });
  const tally = new Tally();
  const client = new RawClient({ unix: daemon.path }, tally, { takesNotifications: true });
  await client.initialize({ 'mcp-bridge/view': 'discover' });
  const call = (name, args) => client.request('tools/call', { name, arguments: args });
  const textOf = ({ content }) => content.map(({ text }) => text).join('\n');

  console.log(
    '| task | calls | tokens by single calls | tokens as a program | saved |\n| --- | ---: | ---: | ---: | ---: |',
  );
  const sums = [0, 0];
  for (const { title, calls, answer, code } of tasksIn(folder)) {
    let single = 0;
    const texts = [];
    for (const [server, tool, args] of calls) {
      const asked = { server, tool, arguments: args };
      const text = textOf(await call('execute_tool', asked));
      single += countTokens(JSON.stringify(asked)) + countTokens(text);
      texts.push(text);
    }
    const asked = { code };
    const said = await call('run_code', asked);
    const result = textOf(said);
    assert.notEqual(said.isError, true, `${title}: ${result}`);
    const expected = answer(texts);
    assert.deepEqual(typeof expected === 'string' ? result : JSON.parse(result), expected, title);
    const asProgram = countTokens(JSON.stringify(asked)) + countTokens(result);
    sums[0] += single;
    sums[1] += asProgram;
    const saved = Math.round(100 * (1 - asProgram / single));
    console.log(`| ${title} | ${calls.length} | ${single} | ${asProgram} | ${saved} % |`);
  }
  console.log(`| all ten | | ${sums[0]} | ${sums[1]} | ${Math.round(100 * (1 - sums[1] / sums[0]))} % |`);

  const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1].toFixed(1);
  const timed = async (task) => {
    const begun = performance.now();
    await task();
    return performance.now() - begun;
  };
  const [echo] = [(text) => call('execute_tool', { server: 'echo', tool: 'echo', arguments: { text } })];
  const program1 = `return await servers.echo.echo({ text: 'x' })`;
  const program100 = `for (let i = 0; i < 100; i++) await servers.echo.echo({ text: 'x' }); return 1`;
  await echo('x');
  const first = await timed(() => call('run_code', { code: program1 }));
  const rows = { one: [], oneInProgram: [], hundred: [], hundredInProgram: [] };
  for (const _ of times(40, (i) => i)) {
    rows.one.push(await timed(() => echo('x')));
    rows.oneInProgram.push(await timed(() => call('run_code', { code: program1 })));
  }
  for (const _ of times(15, (i) => i)) {
    rows.hundred.push(
      await timed(async () => {
        for (let i = 0; i < 100; i++) await echo('x');
      }),
    );
    rows.hundredInProgram.push(await timed(() => call('run_code', { code: program100 })));
  }
  console.log(`\n| time, ms (median) | by the client | in a program |\n| --- | ---: | ---: |`);
  console.log(`| one call | ${median(rows.one)} | ${median(rows.oneInProgram)} (the first ${first.toFixed(0)}) |`);
  console.log(`| a hundred, one after the other | ${median(rows.hundred)} | ${median(rows.hundredInProgram)} |`);
  client.close();
}
