// A server that says everything in a spelling of its own: numbers like 1.0, escapes where none are needed, white space,
// members that nobody knows, in an order that nobody expects. A bridge that reads and writes messages would lose them.

import { duplexPair } from 'node:stream';
import { extended, spelled } from './json-places.ts';
import { endsOf, type Start } from './tap.ts';

const INITIALIZED = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},"experimental":{"odd/x":{"n":1.0}}},"serverInfo":{"name":"odd","title":"Odd \\u00e9","version":"1.0","websiteUrl":"https:\\/\\/odd.example"},"instructions":"Say \\"please\\".\\nTwice, caf\\u00e9.","x-more":[1e2]}`;

const DISCOVERED = `{"x-more":[1e2],"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},"extensions":{"odd/x":{"n":1.0}}},"instructions":"Say \\"please\\".\\nTwice, caf\\u00e9."}`;
const SERVER_INFO = '"io.modelcontextprotocol/serverInfo":{"name":"odd","title":"Odd \\u00e9","version":"1.0"}';
const CACHED = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]);

const ICON = '{"src":"data:image\\/png;base64,AA==","sizes":["16x16"]}';
const PLAIN_TOOL = `{"title":"Plain \\u00e9","name":"plain","description":"Says \\"é\\" \\u2028","inputSchema":{"type":"object","properties":{"n":{"type":"number","default":1.0}},"x-schema":1e2},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false},"icons":[${ICON}],"_meta":{"odd/kept":1.0},"x-more":null}`;
const NAMES = [
  'fails',
  'refuses',
  'works',
  'asks',
  'declines',
  'samples',
  'roots',
  'nothing',
  'long',
  'slow',
  'logs',
  'changes',
];
const otherTool = (name: string): string =>
  `{"name":"${name}","inputSchema":{"type":"object"},"annotations":{"destructiveHint":false}}`;

/** Results by method. */
const RESULTS: Readonly<Record<string, string>> = {
  'prompts/get': `{"description":"A prompt \\u00e9","messages":[{"role":"user","content":{"type":"text","text":"one"}},{"role":"assistant","content":{"type":"text","text":"two","annotations":{"priority":0.50}}}],"x-more":1.0}`,
  'resources/list': `{"resources":[{"uri":"odd://a","name":"a","size":1.0,"mimeType":"text/plain","annotations":{"lastModified":"2025-01-01T00:00:00Z"},"x-more":true},{"uri":"odd://b\\u00e9","name":"b"}]}`,
  'resources/templates/list': `{"resourceTemplates":[{"uriTemplate":"odd://{id}\\/x","name":"t","description":"é"}],"x-more":{}}`,
  'completion/complete': `{"completion":{"values":["a","\\u00e9"],"total":2.0,"hasMore":false}}`,
  'logging/setLevel': '{}',
  'resources/unsubscribe': '{}',
};

const TEXTS: Readonly<Record<string, string>> = {
  plain: `{"content":[{"type":"text","text":"caf\\u00e9 é \\/ done","annotations":{"audience":["user"],"priority":1.0}},{"type":"image","data":"AAECAw==","mimeType":"image/png"}],"structuredContent":{"n":1.0,"big":9007199254740993,"e":1e2,"neg":-0,"none":null,"list":[],"deep":{"a":1,"b":2}},"isError":false,"_meta":{"odd/kept":[1,2]},"x-more":{"a":1,"b":2}}`,
  fails: '{"isError":true,"content":[{"type":"text","text":"It failed: \\u26a0"}]}',
  nothing: '{"content":[]}',
  long: `{"content":[{"type":"text","text":"${'caf\\u00e9 "x" \\n'.replaceAll('"x"', '\\"x\\"').repeat(400)}"}]}`,
  works: '{"content":[{"type":"text","text":"worked"}]}',
  logs: '{"content":[{"type":"text","text":"logged"}]}',
};

const QUESTIONS: Readonly<Record<string, readonly [method: string, params: string | undefined]>> = {
  asks: [
    'elicitation/create',
    `{"message":"Which \\u00e9?","requestedSchema":{"type":"object","properties":{"n":{"type":"number","minimum":1.0},"s":{"type":"string","enum":["a","b"],"x-more":1e2}},"required":["n"]},"_meta":{"odd/kept":1.0},"x-more":[]}`,
  ],
  declines: ['elicitation/create', '{"message":"Really?","requestedSchema":{"type":"object","properties":{}}}'],
  samples: [
    'sampling/createMessage',
    '{"messages":[{"role":"user","content":{"type":"text","text":"Say \\u00e9"}}],"maxTokens":100.0,"temperature":0.70,"metadata":{"x":1.0}}',
  ],
  roots: ['roots/list', undefined],
};

