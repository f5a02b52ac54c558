// Golden frames of wire v1: whoever writes the other side can hold these against theirs. Then what hostile hosts get.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReceivedMessage } from '../../../src/federation/bus.ts';
import { callPlaceIn, frameKindOf, HEADER, headerText, headerValue } from '../../../src/federation/frames.ts';
import { nameToken, parsedSubject, requestSubject, serverToken, tokenOf } from '../../../src/federation/subject.ts';
import { type Asked, FederationWorld } from '../../support/federation-world.ts';

const META =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
const BODY = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{},${META}}}`;
const SUBJECT = 'mcp.v1.req.acme.ann.tools-at-builder.tools.call.echo';
const HEADERS = {
  'Mcp-Wire': '1',
  'Mcp-Method': 'tools/call',
  'Mcp-Name': 'echo',
  'MCP-Protocol-Version': '2026-07-28',
};

const echo = (asked: Asked): void => asked.answer({ text: 'hi' });

interface Frame {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Somebody on the bus who writes messages by hand. */
function byHand(world: FederationWorld) {
  const node = world.bus.node();
  const came: Frame[] = [];
  node.subscribe('_INBOX.hand.*', ({ subject, headers, data }) => {
    came.push({ subject, headers, body: Buffer.from(data).toString() });
  });
  const send = (more: Partial<ReceivedMessage> & { readonly body?: string } = {}): Frame[] => {
    const { body = BODY, ...others } = more;
    node.publish({ subject: SUBJECT, reply: '_INBOX.hand.1', headers: HEADERS, data: Buffer.from(body), ...others });
    world.settle();
    return came;
  };
  return { node, came, send };
}

test('a request of a plain v1 caller is answered with plain frames', () => {
  const world = new FederationWorld();
  world.owner('builder', (asked) => {
    asked.progress(1);
    echo(asked);
  });
  expect(byHand(world).send()).toEqual([
    {
      subject: '_INBOX.hand.1',
      headers: { 'Mcp-Frame': 'msg' },
      body: '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
    },
    {
      subject: '_INBOX.hand.1',
      headers: { 'Mcp-Frame': 'end' },
      body: '{"jsonrpc":"2.0","id":7,"result":{"text":"hi"}}',
    },
  ]);
});

test.each([
  [2048, 'end'],
  [512 * 1024, 'err'],
])('a plain v1 caller gets an answer of %i bytes as one frame that the bus can carry: %s', (bytes, kind) => {
  const world = new FederationWorld();
  const { node } = world.owner('builder', (asked) => asked.answer({ text: 'x'.repeat(bytes) }));
  node.mostBytes = 512 * 1024;
  const [frame, ...more] = byHand(world).send();
  expect(more).toEqual([]);
  expect(frame?.headers['Mcp-Frame']).toBe(kind);
  if (kind === 'err') expect(frame?.body).toContain('"code":-32012');
  expect(frame?.body.length).toBeLessThanOrEqual(node.mostBytes - 4096);
});

test('a request of a home, and the frames that it gets', () => {
  const world = new FederationWorld();
  world.owner('builder', echo);
  world.home('laptop').open('builder').call(7, {}, 'echo');
  const [request, answer] = world.bus.published;
  expect(request).toMatchObject({
    subject: SUBJECT,
    headers: { ...HEADERS, 'Mcp-Host': 'laptop', 'Mcp-Accept-Part': '1' },
  });
  expect(Object.keys(request?.headers ?? {}).toSorted()).toEqual(
    [...Object.keys(HEADERS), 'Mcp-Host', 'Mcp-Accept-Part', 'Mcp-Call'].toSorted(),
  );
  expect(request?.headers['Mcp-Call']).toMatch(/^[\w-]{16} 1 1$/);
  expect(request?.reply).toMatch(/^_INBOX\.laptop\.[\w-]{16}\.[\w-]{16}$/);
  expect(answer).toMatchObject({
    subject: request?.reply,
    headers: { 'Mcp-Frame': 'end', 'Mcp-Seq': '1', 'Mcp-Owner': 'builder run-builder' },
  });
});

test('a call that takes a while is acknowledged, kept alive, and cancelled with an empty end', () => {
  const world = new FederationWorld();
  world.owner('builder', () => undefined);
  const { node, came, send } = byHand(world);
  send();
  world.advance(6000);
  node.publish({
    subject: '_INBOX.hand.1.ctl',
    headers: {},
    data: Buffer.from('{"method":"notifications/cancelled"}'),
  });
  world.settle();
  expect(came.map(({ headers, body }) => [headers['Mcp-Frame'], body])).toEqual([
    ['ka', ''],
    ['ka', ''],
    ['end', ''],
  ]);
});

describe('subject, headers and body that disagree run nothing', () => {
  test.each<[string, Partial<ReceivedMessage> & { readonly body?: string }]>([
    ['another method in the subject', { subject: 'mcp.v1.req.acme.ann.tools-at-builder.tools.list.echo' }],
    ['another name in the subject', { subject: 'mcp.v1.req.acme.ann.tools-at-builder.tools.call.other' }],
    ['no name in the subject', { subject: 'mcp.v1.req.acme.ann.tools-at-builder.tools.call._' }],
    ['another method in the headers', { headers: { ...HEADERS, 'Mcp-Method': 'tools/list' } }],
    ['another name in the headers', { headers: { ...HEADERS, 'Mcp-Name': 'other' } }],
    ['another version in the headers', { headers: { ...HEADERS, 'MCP-Protocol-Version': '2025-11-25' } }],
    ['another version of the wire', { headers: { ...HEADERS, 'Mcp-Wire': '2' } }],
    ['parts without a number of the call', { headers: { ...HEADERS, 'Mcp-Accept-Part': '1' } }],
    ['another name in the body', { body: BODY.replace('"echo"', '"other"') }],
  ])('%s', (_, wrong) => {
    const world = new FederationWorld();
    const ran: Asked[] = [];
    world.owner('builder', (asked) => ran.push(asked));
    const [frame] = byHand(world).send(wrong);
    expect(frame?.headers['Mcp-Frame']).toBe('err');
    expect(JSON.parse(frame?.body ?? '{}')).toMatchObject({ id: 7, error: { code: -32020 } });
    expect(ran).toEqual([]);
    expect(world.refused).toHaveLength(1);
  });

  test.each([
    ['a view', '"mcp-bridge/view":"all"'],
    ['a directory', '"mcp-bridge/cwd":"/etc"'],
    ['an id', '"mcp-bridge/clientId":"root"'],
  ])('%s of another host is not taken', (_, member) => {
    const world = new FederationWorld();
    const ran: Asked[] = [];
    world.owner('builder', (asked) => ran.push(asked));
    const [frame] = byHand(world).send({ body: BODY.replace('"_meta":{', `"_meta":{${member},`) });
    expect(frame?.headers['Mcp-Frame']).toBe('err');
    expect(ran).toEqual([]);
  });

  test('what is no request is refused, and what cannot be answered is dropped', () => {
    const world = new FederationWorld();
    const ran: Asked[] = [];
    world.owner('builder', (asked) => ran.push(asked));
    const { send, came } = byHand(world);
    for (const body of [
      '',
      'x',
      '[]',
      '{"jsonrpc":"2.0","method":"tools/call"}',
      BODY.replace('{"jsonrpc"', '{\n"jsonrpc"'),
    ])
      send({ body });
    expect(came.map(({ headers }) => headers['Mcp-Frame'])).toEqual(['err', 'err', 'err', 'err', 'err']);
    send({ body: `{"jsonrpc":"2.0","id":7,"method":"${'x'.repeat(200_000)}` }); // a string that does not end
    expect(came.splice(5)).toHaveLength(1);
    send({ reply: undefined });
    expect(came).toHaveLength(5);
    expect(ran).toEqual([]);
  });
});

