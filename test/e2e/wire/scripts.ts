// What is said to each server.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/test-daemon.ts';
import { ask, call, oddId, plainId, type Script, spelledOut, tell } from './script.ts';
import { type Start, startProgram } from './tap.ts';

const CAPABILITIES =
  '{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"experimental":{"wire/x":{"n":1.0}}}';

const ANSWERS = {
  'elicitation/create': [
    '"result":{"action":"accept","content":{"n":1.0,"s":"caf\\u00e9","name":"Ada"},"_meta":{"wire/kept":1.0},"x-more":[1e2]}',
    '"result":{"action":"decline"},"x-more":1.0',
  ],
  'sampling/createMessage': [
    '"result":{"role":"assistant","content":{"type":"text","text":"\\u00e9 said"},"model":"m","stopReason":"endTurn","x-more":1.0}',
    '"error":{"code":-1.0e0,"message":"Not now \\u00e9","data":{"n":1.0}}',
  ],
  'roots/list': ['"result":{"roots":[{"uri":"file:///tmp/caf%C3%A9","name":"\\u00e9","x-more":1.0}]}'],
};

/** What is said to the server that spells everything in its own way. */
export const ODD: Script = {
  idOf: oddId,
  capabilities: CAPABILITIES,
  answers: ANSWERS,
  steps: [
    ask('tools/list'),
    ask('tools/list', '{"cursor":"p2 \\u00e9"}'),
    ask('prompts/list'),
    ask('prompts/list', '{"cursor":"2"}'),
    ask('resources/list'),
    ask('resources/templates/list'),
    call('plain', '{"n":1.0,"u":"\\u00e9","e":1e2,"big":9007199254740993,"none":null,"deep":{"b":1,"a":[ 1 , 2 ]}}'),
    spelledOut(
      ' { "params" : { "arguments":{"text" : "\\u00e9","n":1.0}, "_meta":{ "wire\\/more":1.0 ,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",«meta»}, "x-more":[ ], "name":"plain" } ,"x-first":[ 1.0 ], "id" : «id» , "jsonrpc":"2.0", "method" :"tools/call" }  ',
    ),
    call('fails'),
    call('nothing'),
    call('refuses', '{"a":{}}'),
    call('long', '{}'),
    call('no-such-tool'),
    call('works', '{"n":-0}', { meta: '"progressToken":"t\\u00e9-1"', waitsFor: ['notifications/progress'] }),
    call('works', '{}', { meta: '"progressToken":17,"wire/more":{"b":1,"a":2}' }),
    call('asks', '{"x":1.0}', { waitsFor: ['elicitation/create'] }),
    call('declines', '{}', { waitsFor: ['elicitation/create'] }),
    call('samples', '{}', { waitsFor: ['sampling/createMessage'] }),
    call('samples', '{}', { waitsFor: ['sampling/createMessage'] }),
    call('roots', '{}', { waitsFor: ['roots/list'] }),
    ask('prompts/get', '{"name":"first","arguments":{"a":"\\u00e9"}}'),
    ask('resources/read', '{"uri":"odd://a","x-more":1.0}'),
    ask('resources/read', '{"uri":"odd://nowhere"}'),
    ask(
      'completion/complete',
      '{"ref":{"type":"ref/prompt","name":"first"},"argument":{"name":"a","value":"\\u00e9"},"context":{"arguments":{"b":"1.0"}}}',
    ),
    ask('logging/setLevel', '{"level":"notice"}'),
    call('logs', '{}', { waitsFor: ['notifications/message'] }),
    ask('resources/subscribe', '{"uri":"odd://a"}', { waitsFor: ['notifications/resources/updated'] }),
    ask('resources/unsubscribe', '{"uri":"odd://a"}'),
    call('slow', '{}', { meta: '"progressToken":"slow"', cancelAt: 'notifications/progress' }),
    call('changes', '{}', { waitsFor: ['notifications/resources/list_changed'] }),
    tell('notifications/wire/unknown', '{"n":1.0,"_meta":{"wire/step":0}}'),
    ask('no/such\\u002fmethod', '{"n":1.0}'),
    ask('wire/unknown', '{"n":1.0,"u":"\\u00e9"}'),
    call('plain', '{"last":true}'),
  ],
};

