// Faults that a bridge could have, one each, put between the bridge and a client or a server. The comparison must find every
// one of them, and name the place: only then does it prove anything when it finds nothing.

import type { Leg } from './comparison.ts';
import { extended, type Path, replaced, spelled, swapped, without } from './json-places.ts';
import type { Alter, Line } from './tap.ts';

export interface Mutant {
  readonly title: string;
  /** Between whom and the bridge it sits. */
  readonly leg: Leg;
  /** In what the comparison says of it. */
  readonly finds: RegExp;
  /** A new one for each conversation. */
  readonly alter: () => Alter;
}

/** Changes the lines that match; all others go on as they are. */
const on =
  (to: Line['to'], matches: RegExp, change: (text: string) => readonly string[]): (() => Alter) =>
  () =>
  (line) =>
    line.to === to && matches.test(line.text) ? change(line.text) : [line.text];

const toClient = (matches: RegExp, change: (text: string) => string): (() => Alter) =>
  on('client', matches, (text) => [change(text)]);
const toServer = (matches: RegExp, change: (text: string) => string): (() => Alter) =>
  on('server', matches, (text) => [change(text)]);

/** Keeps the first line that matches back until one that matches `until` has passed. */
const delayed =
  (to: Line['to'], matches: RegExp, until: RegExp): (() => Alter) =>
  () => {
    let held: string | undefined;
    return ({ to: direction, text }) => {
      if (direction !== to) return [text];
      if (held === undefined && matches.test(text)) {
        held = text;
        return [];
      }
      if (held === undefined || held === '' || !until.test(text)) return [text];
      const both = [text, held];
      held = '';
      return both;
    };
  };

const lose = (path: Path) => (text: string) => without(text, path);
const put = (path: Path, value: string) => (text: string) => replaced(text, path, value);

const PLAIN = /structuredContent/;
const LISTED = /"nextCursor":"p2/;
const HELLO = /"instructions"/;
const REFUSED = /-4711/;
const FAILED = /"isError":true/;
const LONG = /(?:caf\\u00e9 \\"x\\" \\n){9}/;
const HALF = /"progress":0\.50/;
const FIRST_LOG = /"logger"/;
const FIRST_QUESTION = /"elicitation\/create".*requestedSchema.*minimum/;
const OUR_CALL = /"method":"tools\/call".*"big":9007199254740993/;
const ODD_CALL = /"traceparent"/;
const ACCEPTED = /"action":"accept"/;