describe('a hostile owner', () => {
  /** An owner that a test plays by hand: it hears each request, and says what it likes. */
  function hostile(
    answer: (request: ReceivedMessage, say: (headers: Record<string, string>, body: string) => void) => void,
  ) {
    const world = new FederationWorld();
    world.runs.set('builder', 'run-builder');
    const node = world.bus.node();
    node.subscribe('mcp.v1.req.acme.*.tools-at-builder.>', (request) =>
      answer(request, (headers, body) =>
        node.publish({
          subject: request.reply ?? '',
          headers: { 'Mcp-Owner': 'builder run-builder', ...headers },
          data: Buffer.from(body),
        }),
      ),
    );
    const home = world.home('laptop');
    const connection = home.open('builder');
    connection.call(7, {}, 'echo');
    return { world, home, connection };
  }
  const good = '{"jsonrpc":"2.0","id":7,"result":{"text":"good"}}';

  test.each<[string, Record<string, string>, string]>([
    ['the answer to another request', { 'Mcp-Frame': 'end', 'Mcp-Seq': '1' }, good.replace('7', '8')],
    ['a request', { 'Mcp-Frame': 'end', 'Mcp-Seq': '1' }, '{"jsonrpc":"2.0","id":7,"method":"roots/list"}'],
    ['no JSON', { 'Mcp-Frame': 'end', 'Mcp-Seq': '1' }, '{'],
    ['an answer as a notification', { 'Mcp-Frame': 'msg', 'Mcp-Seq': '1' }, good],
    ['a frame without a number', { 'Mcp-Frame': 'end' }, good],
    [
      'a frame that is too large',
      { 'Mcp-Frame': 'end', 'Mcp-Seq': '1' },
      `{"jsonrpc":"2.0","id":7,"result":{"text":"${'x'.repeat(300_000)}"}}`,
    ],
  ])('that sends %s is refused: its caller gets one error', (_, headers, body) => {
    const { world, connection, home } = hostile((__, say) => say(headers, body));
    expect(connection.answersTo(7)).toHaveLength(1);
    expect(connection.answersTo(7)[0]?.error?.data?.code).toBe('SERVER_ANSWER_REFUSED');
    expect(connection.came).toHaveLength(1);
    expect(world.refused).toHaveLength(1);
    expect(home.home.openCalls).toBe(0);
  });

  test('that sends parts without end is stopped at the longest message', () => {
    const { world, connection } = hostile((_, say) => {
      for (let seq = 1; seq <= 100; seq++) say({ 'Mcp-Frame': 'part', 'Mcp-Seq': `${seq}` }, 'x'.repeat(262_144));
    });
    expect(connection.answersTo(7)[0]?.error?.data?.code).toBe('SERVER_ANSWER_REFUSED');
    expect(world.refused).toHaveLength(1);
  });

  test.each(['', 'x'])('that sends pieces of %j without end is stopped at the most pieces of a message', (piece) => {
    const { world, connection } = hostile((_, say) => {
      for (let seq = 1; seq <= 5000; seq++) say({ 'Mcp-Frame': 'part', 'Mcp-Seq': `${seq}` }, piece);
    });
    expect(connection.answersTo(7)[0]?.error?.data?.code).toBe('SERVER_ANSWER_REFUSED');
    expect(world.refused).toHaveLength(1);
  });

  test('that floods beyond its credit is refused', () => {
    const { connection } = hostile((_, say) => {
      for (let seq = 2; seq <= 20; seq++) say({ 'Mcp-Frame': 'part', 'Mcp-Seq': `${seq}` }, 'x'.repeat(262_144));
    });
    expect(connection.answersTo(7)[0]?.error?.data?.code).toBe('SERVER_ANSWER_REFUSED');
  });

  test('that answers twice, or after the end, is heard once', () => {
    const { connection } = hostile((_, say) => {
      for (const seq of ['1', '1', '2', '3']) say({ 'Mcp-Frame': 'end', 'Mcp-Seq': seq }, good);
    });
    expect(connection.came).toEqual([JSON.parse(good)]);
  });

  test('that acknowledges and dies leaves the outcome unknown', async () => {
    const { world, connection } = hostile(({ headers }, say) => {
      if (headers['Mcp-Again'] === undefined) say({ 'Mcp-Frame': 'ack' }, '');
    });
    world.advance(20_000);
    await connection.connection.ended;
    expect(connection.endedBy).toContain('has said nothing for 15 s');
    expect(connection.came).toEqual([]);
  });

  test('that answers in the place of another host is not heard', () => {
    const { world, connection } = hostile((_, say) => {
      say({ 'Mcp-Owner': 'other run-x', 'Mcp-Frame': 'end', 'Mcp-Seq': '1' }, good);
      say({ 'Mcp-Frame': 'end', 'Mcp-Seq': '1' }, good.replace('good', 'mine'));
    });
    expect(connection.came).toMatchObject([{ result: { text: 'mine' } }]);
    expect(world.refused).toHaveLength(1);
  });
});