export type Era = '2025-11-25' | '2026-07-28';

/** What `input_required` is said with: the key and the state are the server's own. */
const KEY = 'k é';
const STATE = '"st\\u00e9 \\/ 1.0"';

class OddServer {
  readonly #write: (line: string) => void;
  readonly #era: Era;
  /** The ids of open subscriptions, as they are spelled. */
  readonly #listening: string[] = [];
  /** What is done with the answer to a question, by the question's id. */
  readonly #open = new Map<string, (answer: string) => void>();
  #questions = 0;

  constructor(write: (line: string) => void, era: Era) {
    this.#write = write;
    this.#era = era;
  }

  take(line: string): void {
    const id = spelled(line, ['id']);
    const method = spelled(line, ['method'])?.slice(1, -1);
    if (method !== undefined) {
      if (id !== undefined) this.#request(id, method, line);
      return;
    }
    this.#open.get(id ?? '')?.(line);
    this.#open.delete(id ?? '');
  }

  #answer(id: string, result: string, method = ''): void {
    const whole = this.#era === '2025-11-25' ? result : completed(result, method);
    this.#write(` {"x-first":1.0, "result" :${whole}, "id":${id} ,"jsonrpc":"2.0","x-last":[ ]}`);
  }

  #fail(id: string, code: string, message: string, data: string): void {
    this.#write(
      `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"${message}","data":${data},"x-more":1.0}}`,
    );
  }

  #tell(method: string, params?: string): void {
    this.#write(
      `{"jsonrpc":"2.0","method":"${method}"${params === undefined ? '' : `,"params":${params}`},"x-more":1.0}`,
    );
  }

  #request(id: string, method: string, line: string): void {
    if (method === 'initialize' && this.#era === '2025-11-25') return this.#answer(id, INITIALIZED);
    if (method === 'server/discover' && this.#era === '2026-07-28') return this.#answer(id, DISCOVERED, method);
    if (method === 'ping' && this.#era === '2025-11-25') return this.#answer(id, '{}');
    if (method === 'tools/list') return this.#answer(id, toolsOn(spelled(line, ['params', 'cursor'])), method);
    if (method === 'prompts/list') return this.#answer(id, promptsOn(spelled(line, ['params', 'cursor'])), method);
    if (method === 'tools/call') return this.#call(id, line);
    if (method === 'resources/read') return this.#read(id, spelled(line, ['params', 'uri']) ?? '');
    if (method === 'subscriptions/listen' && this.#era === '2026-07-28') return this.#listen(id, line);
    if (method === 'resources/subscribe' && this.#era === '2025-11-25') {
      this.#answer(id, '{}');
      return this.#tell('notifications/resources/updated', `{"uri":${spelled(line, ['params', 'uri'])},"x-more":1.0}`);
    }
    const result = RESULTS[method];
    const isKnown = result !== undefined && (this.#era === '2025-11-25' || result !== '{}');
    if (!isKnown) return this.#fail(id, '-32601', `No method caf\\u00e9`, '{"x":1.0,"y":[null]}');
    this.#answer(id, result, method);
  }

  /** Confirms all that is wanted. */
  #listen(id: string, line: string): void {
    this.#listening.push(id);
    const wanted = spelled(line, ['params', 'notifications']) ?? '{}';
    const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}`;
    this.#tell('notifications/subscriptions/acknowledged', `{"notifications":${wanted},${tag}}`);
  }

  #read(id: string, uri: string): void {
    if (uri !== '"odd://a"') return this.#fail(id, '-32002', 'Not there', `{"uri":${uri}}`);
    const contents = `{"uri":${uri},"mimeType":"text/plain","text":"a\\u00e9"},{"uri":${uri},"blob":"AAECAw==","x-more":1.0}`;
    this.#answer(id, `{"contents":[${contents}]}`, 'resources/read');
  }

  #call(id: string, line: string): void {
    const name = spelled(line, ['params', 'name'])?.slice(1, -1) ?? '';
    const token = spelled(line, ['params', '_meta', 'progressToken']);
    if (name === 'refuses')
      return this.#fail(id, '-4711', 'Refused \\u00e9', '{"why":{"n":1.0,"u":"\\u00e9"},"b":1,"a":2}');
    if (name === 'works' && token !== undefined) {
      this.#progress(token, '0.50', '"half \\u00e9"');
      this.#log(line, '{"level":"notice","logger":"odd \\u00e9","data":{"n":1.0,"list":[1,2]}}');
      this.#progress(token, '1.0', '"all"');
    }
    if (name === 'slow' && token !== undefined) return this.#progress(token, '1.0', '"one"');
    if (name === 'logs') this.#log(line, '{"level":"error","data":"caf\\u00e9"}');
    if (name === 'changes') {
      this.#answer(id, '{"content":[]}');
      if (this.#era === '2025-11-25') return this.#tell('notifications/resources/list_changed');
      for (const listening of this.#listening)
        this.#tell(
          'notifications/resources/list_changed',
          `{"_meta":{"io.modelcontextprotocol/subscriptionId":${listening}}}`,
        );
      return;
    }
    const question = QUESTIONS[name];
    if (question !== undefined)
      return this.#era === '2025-11-25' ? this.#ask(id, ...question) : this.#require(id, line, ...question);
    const result = TEXTS[name];
    if (result === undefined) return this.#fail(id, '-32602', 'Unknown tool', `{"name":"${name}"}`);
    this.#answer(id, result);
  }

  /** Asks by the answer; says in the end what came. */
  #require(id: string, line: string, method: string, params: string | undefined): void {
    const came = spelled(line, ['params', 'inputResponses', KEY]);
    if (came !== undefined && spelled(line, ['params', 'requestState']) === STATE)
      return this.#answer(id, `{"content":[{"type":"text","text":${JSON.stringify(came)}}]}`);
    const question = `{"method":"${method}"${params === undefined ? '' : `, "params":${params}`}}`;
    const result = `{"requestState" :${STATE},"inputRequests":{"${KEY}":${question}},"x-more":1.0,"resultType":"input_required"}`;
    this.#write(`{"jsonrpc":"2.0","result":${result},"id":${id}}`);
  }

  /** In the era of 2026 only for requests that want it. */
  #log(line: string, params: string): void {
    const isWanted = spelled(line, ['params', '_meta', 'io.modelcontextprotocol/logLevel']) !== undefined;
    if (isWanted || this.#era === '2025-11-25') this.#tell('notifications/message', params);
  }

  #progress(token: string, progress: string, message: string): void {
    const params = `{"total":2.0,"progressToken":${token},"progress":${progress},"message":${message},"x-more":[1.0]}`;
    this.#tell('notifications/progress', params);
  }

  /** The result says what came, as a text that has no id in it. */
  #ask(id: string, method: string, params: string | undefined): void {
    const own = `"q\\u00e9-${++this.#questions}"`;
    this.#open.set(own, (answer) => {
      const came = spelled(answer, ['result']) ?? spelled(answer, ['error']) ?? 'nothing';
      this.#answer(id, `{"content":[{"type":"text","text":${JSON.stringify(came)}}]}`);
    });
    this.#write(
      `{"id":${own},"method":"${method}"${params === undefined ? '' : `, "params":${params}`},"jsonrpc":"2.0","x-more":1.0}`,
    );
  }
}

/** A result with what its era wants, in places of its own. */
function completed(result: string, method: string): string {
  const hints = CACHED.has(method) ? '"cacheScope":"private","ttlMs":0,' : '';
  const meta =
    spelled(result, ['_meta']) === undefined
      ? extended(result, [], `"_meta":{${SERVER_INFO}}`)
      : extended(result, ['_meta'], SERVER_INFO);
  return `{${hints}"resultType" :"complete",${meta.slice(1)}`;
}

function toolsOn(cursor: string | undefined): string {
  if (cursor === undefined) return `{"x-more":1.0,"tools":[${PLAIN_TOOL}],"nextCursor":"p2 \\u00e9"}`;
  return `{"tools":[${NAMES.map(otherTool).join(', ')}]}`;
}

function promptsOn(cursor: string | undefined): string {
  if (cursor !== undefined) return '{"prompts":[{"name":"second","x-more":1.0}]}';
  const argument = '{"name":"a","required":true,"x-more":1e2}';
  return `{"prompts":[{"name":"first","title":"\\u00e9","arguments":[${argument}]}],"nextCursor":"2","_meta":{"odd/kept":1.0}}`;
}

/** Starts one that speaks one era alone. */
export const startOddOf =
  (era: Era): Start =>
  () => {
    const [ours, theirs] = duplexPair();
    const server = new OddServer((line) => ours.write(`${line}\n`), era);
    let rest = '';
    ours.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) server.take(line);
    });
    ours.on('end', () => ours.end());
    return {
      ends: endsOf(theirs),
      stop: () => {
        ours.destroy();
        theirs.destroy();
        return Promise.resolve();
      },
    };
  };

export const startOdd = startOddOf('2025-11-25');