export const MUTANTS: readonly Mutant[] = [
  // --- results ---
  {
    title: 'a member of a result is lost',
    leg: 'client',
    finds: /result\.content\.0\.annotations/,
    alter: toClient(PLAIN, lose(['result', 'content', '0', 'annotations'])),
  },
  {
    title: 'a member that nobody knows is lost',
    leg: 'client',
    finds: /x-last/,
    alter: toClient(PLAIN, lose(['x-last'])),
  },
  {
    title: 'a member is added',
    leg: 'client',
    finds: /result\.added/,
    alter: toClient(PLAIN, (text) => extended(text, ['result'], '"added":null')),
  },
  {
    title: 'two members change places',
    leg: 'client',
    finds: /order of members/,
    alter: toClient(PLAIN, (text) => swapped(text, ['result', 'structuredContent', 'deep'])),
  },
  {
    title: 'white space is taken out',
    leg: 'client',
    finds: /white space/,
    alter: toClient(PLAIN, (text) => text.replace(', "result" :', ',"result":')),
  },
  {
    title: 'the spelling of a number changes',
    leg: 'client',
    finds: /structuredContent\.n: wanted 1\.0, found 1$/,
    alter: toClient(PLAIN, put(['result', 'structuredContent', 'n'], '1')),
  },
  {
    title: 'a number loses its exponent',
    leg: 'client',
    finds: /structuredContent\.e: wanted 1e2, found 100$/,
    alter: toClient(PLAIN, put(['result', 'structuredContent', 'e'], '100')),
  },
  {
    title: 'a large integer is rounded',
    leg: 'client',
    finds: /structuredContent\.big/,
    alter: toClient(PLAIN, put(['result', 'structuredContent', 'big'], '9007199254740992')),
  },
  {
    title: 'minus zero loses its sign',
    leg: 'client',
    finds: /structuredContent\.neg/,
    alter: toClient(PLAIN, put(['result', 'structuredContent', 'neg'], '0')),
  },
  {
    title: 'a null is left out',
    leg: 'client',
    finds: /structuredContent\.none/,
    alter: toClient(PLAIN, lose(['result', 'structuredContent', 'none'])),
  },
  {
    title: 'a whole message is read and written again',
    leg: 'client',
    finds: /structuredContent\.n/,
    alter: toClient(PLAIN, (text) => JSON.stringify(JSON.parse(text))),
  },
  {
    title: 'an escape becomes the character',
    leg: 'client',
    finds: /result\.content\.0\.text/,
    alter: toClient(PLAIN, (text) => text.replace('caf\\u00e9', 'café')),
  },
  {
    title: 'a character becomes an escape',
    leg: 'client',
    finds: /result\.content\.0\.text/,
    alter: toClient(PLAIN, (text) => text.replace(' é ', ' \\u00e9 ')),
  },
  {
    title: 'an escaped slash becomes a plain one',
    leg: 'client',
    finds: /result\.content\.0\.text/,
    alter: toClient(PLAIN, (text) => text.replace('\\/ done', '/ done')),
  },
  {
    title: 'a long text is cut short',
    leg: 'client',
    finds: /result\.content\.0\.text/,
    alter: toClient(LONG, (text) => text.replace('caf\\u00e9 \\"x\\" \\n"}', '"}')),
  },
  {
    title: 'one item of the content is lost',
    leg: 'client',
    finds: /result\.content\.1/,
    alter: toClient(PLAIN, lose(['result', 'content', '1'])),
  },
  {
    title: 'the content is emptied',
    leg: 'client',
    finds: /result\.content/,
    alter: toClient(FAILED, put(['result', 'content'], '[]')),
  },
  { title: 'isError is lost', leg: 'client', finds: /isError/, alter: toClient(FAILED, lose(['result', 'isError'])) },
  {
    title: 'isError: false is taken for nothing',
    leg: 'client',
    finds: /isError/,
    alter: toClient(PLAIN, lose(['result', 'isError'])),
  },
  {
    title: '_meta of a result is lost',
    leg: 'client',
    finds: /result\._meta/,
    alter: toClient(PLAIN, lose(['result', '_meta'])),
  },
  {
    title: 'the structured content is lost',
    leg: 'client',
    finds: /structuredContent/,
    alter: toClient(PLAIN, lose(['result', 'structuredContent'])),
  },
  {
    title: 'the data of an image is changed',
    leg: 'client',
    finds: /content\.1\.data/,
    alter: toClient(PLAIN, (text) => text.replace('AAECAw==', 'AAECAw')),
  },
  {
    title: 'the id of an answer becomes another kind',
    leg: 'client',
    finds: /answer to/,
    alter: toClient(PLAIN, (text) => {
      const id = spelled(text, ['id']) ?? '';
      return replaced(text, ['id'], id.startsWith('"') ? '1' : `"${id}"`);
    }),
  },
  {
    title: 'the id of an answer is spelled in another way',
    leg: 'client',
    finds: /answer to/,
    alter: toClient(/"id":"é\\u00e9-2"/, (text) => text.replace('"é\\u00e9-2"', '"éé-2"')),
  },

  // --- errors ---
  {
    title: 'the code of an error changes',
    leg: 'client',
    finds: /error\.code/,
    alter: toClient(REFUSED, put(['error', 'code'], '-32603')),
  },
  {
    title: 'the data of an error is lost',
    leg: 'client',
    finds: /error\.data/,
    alter: toClient(REFUSED, lose(['error', 'data'])),
  },
  {
    title: 'the message of an error changes',
    leg: 'client',
    finds: /error\.message/,
    alter: toClient(REFUSED, put(['error', 'message'], '"Refused é"')),
  },
  {
    title: 'an error becomes a result',
    leg: 'client',
    finds: /error\.code/,
    alter: toClient(REFUSED, (text) => text.replace('"error":', '"result":')),
  },

  // --- notifications ---
  {
    title: 'a notice of progress is lost',
    leg: 'client',
    finds: /notifications\/progress .*is missing/,
    alter: on('client', HALF, () => []),
  },
  {
    title: 'a notice of progress comes twice',
    leg: 'client',
    finds: /notifications\/progress .*too much/,
    alter: on('client', HALF, (text) => [text, text]),
  },
  {
    title: 'two notices of progress change places',
    leg: 'client',
    finds: /notifications\/progress .*(missing|much)/,
    alter: delayed('client', HALF, /"progress":1\.0,"message":"all"/),
  },
  {
    title: 'a notice comes behind the answer',
    leg: 'client',
    finds: /answer to|notifications\/progress .*(missing|much)/,
    alter: delayed('client', /"progress":1\.0,"message":"all"/, /"worked"/),
  },
  {
    title: 'the total of a notice of progress is lost',
    leg: 'client',
    finds: /params\.total/,
    alter: toClient(HALF, lose(['params', 'total'])),
  },
  {
    title: 'a progress token becomes another kind',
    leg: 'client',
    finds: /notifications\/progress|progressToken/,
    alter: toClient(/"progressToken":17,/, put(['params', 'progressToken'], '"17"')),
  },
  {
    title: 'the logger of a log message is lost',
    leg: 'client',
    finds: /params\.logger/,
    alter: toClient(FIRST_LOG, lose(['params', 'logger'])),
  },
  {
    title: 'the level of a log message changes',
    leg: 'client',
    finds: /params\.level/,
    alter: toClient(FIRST_LOG, put(['params', 'level'], '"info"')),
  },
  {
    title: 'a log message is lost',
    leg: 'server',
    finds: /notifications\/message.*is missing/,
    alter: on('client', FIRST_LOG, () => []),
  },
  {
    title: 'a notice that a resource has changed comes twice',
    leg: 'client',
    finds: /resources\/updated.*too much/,
    alter: on('client', /resources\/updated/, (text) => [text, text]),
  },
  {
    title: 'a notice that a list has changed is lost',
    leg: 'client',
    finds: /resources\/list_changed.*is missing/,
    alter: on('client', /resources\/list_changed/, () => []),
  },
  {
    title: 'a notice that nobody asked for is made up',
    leg: 'client',
    finds: /notifications\/made-up.*too much/,
    alter: on('client', PLAIN, (text) => ['{"jsonrpc":"2.0","method":"notifications/made-up"}', text]),
  },

  // --- the handshake and lists ---
  {
    title: 'the instructions are lost',
    leg: 'client',
    finds: /result\.instructions/,
    alter: toClient(HELLO, lose(['result', 'instructions'])),
  },
  {
    title: 'listChanged is lost',
    leg: 'client',
    finds: /capabilities\.tools/,
    alter: toClient(HELLO, lose(['result', 'capabilities', 'tools', 'listChanged'])),
  },
  {
    title: 'a capability is changed',
    leg: 'client',
    finds: /capabilities\.resources\.subscribe/,
    alter: toClient(HELLO, put(['result', 'capabilities', 'resources', 'subscribe'], 'false')),
  },
  {
    title: 'an experimental capability is lost',
    leg: 'client',
    finds: /capabilities\.experimental/,
    alter: toClient(HELLO, lose(['result', 'capabilities', 'experimental'])),
  },
  {
    title: 'the title of the server is lost',
    leg: 'client',
    finds: /serverInfo\.title/,
    alter: toClient(HELLO, lose(['result', 'serverInfo', 'title'])),
  },
  {
    title: 'another protocol version is said',
    leg: 'client',
    finds: /protocolVersion/,
    alter: toClient(HELLO, put(['result', 'protocolVersion'], '"2025-06-18"')),
  },
  {
    title: 'the next cursor is lost',
    leg: 'client',
    finds: /nextCursor/,
    alter: toClient(LISTED, lose(['result', 'nextCursor'])),
  },
  {
    title: 'the annotations of a tool are lost',
    leg: 'client',
    finds: /tools\.0\.annotations/,
    alter: toClient(LISTED, lose(['result', 'tools', '0', 'annotations'])),
  },
  {
    title: 'the output schema of a tool is lost',
    leg: 'server',
    finds: /tools\.0\.outputSchema/,
    alter: toClient(LISTED, lose(['result', 'tools', '0', 'outputSchema'])),
  },
  {
    title: 'a keyword of a schema is lost',
    leg: 'server',
    finds: /inputSchema\.x-schema/,
    alter: toClient(LISTED, lose(['result', 'tools', '0', 'inputSchema', 'x-schema'])),
  },
  {
    title: 'the size of a resource is lost',
    leg: 'client',
    finds: /resources\.0\.size/,
    alter: toClient(/"odd:\/\/a","name"/, lose(['result', 'resources', '0', 'size'])),
  },
  {
    title: 'the blob of a resource is lost',
    leg: 'client',
    finds: /contents\.1\.blob/,
    alter: toClient(/"contents"/, lose(['result', 'contents', '1', 'blob'])),
  },

  // --- what goes to the server ---
  {
    title: 'an argument is lost',
    leg: 'server',
    finds: /arguments\.none/,
    alter: toServer(OUR_CALL, lose(['params', 'arguments', 'none'])),
  },
  {
    title: 'an argument is spelled in another way',
    leg: 'client',
    finds: /arguments\.n: wanted 1\.0, found 1$/,
    alter: toServer(OUR_CALL, put(['params', 'arguments', 'n'], '1')),
  },
  {
    title: 'a trace is lost',
    leg: 'server',
    finds: /traceparent/,
    alter: toServer(ODD_CALL, lose(['params', '_meta', 'traceparent'])),
  },
  {
    title: '_meta of a request is lost',
    leg: 'client',
    finds: /tools\/call .*is missing/,
    alter: toServer(ODD_CALL, lose(['params', '_meta'])),
  },
  {
    title: 'a parameter that nobody knows is lost',
    leg: 'server',
    finds: /params\.x-more/,
    alter: toServer(ODD_CALL, lose(['params', 'x-more'])),
  },
  {
    title: 'a call is made twice',
    leg: 'server',
    finds: /tools\/call .*too much/,
    alter: on('server', OUR_CALL, (text) => [text, text.replace(/"id":\s*\d+/, '"id":987654321')]),
  },
  {
    title: 'the progress token of a call is lost',
    leg: 'client',
    finds: /progressToken/,
    alter: toServer(/"progressToken":17/, lose(['params', '_meta', 'progressToken'])),
  },
  {
    title: 'a cancellation is lost',
    leg: 'client',
    finds: /notifications\/cancelled.*is missing/,
    alter: on('server', /notifications\/cancelled/, () => []),
  },
  {
    title: 'the reason of a cancellation is lost',
    leg: 'server',
    finds: /params\.reason/,
    alter: toServer(/notifications\/cancelled/, lose(['params', 'reason'])),
  },
  {
    title: 'a notice of the client is lost',
    leg: 'server',
    finds: /notifications\/wire\/unknown.*is missing/,
    alter: on('server', /notifications\/wire\/unknown/, () => []),
  },
  {
    title: 'another log level is set',
    leg: 'server',
    finds: /params\.level/,
    alter: toServer(/"logging\/setLevel"/, put(['params', 'level'], '"info"')),
  },

  // --- questions and their answers ---
  {
    title: 'a part of the schema of a question is lost',
    leg: 'client',
    finds: /requestedSchema\.properties\.n\.minimum/,
    alter: toClient(FIRST_QUESTION, lose(['params', 'requestedSchema', 'properties', 'n', 'minimum'])),
  },
  {
    title: 'the temperature of a question is spelled in another way',
    leg: 'server',
    finds: /params\.temperature/,
    alter: toClient(/"temperature":0\.70/, put(['params', 'temperature'], '0.7')),
  },
  {
    title: 'what the user has said is changed',
    leg: 'client',
    finds: /result\.content\.n: wanted 1\.0, found 1$/,
    alter: toServer(ACCEPTED, put(['result', 'content', 'n'], '1')),
  },
  {
    title: 'a user who has accepted has declined',
    leg: 'server',
    finds: /result\.action/,
    alter: toServer(ACCEPTED, put(['result', 'action'], '"decline"')),
  },
  {
    title: 'the error that a client has given changes its code',
    leg: 'server',
    finds: /error\.code/,
    alter: toServer(/"Not now/, put(['error', 'code'], '-1')),
  },
  {
    title: 'the name of a root is lost',
    leg: 'client',
    finds: /roots\.0\.name/,
    alter: toServer(/"roots":\[/, lose(['result', 'roots', '0', 'name'])),
  },
];