describe('a hostile caller', () => {
  const place = (n: number): string => `stream ${n} 1`;

  test('that begins requests in parts without end is bounded, and others go on', () => {
    const world = new FederationWorld();
    const owner = world.owner('builder', echo);
    const { send, came } = byHand(world);
    for (let n = 1; n <= 40; n++)
      send({
        headers: {
          ...HEADERS,
          'Mcp-Host': 'bad',
          'Mcp-Accept-Part': '1',
          'Mcp-Call': place(n),
          'Mcp-Length': '8000000',
          'Mcp-Frame': 'part',
          'Mcp-Seq': '1',
        },
      });
    expect(came.filter(({ headers }) => headers['Mcp-Frame'] === 'err').length).toBeGreaterThan(30);
    const connection = world.home('laptop').open('builder');
    connection.call(1, {}, 'echo');
    expect(connection.came).toHaveLength(1);
    world.advance(120_000);
    expect(owner.owner.load.calls).toBe(0);
  });

  test('that makes streams without end gets no more than its share', () => {
    const world = new FederationWorld();
    const owner = world.owner('builder', () => undefined);
    const { send } = byHand(world);
    for (let n = 1; n <= 400; n++)
      send({ headers: { ...HEADERS, 'Mcp-Host': 'bad', 'Mcp-Accept-Part': '1', 'Mcp-Call': `stream-${n} 1 1` } });
    expect(owner.owner.load.streams).toBeLessThanOrEqual(256);
    const connection = world.home('laptop').open('builder');
    connection.call(1, {}, 'echo');
    world.advance(1000);
    expect(owner.owner.load.streams).toBeLessThanOrEqual(257);
  });

  test('whatever it sends, nothing is thrown and nothing runs', () => {
    const world = new FederationWorld();
    const ran: Asked[] = [];
    world.owner('builder', (asked) => ran.push(asked));
    const { send } = byHand(world);
    const word = fc.oneof(
      fc.constantFrom('1', '-1', '0', '9'.repeat(20), 'part', 'end', 'stream 1 1', 'stream 1 9', ''),
      fc.string(),
    );
    const names = [
      'Mcp-Wire',
      'Mcp-Method',
      'Mcp-Frame',
      'Mcp-Seq',
      'Mcp-Call',
      'Mcp-Length',
      'Mcp-Again',
      'Mcp-Got',
      'Mcp-Credit',
      'Mcp-Accept-Part',
      'Mcp-Host',
    ];
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), word), fc.string(), (headers, body) => {
        send({ headers, body });
      }),
      { numRuns: 200 },
    );
    expect(ran).toEqual([]);
  });
});

