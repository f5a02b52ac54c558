// What passes as it is, byte for byte: whatever the protocol may come to mean by it.

import { expect } from 'vitest';
import { textOf } from '../../support/raw-client.ts';
import { type ProtocolScenario, ready } from './scenario.ts';

/** Spelled as no encoder would, with members that nobody knows. */
const RESULT =
  '{ "structuredContent" :{"zeta":1.0,"alpha":[1e5, -0,12345678901234567890, 1.10],"u":"\\u00e9\\/é漢"},' +
  '"content":[{"text":"a","type":"text" ,"annotations":{"priority":0.50,"audience":["user"],"later":{}}},' +
  '{"type":"resource_link","uri":"test://text","icons":[{"src":"data:,","sizes":["any"]}],"size":1e3},' +
  '{"type":"hologram","id":7,"method":"tools/call"}],"isError" : false,"unknown":[[{"id":1,"id":2}]],' +
  '"_meta":{"progressToken":1.0,"example.com/x":null} }';

const ITEM_END =
  ',"title":"Odd" , "icons":[{"src":"data:,","theme":"dark"}],"annotations":{"readOnlyHint":false,"priority":1.0},' +
  '"inputSchema":{"type":"object","x-n":1e2,"$defs":{}},"outputSchema" :{ "type":"object"},"_meta":{"a/b":[ ]}}';

export const UNTOUCHED_SCENARIOS: readonly ProtocolScenario[] = [
  {
    title: 'a result has the bytes that the server gave it',
    shows: ['bytes', 'unknown-fields', 'meta', 'structured', 'annotations', 'icons'],
    async run(peer) {
      const client = await ready(peer);
      await client.text('echo', { text: 'ready' });
      const before = '{"result":';
      const call = client.beginCall('reply', { before: `${before}${RESULT} , "jsonrpc":"2.0", "id" : `, after: '  }' });
      await client.answerTo(call);
      expect(client.raw.lines.at(-1)).toBe(`${before}${RESULT} , "jsonrpc":"2.0", "id" : ${call}  }`);
    },
  },
  {
    title: 'an error has the bytes that the server gave it',
    shows: ['bytes', 'error'],
    async run(peer) {
      const client = await ready(peer);
      await client.text('echo', { text: 'ready' });
      const after = ',"error":{ "data":{"n":1.0,"id":3},"message":"\\u00e9","code":-31000 ,"x":[]}}';
      const call = client.beginCall('reply', { before: '{"jsonrpc":"2.0","id":', after });
      await client.answerTo(call);
      expect(client.raw.lines.at(-1)).toBe(`{"jsonrpc":"2.0","id":${call}${after}`);
    },
  },
  {
    title: 'a call reaches the server with the bytes that the client gave it, but for its id and the names of the view',
    shows: ['bytes', 'unknown-fields', 'meta'],
    isIndependent: true,
    needs: ['listing'],
    async run(peer) {
      const client = await ready(peer);
      const spelled = (name: string, id: unknown): string =>
        `{ "params" : {"zeta":1.0, "arguments":{"n":1e5,"deep":[[{"id":1,"id":2}]],"u":"\\u00e9"},"name":"${name}",` +
        `"_meta":{"example.com/x":[1.0 ],"io.modelcontextprotocol/later":null}} ,"x-unknown":[ 1 ],  "id":${JSON.stringify(id)}` +
        ', "method":"tools/call","jsonrpc":"2.0"  }';
      client.raw.send(spelled(client.tool('raw'), 'mine'));
      const received = textOf(await client.answerTo('mine'));
      const { id } = JSON.parse(received) as { id: unknown };
      expect(received).toBe(spelled('raw', id));
    },
  },
  {
    title: 'a notification has the bytes that the server gave it',
    shows: ['bytes', 'log', 'unknown-fields'],
    async run(peer) {
      const client = await ready(peer);
      await client.text('echo', { text: 'ready' });
      const line =
        '{ "method":"notifications/message" ,"params":{"level":"info","data":1.0,"a":[2e5,"\\u00e9é"]},"jsonrpc":"2.0","extra":null}';
      await client.call('print', { line });
      expect(client.raw.lines).toContain(line);
    },
  },
  ...(['tools', 'prompts', 'resources', 'templates'] as const).map(
    (kind): ProtocolScenario => ({
      title: `an item of the ${kind} is listed with the bytes that the server gave it, but for its name in the view`,
      shows: ['bytes', 'icons', 'annotations', 'unknown-fields', 'meta'],
      needs: kind === 'tools' ? ['listing'] : [],
      async run(peer) {
        const client = await ready(peer);
        const key = ({ tools: 'name', prompts: 'name', resources: 'uri', templates: 'uriTemplate' } as const)[kind];
        const start = key === 'name' ? '{' : '{"name" :"odd\\u0021", ';
        const spelled = (value: string): string => `${start}"${key}" :  "${value}"${ITEM_END}`;
        await client.listAll(kind);
        await client.call('add', { kind, item: spelled(key === 'name' ? 'odd' : 'test://odd') });
        const shown = key === 'name' ? client.tool('odd') : 'test://odd';
        await client.listAll(kind, (items) => items.some((item) => item[key] === shown));
        const expected = spelled(shown);
        expect(client.raw.lines.some((line) => line.includes(expected))).toBe(true);
      },
    }),
  ),
];