/** What both eras have, said in one way. A client of 2026 cannot answer a question with an error. */
const ONLY_RESULTS = {
  ...ANSWERS,
  'sampling/createMessage': [ANSWERS['sampling/createMessage'][0] ?? ''],
};

/** A client of 2026 has no notifications of its own but `cancelled`. */
/** What is said in both eras of what is said in one. */
export const inBoth = (script: Script): Script => ({
  ...script,
  answers: ONLY_RESULTS,
  steps: script.steps.filter(({ line }) => !OF_2025_ALONE.test(line)),
});

const OF_2025_ALONE =
  /"(logging\/setLevel|resources\/(un)?subscribe|tasks\/list|notifications\/(wire\/unknown|roots\/list_changed))"|"name":"(changes|logs)"/;

/** What is said across the eras: without what one of them has alone. */
export const ODD_IN_BOTH: Script = inBoth(ODD);

const LISTEN = ask('subscriptions/listen', '{"notifications":{"resourcesListChanged":true,"toolsListChanged":true}}', {
  waitsFor: ['notifications/subscriptions/acknowledged'],
  isOpen: true,
});

/** What is said where both sides are of 2026. */
export const ODD_IN_2026: Script = {
  ...ODD_IN_BOTH,
  steps: [
    ...ODD_IN_BOTH.steps,
    call('works', '{}', { meta: '"progressToken":"log","io.modelcontextprotocol/logLevel":"info"' }),
    LISTEN,
    call('changes', '{}', { waitsFor: ['notifications/resources/list_changed'] }),
    call('plain', '{"last":2}'),
  ],
};

export interface Real {
  readonly name: string;
  readonly script: Script;
  /** Puts everything as it is at the start of each conversation. */
  prepare(dir: string): void;
  start(dir: string): Start;
}