test('subjects are made and read alike, and no two names have one token', () => {
  expect(
    requestSubject({
      tenant: 'acme',
      user: 'ann',
      server: serverToken('a.b', 'box'),
      method: 'resources/templates/list',
      name: nameToken(undefined),
    }),
  ).toBe(
    'mcp.v1.req.acme.ann.a_b-2e7f2dcc-at-box.resources.templates.list._'.replace('2e7f2dcc', tokenOf('a.b').slice(-8)),
  );
  expect(nameToken('file:///etc')).toBe('_');
  expect(tokenOf('weather')).toBe('weather');
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
      expect(tokenOf(a)).toMatch(/^[A-Za-z0-9_-]+$/);
      if (a !== b) expect(tokenOf(a)).not.toBe(tokenOf(b));
    }),
  );
  expect(tokenOf('a.b')).not.toBe(tokenOf(tokenOf('a.b')));
  expect(serverToken('x-at-y', 'z')).not.toBe(serverToken('x', 'y-at-z'));
  for (const wrong of ['mcp.v1.req.a.b.c', 'mcp.v2.req.a.b.c.d.e', 'mcp.v1.req.a.b.c.d!.e', 'mcp.v1.req.a..c.d.e', ''])
    expect(parsedSubject(wrong)).toBeUndefined();
});

