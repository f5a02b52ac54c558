// Letters between agents of different hosts over a bus in the process, which loses and repeats what the test says.

import { afterEach, describe, expect, test } from 'vitest';
import { AgentMail } from '../../../src/federation/agent-mail.ts';
import type { MailedLetter } from '../../../src/model/agent-mail.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryBus, type MemoryNode } from '../../support/memory-bus.ts';

const LETTER: MailedLetter = { from: 'ann', to: 'bob', text: 'hello', inReplyTo: undefined, hops: 0 };

class Post {
  readonly bus = new MemoryBus();
  readonly clock = new FakeClock();
  readonly offices = new Map<string, Office>();

  office(host: string, allowed: readonly string[]): Office {
    const office = new Office(this, host, allowed);
    this.offices.set(host, office);
    return office;
  }

  /** Lets happen what is due within this time. */
  async pass(ms = 0): Promise<void> {
    for (let left = ms; left >= 0; left -= 100) {
      if (left > 0) this.clock.advance(Math.min(100, left));
      this.bus.nowMs = this.clock.now();
      this.bus.deliver();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The outcome of a promise once some time has passed. */
  async outcome<T>(promise: Promise<T>, ms = 0): Promise<T | string> {
    const told = promise.catch((error: unknown) =>
      error instanceof BridgeError ? `${error.code}: ${error.message}` : 'bug',
    );
    await this.pass(ms);
    return Promise.race([told, new Promise<string>((resolve) => setImmediate(() => resolve('nothing yet')))]);
  }
}

class Office {
  readonly node: MemoryNode;
  readonly mail: AgentMail;
  readonly received: (MailedLetter & { readonly host: string })[] = [];
  readonly refused: string[] = [];
  refusal: BridgeError | undefined;

  constructor(post: Post, host: string, allowed: readonly string[]) {
    this.node = post.bus.node();
    this.mail = new AgentMail({
      ...{ bus: this.node, clock: post.clock, tenant: 'acme', user: 'ann', host },
      here: {
        receive: (from, letter) => {
          if (this.refusal !== undefined) throw this.refusal;
          this.received.push({ ...letter, host: from });
          return { id: `m-${this.received.length}` };
        },
        agentsFor: (asker) => ({ agents: [{ id: `for-${asker}`, name: host }], more: 1 }),
      },
      isAllowed: (other) => allowed.includes(other),
      hosts: () => [...post.offices.keys()].filter((other) => other !== host),
      unreachable: (other) => (post.offices.has(other) ? undefined : 'there is no such host'),
      refused: (from, why) => this.refused.push(`${from}: ${why}`),
    });
  }
}

let post = new Post();
afterEach(() => {
  for (const { mail } of post.offices.values()) mail.close();
  post = new Post();
});

describe('a letter', () => {
  test('comes once, with the host of its sender', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', ['a']);
    expect(await post.outcome(a.mail.post('b', { ...LETTER, inReplyTo: 'm-9', hops: 3 }))).toEqual({ id: 'm-1' });
    expect(b.received).toEqual([{ ...LETTER, inReplyTo: 'm-9', hops: 3, host: 'a' }]);
  });

  test('is taken once, though it comes twice and its answer is lost', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', ['a']);
    let lost = 0;
    post.bus.fateOf = ({ subject }) => (subject.startsWith('_INBOX') && lost++ < 2 ? { isLost: true } : { times: 2 });
    expect(await post.outcome(a.mail.post('b', LETTER), 5000)).toEqual({ id: 'm-1' });
    expect(b.received).toHaveLength(1);
  });

  test('whose answers are all lost may have arrived, and its sender is told so', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', ['a']);
    post.bus.fateOf = ({ subject }) => ({ isLost: subject.startsWith('_INBOX') });
    expect(await post.outcome(a.mail.post('b', LETTER), 10_000)).toContain('OUTCOME_UNKNOWN');
    expect(b.received).toHaveLength(1);
  });

  test('to a host that is not there is refused at once', async () => {
    const a = post.office('a', ['b', 'c']);
    expect(await post.outcome(a.mail.post('b', LETTER))).toBe(
      'CLIENT_NOT_FOUND: The host b cannot be reached: there is no such host',
    );
    const b = post.office('b', ['a']);
    b.mail.close();
    expect(await post.outcome(a.mail.post('b', LETTER))).toContain('takes no messages');
  });

  test('goes only where both sides say so', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', []);
    expect(await post.outcome(b.mail.post('a', LETTER))).toContain(
      'MESSAGE_REFUSED: federation.agents in the config file',
    );
    expect(await post.outcome(a.mail.post('b', LETTER))).toContain('MESSAGE_REFUSED: The host b has refused');
    expect([a.received, b.received]).toEqual([[], []]);
  });

  test('that is refused says why, and an unknown reason is only a refusal', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', ['a']);
    b.refusal = new BridgeError('MAILBOX_FULL', 'no room');
    expect(await post.outcome(a.mail.post('b', LETTER))).toBe(
      'MAILBOX_FULL: The host b has refused the message: no room',
    );
    b.refusal = new BridgeError('SERVER_CRASHED', 'odd');
    expect(await post.outcome(a.mail.post('b', LETTER))).toContain('MESSAGE_REFUSED');
  });

  test('that is too large is not sent', async () => {
    const a = post.office('a', ['b']);
    post.office('b', ['a']);
    expect(await post.outcome(a.mail.post('b', { ...LETTER, text: 'y'.repeat(600_000) }))).toContain(
      'MESSAGE_TOO_LARGE',
    );
    expect(post.bus.published).toEqual([]);
  });
});