const program = (name: string): string => join(ROOT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');

const everything: Real = {
  name: 'everything',
  prepare: () => undefined,
  start: () => startProgram({ args: [program('server-everything'), 'stdio'] }),
  script: {
    idOf: plainId,
    capabilities: CAPABILITIES,
    answers: ANSWERS,
    // It asks for the roots of the client by itself, and logs that it has them.
    atFirst: ['roots/list', 'notifications/message'],
    steps: [
      ask('tools/list'),
      ask('prompts/list'),
      ask('resources/list'),
      ask('resources/templates/list'),
      call('echo', '{"message":"h\\u00e4llo \\"漢字\\" 🙂 \\\\ \\u0001"}'),
      call('get-sum', '{"a":0.1,"b":1e21}'),
      call('get-annotated-message', '{"messageType":"error","includeImage":true}'),
      call('get-env'),
      call('get-resource-links', '{"count":4}'),
      call('get-resource-reference', '{"resourceType":"Text","resourceId":2}'),
      call('get-resource-reference', '{"resourceType":"Blob","resourceId":2}'),
      call('get-structured-content', '{"location":"Chicago"}'),
      call('get-tiny-image'),
      call('get-roots-list'),
      call('gzip-file-as-resource', '{"name":"x.gz","data":"data:text/plain,hello","outputType":"resource"}'),
      call('trigger-long-running-operation', '{"duration":0.2,"steps":2}', {
        meta: '"progressToken":"op"',
        waitsFor: ['notifications/progress', 'notifications/progress'],
      }),
      call('trigger-elicitation-request', '{}', { waitsFor: ['elicitation/create'] }),
      call('trigger-sampling-request', '{"prompt":"caf\\u00e9","maxTokens":7}', {
        waitsFor: ['sampling/createMessage'],
      }),
      call('trigger-sampling-request', '{"prompt":"no"}', { waitsFor: ['sampling/createMessage'] }),
      call('no-such-tool'),
      call('echo', '{"wrong":true}'),
      ask('prompts/get', '{"name":"simple-prompt"}'),
      ask('prompts/get', '{"name":"args-prompt","arguments":{"city":"Bern","state":"BE"}}'),
      ask('prompts/get', '{"name":"args-prompt"}'),
      ask('prompts/get', '{"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"1"}}'),
      ask(
        'completion/complete',
        '{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}',
      ),
      ask('resources/read', '{"uri":"demo://resource/static/document/architecture.md"}'),
      ask('resources/read', '{"uri":"demo://resource/dynamic/text/7"}'),
      ask('resources/read', '{"uri":"demo://nowhere"}'),
      ask('resources/subscribe', '{"uri":"demo://resource/dynamic/text/7"}', { waitsFor: ['notifications/message'] }),
      ask('resources/unsubscribe', '{"uri":"demo://resource/dynamic/text/7"}', { waitsFor: ['notifications/message'] }),
      tell('notifications/roots/list_changed', undefined, ['roots/list', 'notifications/message']),
      ask('logging/setLevel', '{"level":"error"}'),
      ask('tasks/list'),
      ask('no/such/method'),
      call('get-sum', '{"a":1,"b":2}'),
    ],
  },
};

const filesystem: Real = {
  name: 'filesystem',
  prepare: (dir) => {
    const files = join(dir, 'files');
    rmSync(files, { recursive: true, force: true });
    mkdirSync(files);
    writeFileSync(join(files, 'big.txt'), 'line with "quotes" and \\ and ü\n'.repeat(5000));
    writeFileSync(join(files, 'dot.png'), Buffer.from('iVBORw0KGgo=', 'base64'));
  },
  start: (dir) => startProgram({ args: [program('server-filesystem'), join(dir, 'files')], cwd: dir }),
  script: { idOf: plainId, capabilities: '{}', answers: {}, steps: [] },
};

const filesystemIn = (dir: string): Real => {
  const at = (...names: string[]): string => JSON.stringify(join(dir, 'files', ...names));
  const steps = [
    ask('tools/list'),
    ask('resources/list'),
    call('list_allowed_directories'),
    call('write_file', `{"path":${at('new.txt')},"content":"a\\nb\\u00e9\\n"}`),
    call('read_text_file', `{"path":${at('big.txt')}}`),
    call('read_text_file', `{"path":${at('new.txt')},"head":1}`),
    call('read_media_file', `{"path":${at('dot.png')}}`),
    call('read_multiple_files', `{"paths":[${at('new.txt')},${at('none.txt')}]}`),
    call('edit_file', `{"path":${at('new.txt')},"edits":[{"oldText":"a","newText":"c"}],"dryRun":true}`),
    call('list_directory', `{"path":${at()}}`),
    call('directory_tree', `{"path":${at()}}`),
    call('search_files', `{"path":${at()},"pattern":"*.txt"}`),
    call('read_text_file', '{"path":"/etc/passwd"}'),
    call('create_directory', `{"path":${at('sub')}}`),
    call('move_file', `{"source":${at('new.txt')},"destination":${at('sub', 'moved.txt')}}`),
    call('get_file_info', '{"path":1.0}'),
  ];
  return { ...filesystem, script: { idOf: plainId, capabilities: '{}', answers: {}, steps } };
};

const memory: Real = {
  name: 'memory',
  prepare: (dir) => rmSync(join(dir, 'memory.jsonl'), { force: true }),
  start: (dir) =>
    startProgram({ args: [program('server-memory')], env: { MEMORY_FILE_PATH: join(dir, 'memory.jsonl') } }),
  script: {
    idOf: plainId,
    capabilities: '{}',
    answers: {},
    steps: [
      ask('tools/list'),
      ask('resources/list'),
      ask('resources/subscribe', '{"uri":"memory://knowledge-graph"}'),
      call(
        'create_entities',
        '{"entities":[{"name":"Ada","entityType":"person","observations":["caf\\u00e9"]},{"name":"Bob","entityType":"person","observations":[]}]}',
        { waitsFor: ['notifications/resources/updated'] },
      ),
      call('create_relations', '{"relations":[{"from":"Ada","to":"Bob","relationType":"knows"}]}', {
        waitsFor: ['notifications/resources/updated'],
      }),
      ask('resources/unsubscribe', '{"uri":"memory://knowledge-graph"}'),
      call('add_observations', '{"observations":[{"entityName":"Ada","contents":["\\u2028","1.0"]}]}'),
      call('add_observations', '{"observations":[{"entityName":"Nobody","contents":["x"]}]}'),
      call('search_nodes', '{"query":"caf\\u00e9"}'),
      call('open_nodes', '{"names":["Ada"]}'),
      ask('resources/read', '{"uri":"memory://knowledge-graph"}'),
      call('delete_entities', '{"entityNames":["Bob"]}'),
      call('read_graph'),
    ],
  },
};

const thought = (number: number, rest = ''): string =>
  `{"thought":"caf\\u00e9 ${number}","nextThoughtNeeded":true,"thoughtNumber":${number},"totalThoughts":3${rest}}`;

const sequentialThinking: Real = {
  name: 'sequential-thinking',
  prepare: () => undefined,
  start: () => startProgram({ args: [program('server-sequential-thinking')] }),
  script: {
    idOf: plainId,
    capabilities: '{"roots":{}}',
    answers: ANSWERS,
    steps: [
      ask('tools/list'),
      call('sequentialthinking', thought(1)),
      call('sequentialthinking', thought(2, ',"isRevision":true,"revisesThought":1')),
      call('sequentialthinking', thought(3, ',"branchFromThought":1,"branchId":"b\\u00e9"')),
      call('sequentialthinking', '{"thought":1.0}'),
      ask('prompts/list'),
    ],
  },
};

/** The same for a client of 2026. It answers nothing outside a call, so it has no roots to tell. */
export const realServersInBoth = (dir: string): readonly Real[] =>
  realServers(dir).map((real) => {
    const { atFirst: _, ...script } = inBoth(real.script);
    const capabilities = script.capabilities.replace('"roots":{"listChanged":true},', '').replace('"roots":{}', '');
    const steps = script.steps.map((step) =>
      /"resources\/updated"/.test(step.waitsFor.join())
        ? step
        : { ...step, waitsFor: step.waitsFor.filter((method) => !OUTSIDE_A_CALL.test(method)) },
    );
    return { ...real, script: { ...script, capabilities, steps } };
  });

/** What a client of 2026 gets by subscription alone. */
const OUTSIDE_A_CALL = /^notifications\/(resources|message)/;

const two = (eras: string): Start => startProgram({ args: [join(ROOT, 'test/fixtures/servers/two-eras.mjs'), eras] });

/** The SDK's server of 2026, and what is said to it. */
export const SDK_2026 = {
  start: two('only-2026'),
  script: {
    idOf: plainId,
    capabilities: CAPABILITIES,
    answers: {
      ...ONLY_RESULTS,
      'elicitation/create': [
        '"result":{"action":"accept","content":{"answer":"caf\\u00e9","first":"Ada","last":"L","name":"Bob"}}',
      ],
    },
    steps: [
      ask('tools/list'),
      ask('prompts/list'),
      ask('resources/list'),
      ask('resources/templates/list'),
      call('echo', '{"text":"caf\\u00e9 1.0"}'),
      call('add', '{"a":1.0,"b":1e2}'),
      call('progress', '{"steps":2}', {
        meta: '"progressToken":"p"',
        waitsFor: ['notifications/progress', 'notifications/progress'],
      }),
      call('confirm', '{"what":"it"}'),
      call('both_names'),
      call('rounds', '{"count":2}'),
      call('sample', '{"text":"say"}'),
      call('roots'),
      call('visit', '{"url":"https://example.com/caf\\u00e9"}'),
      call('refuse', '{"code":-4711}'),
      call('nothing-of-that-name'),
      ask('prompts/get', '{"name":"greet","arguments":{"name":"caf\\u00e9"}}'),
      ask('prompts/get', '{"name":"ask"}'),
      ask('resources/read', '{"uri":"note://one"}'),
      call('echo', '{"text":"last"}'),
    ],
  } satisfies Script,
};

/** A published server of both eras. Its service is where nobody listens, so it says what is missing. */
export const CONTEXT7 = {
  start: startProgram({
    args: [join(ROOT, 'node_modules/@upstash/context7-mcp/dist/index.js')],
    env: { CONTEXT7_API_URL: 'http://127.0.0.1:9/api' },
  }),
  script: {
    idOf: plainId,
    capabilities: CAPABILITIES,
    answers: ONLY_RESULTS,
    steps: [
      ask('tools/list'),
      ask('prompts/list'),
      ask('resources/list'),
      call('resolve-library-id', '{"query":"caf\\u00e9","libraryName":"vitest"}'),
      call('resolve-library-id', '{"libraryName":1.0}'),
      call('no-such-tool'),
    ],
  } satisfies Script,
};

export const realServers = (dir: string): readonly Real[] => [
  everything,
  filesystemIn(dir),
  memory,
  sequentialThinking,
];