test('headers carry any text, and places of calls are read strictly', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(headerText(headerValue(text))).toBe(text);
    }),
  );
  expect(callPlaceIn({ 'Mcp-Call': 's 2 1' })).toEqual({ stream: 's', number: 2, done: 1 });
  for (const wrong of ['', 's', 's 1', 's 1 2', 's 0 0', 's -1 1', 's 1 1 1', 's! 1 1', 's 1e3 1'])
    expect(callPlaceIn({ 'Mcp-Call': wrong })).toBeUndefined();
});

test.each([
  '$KV.bridge_hosts.acme.builder',
  'mcp.v1.req.acme.ann.tools-at-builder.tools.call.echo',
  '_INBOX',
  '_INBOX.*',
  '_INBOX.a.>',
  '$SRV.PING',
  `_INBOX.${'a'.repeat(300)}`,
])('an owner answers to an inbox alone, and not to %s', (reply) => {
  const world = new FederationWorld();
  const seen: Asked[] = [];
  world.owner('builder', (asked) => seen.push(asked));
  const hand = world.bus.node();
  hand.publish({ subject: SUBJECT, reply, headers: HEADERS, data: Buffer.from(BODY) });
  hand.publish({ subject: SUBJECT, reply, headers: { ...HEADERS, 'Mcp-Wire': '2' }, data: Buffer.from(BODY) });
  world.settle();
  world.advance(10_000);
  expect(seen).toEqual([]);
  expect(world.bus.published.filter(({ subject }) => subject.startsWith(reply) && subject !== SUBJECT)).toEqual([]);
  expect(world.refused).toHaveLength(2);
});

describe('docs/federation.md names what there is on the wire', () => {
  const [, binding = ''] = readFileSync('docs/federation.md', 'utf8').split('## The binding');

  test('each header, and no other one', () => {
    const named = new Set(binding.match(/\bMcp-[A-Z][A-Za-z-]+|MCP-Protocol-Version/g));
    expect([...named].toSorted()).toEqual(Object.values(HEADER).toSorted());
  });

  test('each kind of frame, and no other one', () => {
    const [, table = ''] = binding.split('| `Mcp-Frame` | meaning |');
    const rows = [...(table.split('\n\n')[0] ?? '').matchAll(/^\| `([a-z]+)` \|/gm)].map(([, kind]) => kind ?? '');
    expect(rows.filter((kind) => frameKindOf({ [HEADER.frame]: kind }) !== kind)).toEqual([]);
    expect(rows.toSorted()).toEqual(['ack', 'end', 'err', 'ka', 'msg', 'part']);
  });
});