describe('a list of agents', () => {
  test('has those of all hosts that are allowed and answer, and waits for no other', async () => {
    const a = post.office('a', ['b', 'c', 'deaf']);
    for (const host of ['b', 'c', 'd']) post.office(host, ['a']);
    post.office('deaf', ['a']);
    post.bus.fateOf = ({ subject }) => ({ isLost: subject.endsWith('.deaf') });
    expect(await post.outcome(a.mail.list('me'), 2000)).toEqual({
      agents: [
        { id: 'for-me@a@b', name: 'b' },
        { id: 'for-me@a@c', name: 'c' },
      ],
      more: 2,
    });
  });
});

describe('a hostile host', () => {
  const send = (node: MemoryNode, subject: string, body: object | Buffer, reply = '_INBOX.x'): void =>
    node.publish({
      subject,
      reply,
      headers: {},
      data: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)),
    });
  const letter = (more: object = {}): object => ({ v: 1, kind: 'letter', host: 'bad', id: 'i', ...LETTER, ...more });

  test('cannot speak under a name that its subject does not have', async () => {
    const b = post.office('b', ['a', 'bad']);
    post.office('a', ['b']);
    const bad = post.bus.node();
    send(bad, 'mcp.v1.mail.acme.ann.bad.b', letter({ host: 'a' }));
    await post.pass();
    expect(b.received).toEqual([]);
    expect(b.refused).toHaveLength(1);
  });

  test('is not heard if it is on no list of hosts', async () => {
    const b = post.office('b', ['bad']);
    send(post.bus.node(), 'mcp.v1.mail.acme.ann.bad.b', letter());
    await post.pass();
    expect(b.received).toEqual([]);
    expect(Buffer.from(post.bus.published.at(-1)?.data ?? []).toString()).toContain('MESSAGE_REFUSED');
  });

  test('that sends what is no letter has nothing received', async () => {
    const b = post.office('b', ['bad']);
    post.office('bad', []);
    const bad = post.bus.node();
    const bodies = [
      ...[
        Buffer.from('{"v":1'),
        Buffer.alloc(600_000, 0x20),
        Buffer.from('[]'),
        letter({ to: 7 }),
        letter({ text: '' }),
      ],
      ...[
        letter({ hops: -1 }),
        letter({ hops: 'x' }),
        letter({ from: 'a\nb' }),
        letter({ kind: 'other' }),
        letter({ id: null }),
      ],
      letter({ v: 2 }),
    ];
    for (const body of bodies) send(bad, 'mcp.v1.mail.acme.ann.bad.b', body);
    await post.pass();
    expect(b.received).toEqual([]);
  });

  test('that floods is not answered beyond its share, and another one is', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', ['a', 'bad']);
    post.office('bad', []);
    const bad = post.bus.node();
    for (let i = 0; i < 5000; i++) send(bad, 'mcp.v1.mail.acme.ann.bad.b', letter({ id: `i${i}` }));
    await post.pass();
    expect(b.received.length).toBeLessThanOrEqual(100);
    expect(await post.outcome(a.mail.post('b', LETTER))).toMatchObject({ id: expect.any(String) as string });
  });

  test('that floods under the names of others, or under many names, silences none of another user', async () => {
    const a = post.office('a', ['b']);
    const b = post.office('b', ['a', 'bad']);
    const bad = post.bus.node();
    for (let i = 0; i < 200; i++) send(bad, 'mcp.v1.mail.acme.eve.a.b', letter({ id: `i${i}` }));
    for (let i = 0; i < 5000; i++) send(bad, `mcp.v1.mail.acme.eve.bad${i}.b`, letter({ id: `i${i}` }));
    await post.pass();
    expect(await post.outcome(a.mail.post('b', LETTER))).toMatchObject({ id: expect.any(String) as string });
    expect(b.received).toHaveLength(1);
  });

  test('has no answer written where its own permissions do not let it write', async () => {
    const b = post.office('b', ['bad']);
    post.office('bad', []);
    const bad = post.bus.node();
    for (const reply of ['$KV.bridge_hosts.acme.b', 'mcp.v1.req.acme.ann.tools-at-b.tools.list._', '_INBOX.>'])
      send(bad, 'mcp.v1.mail.acme.ann.bad.b', letter(), reply);
    await post.pass();
    expect(post.bus.published.map(({ subject }) => subject)).toEqual(Array(3).fill('mcp.v1.mail.acme.ann.bad.b'));
    expect(b.received).toEqual([]);
    expect(b.refused).toHaveLength(3);
  });
});

test('what waits for an answer ends with the daemon', async () => {
  const a = post.office('a', ['b']);
  post.office('b', ['a']);
  post.bus.fateOf = () => ({ isLost: true });
  const sent = a.mail.post('b', LETTER);
  a.mail.close();
  expect(await post.outcome(sent)).toContain('OUTCOME_UNKNOWN');
  const before = post.bus.published.length;
  await post.pass(5000);
  expect(post.bus.published).toHaveLength(before);
});
