// A server that says everything in a spelling of its own: numbers like 1.0, escapes where none are needed, white space,
// members that nobody knows, in an order that nobody expects. A bridge that reads and writes messages would lose them.

import { duplexPair } from 'node:stream';
import { spelled } from './json-places.ts';
import { endsOf, type Start } from './tap.ts';

const INITIALIZED = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"subscribe":true,"listChanged":true},"logging":{},"completions":{},"experimental":{"odd/x":{"n":1.0}}},"serverInfo":{"name":"odd","title":"Odd \\u00e9","version":"1.0","websiteUrl":"https:\\/\\/odd.example"},"instructions":"Say \\"please\\".\\nTwice, caf\\u00e9.","x-more":[1e2]}`;

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

class OddServer {
  readonly #write: (line: string) => void;
  /** What is done with the answer to a question, by the question's id. */
  readonly #open = new Map<string, (answer: string) => void>();
  #questions = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
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

  #answer(id: string, result: string): void {
    this.#write(` {"x-first":1.0, "result" :${result}, "id":${id} ,"jsonrpc":"2.0","x-last":[ ]}`);
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
    if (method === 'initialize') return this.#answer(id, INITIALIZED);
    if (method === 'ping') return this.#answer(id, '{}');
    if (method === 'tools/list') return this.#answer(id, toolsOn(spelled(line, ['params', 'cursor'])));
    if (method === 'prompts/list') return this.#answer(id, promptsOn(spelled(line, ['params', 'cursor'])));
    if (method === 'tools/call') return this.#call(id, line);
    if (method === 'resources/read') return this.#read(id, spelled(line, ['params', 'uri']) ?? '');
    if (method === 'resources/subscribe') {
      this.#answer(id, '{}');
      return this.#tell('notifications/resources/updated', `{"uri":${spelled(line, ['params', 'uri'])},"x-more":1.0}`);
    }
    const result = RESULTS[method];
    if (result === undefined) return this.#fail(id, '-32601', `No method caf\\u00e9`, '{"x":1.0,"y":[null]}');
    this.#answer(id, result);
  }

  #read(id: string, uri: string): void {
    if (uri !== '"odd://a"') return this.#fail(id, '-32002', 'Not there', `{"uri":${uri}}`);
    const contents = `{"uri":${uri},"mimeType":"text/plain","text":"a\\u00e9"},{"uri":${uri},"blob":"AAECAw==","x-more":1.0}`;
    this.#answer(id, `{"contents":[${contents}]}`);
  }

  #call(id: string, line: string): void {
    const name = spelled(line, ['params', 'name'])?.slice(1, -1) ?? '';
    const token = spelled(line, ['params', '_meta', 'progressToken']);
    if (name === 'refuses')
      return this.#fail(id, '-4711', 'Refused \\u00e9', '{"why":{"n":1.0,"u":"\\u00e9"},"b":1,"a":2}');
    if (name === 'works' && token !== undefined) {
      this.#progress(token, '0.50', '"half \\u00e9"');
      this.#tell('notifications/message', '{"level":"notice","logger":"odd \\u00e9","data":{"n":1.0,"list":[1,2]}}');
      this.#progress(token, '1.0', '"all"');
    }
    if (name === 'slow' && token !== undefined) return this.#progress(token, '1.0', '"one"');
    if (name === 'logs') this.#tell('notifications/message', '{"level":"error","data":"caf\\u00e9"}');
    if (name === 'changes') {
      this.#answer(id, '{"content":[]}');
      return this.#tell('notifications/resources/list_changed');
    }
    const question = QUESTIONS[name];
    if (question !== undefined) return this.#ask(id, ...question);
    const result = TEXTS[name];
    if (result === undefined) return this.#fail(id, '-32602', 'Unknown tool', `{"name":"${name}"}`);
    this.#answer(id, result);
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

function toolsOn(cursor: string | undefined): string {
  if (cursor === undefined) return `{"x-more":1.0,"tools":[${PLAIN_TOOL}],"nextCursor":"p2 \\u00e9"}`;
  return `{"tools":[${NAMES.map(otherTool).join(', ')}]}`;
}

function promptsOn(cursor: string | undefined): string {
  if (cursor !== undefined) return '{"prompts":[{"name":"second","x-more":1.0}]}';
  const argument = '{"name":"a","required":true,"x-more":1e2}';
  return `{"prompts":[{"name":"first","title":"\\u00e9","arguments":[${argument}]}],"nextCursor":"2","_meta":{"odd/kept":1.0}}`;
}

export const startOdd: Start = () => {
  const [ours, theirs] = duplexPair();
  const server = new OddServer((line) => ours.write(`${line}\n`));
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
