// Clients over HTTP of both eras, while their daemon is restarted again and again: they call, break streams off and come back
// to them, and hang up in the middle. Each answer is checked; then all leave, and nothing of them may be left.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { descriptorsOf, until } from './place.mjs';
import { Dice } from './random.mjs';

const PATH = '/mcp/server/fixture';
const PATIENCE_MS = 60_000;
const VERSION_2025 = '2025-11-25';
const VERSION_2026 = '2026-07-28';
const KEY = 'io.modelcontextprotocol/';
const META_2026 = { [`${KEY}protocolVersion`]: VERSION_2026, [`${KEY}clientCapabilities`]: {} };
/** All who share the server hear of it. */
const LIST_CHANGES = { name: 'notify', arguments: { method: 'notifications/tools/list_changed' } };
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const isAnswer = ({ method, id }) => method === undefined && id !== undefined;

/** The daemons at one path, one after the other. */
class House {
  #place;
  #config;
  #path;
  daemon;
  #port = 0;
  /** Restarts that have begun; clients may see their connections end, and then a session that is not known. */
  restarts = 0;
  /** True while no restart is under way. */
  isStable = false;

  constructor(place) {
    const http = { listen: '127.0.0.1:0', tokens: false };
    const mcpServers = { fixture: { ...place.fixture(), idleMs: 200, sharing: 'shared' } };
    this.#place = place;
    this.#config = place.config({ mcpServers, http });
    this.#path = place.newPath('sock');
  }

  async start() {
    this.daemon = await this.#place.daemon({ config: this.#config, path: this.#path });
    const found = () => /"listening for HTTP".*?"port":(\d+)/.exec(this.daemon.stderr)?.[1];
    this.#port = Number(await until('it listens for HTTP', found));
    this.isStable = true;
  }

  async restart(signal) {
    await this.assertWell();
    this.isStable = false;
    this.restarts++;
    this.daemon.kill(signal);
    const { code } = await this.#place.ended(this.daemon);
    if (signal === 'SIGTERM') assert.equal(code, 0, this.daemon.stderr);
    this.#assertNothingLogged();
    await this.start();
  }

  async assertWell() {
    assert.equal((await this.daemon.status()).counters.internalErrors, 0, this.daemon.stderr);
    this.#assertNothingLogged();
  }

  #assertNothingLogged() {
    assert.doesNotMatch(this.daemon.stderr, /"level":"error"/);
  }

  /** Half of the clients use the socket, the others the port. */
  placeFor(number) {
    return number % 2 ? { host: '127.0.0.1', port: this.#port } : { socketPath: this.#path };
  }

  stable() {
    return until('the daemon is there again', () => this.isStable, PATIENCE_MS);
  }
}

/** A stream of server-sent events, cut into events as its text comes. */
class Events {
  #rest = '';

  /** Events with data, of what is there now; comments are passed over. */
  *in(text) {
    this.#rest += text;
    for (let end = this.#rest.indexOf('\n\n'); end >= 0; end = this.#rest.indexOf('\n\n')) {
      const fields = new Map();
      for (const line of this.#rest.slice(0, end).split('\n')) {
        const colon = line.indexOf(':');
        fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart());
      }
      this.#rest = this.#rest.slice(end + 2);
      const data = fields.get('data');
      if (data === undefined) continue;
      yield { eventId: fields.get('id'), message: data === '' ? undefined : JSON.parse(data) };
    }
  }
}

/** One client: what it asks, what has come, and what was wrong with that. */
class Client {
  #agent = new Agent({ keepAlive: true });
  #requests = 0;
  /** Its calls that are over, however they have ended. */
  calls = 0;

  constructor(house, tally, dice, number) {
    this.house = house;
    this.tally = tally;
    this.dice = dice;
    this.number = number;
    this.name = `${this.constructor.name} ${number}`;
  }

  close() {
    this.#agent.destroy();
  }

  fault(text) {
    this.tally.faults.push(`${this.name}: ${text}`);
  }

  /** The next number of a request. */
  next() {
    return ++this.#requests;
  }

  /**
   * One request over HTTP. Resolves when its response is over: to its status, its messages, and whether it is whole. `onEvent`
   * gets each event of a stream; the client hangs up if it returns true, or after `hangUpMs`. `behind` is the event that the
   * client comes back with.
   */
  ask({ method = 'POST', headers, body, behind, onEvent = () => false, hangUpMs, isEndless = false }) {
    let resolve;
    const promise = new Promise((settle) => {
      resolve = settle;
    });
    const { restarts } = this.house;
    const reply = { status: 0, headers: {}, messages: [], eventId: behind, isWhole: false, hasHungUp: false };
    const asked = request({
      ...this.house.placeFor(this.number),
      ...{ agent: this.#agent, method, path: PATH },
      headers: {
        ...{ host: 'localhost', accept: 'application/json, text/event-stream' },
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(behind !== undefined && { 'last-event-id': behind }),
        ...headers,
      },
    });
    const hangUp = () => {
      reply.hasHungUp = true;
      asked.destroy();
    };
    if (isEndless) this.hangUp = hangUp;
    const impatience = isEndless
      ? undefined
      : setTimeout(() => {
          this.fault(`never answered: ${body}`);
          hangUp();
        }, PATIENCE_MS);
    const cut = hangUpMs === undefined ? undefined : setTimeout(hangUp, hangUpMs);
    const over = () => {
      clearTimeout(impatience);
      clearTimeout(cut);
      // A connection that was kept may be closed at the very moment in which it is used again.
      reply.mayBeLost = reply.hasHungUp || this.house.restarts > restarts || !this.isStableSince(restarts);
      reply.mayBeLost ||= asked.reusedSocket && reply.status === 0;
      resolve(reply);
    };
    asked.on('error', () => undefined).on('close', over);
    asked.on('response', (response) => {
      reply.status = response.statusCode;
      reply.headers = response.headers;
      const isStream = response.headers['content-type'] === 'text/event-stream';
      const events = new Events();
      let text = '';
      const take = (chunk) => {
        if (reply.hasHungUp) return;
        if (!isStream) {
          text += chunk;
          return;
        }
        for (const { eventId, message } of events.in(chunk)) {
          if (reply.hasHungUp) return; // as if it had not come
          if (eventId !== undefined) this.#noteEvent(reply, eventId);
          if (message !== undefined) reply.messages.push(message);
          if (onEvent(message, eventId) === true) hangUp();
        }
      };
      response
        .on('error', () => undefined)
        .on('end', () => {
          reply.isWhole = response.complete && !reply.hasHungUp;
          if (reply.isWhole && !isStream && text !== '') reply.messages.push(JSON.parse(text));
        });
      response.setEncoding('utf8').on('data', take);
    });
    asked.end(body);
    return promise;
  }

  isStableSince(restarts) {
    return this.house.isStable && this.house.restarts === restarts;
  }

  /** Places in a stream go up; an event that comes twice has the place of another. */
  #noteEvent(reply, eventId) {
    const place = (id) => Number(id.split('-')[1]);
    if (reply.eventId !== undefined && place(eventId) <= place(reply.eventId))
      this.fault(`event ${eventId} came behind ${reply.eventId}`);
    reply.eventId = eventId;
  }

  /** All messages that belong to one call, in the order in which they came: one answer with its own text, at most. */
  judge(reply, { id, text, notes, token }) {
    const { tally } = this;
    const answers = reply.messages.filter(isAnswer);
    const wrong = (what) => this.fault(`${what}: ${id} ${text} got ${reply.status} ${JSON.stringify(reply.messages)}`);
    let progress = 0;
    for (const message of reply.messages) {
      if (isAnswer(message)) continue;
      const { method, params } = message;
      if (method !== 'notifications/progress') continue; // a list has changed
      if (params.progressToken !== token || params.message !== text) return wrong('progress of somebody else');
      if (params.progress !== ++progress) return wrong('progress lost or repeated');
    }
    if (answers.length > 1) return wrong('answered twice');
    const [answer] = answers;
    if (answer === undefined) {
      if (reply.hasHungUp) tally.hungUp++;
      else if (reply.mayBeLost) tally.lost++;
      else wrong('not answered');
      return;
    }
    if (answer.id !== id) return wrong('the answer to another request');
    if (answer.error !== undefined) {
      if (answer.error.data?.code === 'SHUTTING_DOWN' && reply.mayBeLost) tally.refused++;
      else wrong('an error');
      return;
    }
    if (answer.result?.content?.[0]?.text !== text) return wrong('the answer to another call');
    if (token !== undefined && progress !== notes) return wrong('progress lost');
    tally.answers++;
  }

  /** A call with a text of its own, and how it is made. */
  newCall(id) {
    const { dice } = this;
    if (dice.once(10)) return { id, text: 'ok', notes: 0, token: undefined, tool: LIST_CHANGES };
    const name = `${this.name}:${this.next()}`;
    const text = `${name}:${'x'.repeat(dice.below(300))}`;
    if (dice.once(2)) return { id, text, notes: 0, token: undefined, tool: { name: 'echo', arguments: { text } } };
    const notes = 1 + dice.below(8);
    const ms = dice.once(3) ? dice.below(100) : 0;
    return { id, text, notes, token: name, tool: { name: 'noted', arguments: { text, notes, ms } } };
  }
}

/** A client with a session, a stream for what belongs to no request, and streams that it comes back to. */
class Client2025 extends Client {
  #session;
  #standing;

  /** True while it has a session of the daemon that runs now. */
  get isServed() {
    return this.#session?.restarts === this.house.restarts;
  }

  async live(isOver) {
    while (!isOver()) {
      if (this.#session === undefined) await this.#begin();
      else {
        await this.#act();
        this.calls++;
      }
    }
    await this.#leave();
  }

  async #begin() {
    await this.house.stable();
    const { restarts } = this.house;
    const clientInfo = { name: this.name, version: '1' };
    const params = { protocolVersion: VERSION_2025, capabilities: {}, clientInfo };
    const reply = await this.ask({ body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }) });
    const id = reply.headers['mcp-session-id'];
    const isGood = reply.isWhole && reply.messages[0]?.result !== undefined && id !== undefined;
    if (!isGood) {
      if (!reply.mayBeLost) this.fault(`no session: ${reply.status} ${JSON.stringify(reply.messages)}`);
      return;
    }
    // Undefined: it may have been begun with either of two daemons.
    const session = { id, restarts: this.isStableSince(restarts) ? restarts : undefined, isGone: false };
    this.#session = session;
    this.tally.sessions++;
    const { status } = await this.#say({ method: 'notifications/initialized' });
    if (status === 202) this.#standing = this.#listen(session);
  }

  #headers(session = this.#session) {
    return { 'mcp-session-id': session.id, 'mcp-protocol-version': VERSION_2025 };
  }

  async #say(message, more = {}) {
    const session = this.#session;
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const sent = { restarts: this.house.restarts, isStable: this.house.isStable };
    const reply = await this.ask({ body, headers: this.#headers(), ...more });
    this.#judgeSession(session, reply, sent);
    return reply;
  }

  /** A session is known until its daemon has gone, and not afterwards. */
  #judgeSession(session, reply, sent) {
    const isOfEarlier = session.restarts !== undefined && sent.isStable && session.restarts < sent.restarts;
    if (reply.status === 404) {
      if (session.restarts === this.house.restarts) this.fault('its session was forgotten');
      if (!session.isGone) this.tally.forgotten++;
      session.isGone = true;
      if (this.#session === session) this.#session = undefined;
    } else if (isOfEarlier && reply.status !== 0) this.fault(`${reply.status} in a session of before a restart`);
  }

  async #act() {
    const { dice } = this;
    const call = this.newCall(this.next());
    const { tool, token } = call;
    const params = { ...tool, ...(token !== undefined && { _meta: { progressToken: token } }) };
    const message = { id: call.id, method: 'tools/call', params };
    const way = dice.below(8);
    if (way === 0) this.hangUp?.(); // the stream for what belongs to no request
    const reply =
      way === 2
        ? await this.#say(message, { hangUpMs: dice.below(20) })
        : token !== undefined && way < 6
          ? await this.#brokenOff(message, 1 + dice.below(call.notes))
          : await this.#say(message);
    if (reply.status === 404) return;
    if (reply.status === 503 && reply.mayBeLost) return void this.tally.refused++;
    this.judge(reply, call);
    if (reply.status === 0) await this.house.stable();
  }

  /** Hangs up behind so many events, and comes back for the rest, again and again. */
  async #brokenOff(message, mostEvents) {
    const session = this.#session;
    let left = mostEvents;
    const onEvent = (_message, eventId) => eventId !== undefined && --left === 0;
    let reply = await this.#say(message, { onEvent });
    const messages = [...reply.messages];
    while (reply.hasHungUp && reply.eventId !== undefined && !messages.some(isAnswer)) {
      left = this.dice.once(3) ? 1 : Number.POSITIVE_INFINITY;
      const sent = { restarts: this.house.restarts, isStable: this.house.isStable };
      const headers = { ...this.#headers(session), accept: 'text/event-stream' };
      reply = await this.ask({ method: 'GET', headers, behind: reply.eventId, onEvent });
      this.#judgeSession(session, reply, sent);
      if (reply.status === 200) this.tally.resumed++;
      messages.push(...reply.messages);
      if (reply.status === 0 && !reply.hasHungUp) {
        // The daemon has gone, and may be there again.
        if (!reply.mayBeLost) return { ...reply, messages };
        await this.house.stable();
        reply.hasHungUp = true;
      }
    }
    return { ...reply, messages, hasHungUp: false };
  }

  /** Hears what belongs to no request for as long as the session lasts, and comes back whenever that stream breaks off. */
  async #listen(session) {
    let eventId;
    while (!session.isGone && !session.isEnded) {
      const sent = { restarts: this.house.restarts, isStable: this.house.isStable };
      const reply = await this.ask({
        ...{ method: 'GET', isEndless: true, behind: eventId },
        headers: { ...this.#headers(session), accept: 'text/event-stream' },
        onEvent: (message) => {
          if (message !== undefined && message.method !== 'notifications/tools/list_changed')
            this.fault(`it belongs to a request: ${JSON.stringify(message)}`);
          if (message !== undefined) this.tally.notices++;
        },
      });
      if (session.isEnded) return;
      this.#judgeSession(session, reply, sent);
      if (reply.status === 200 && eventId !== undefined) this.tally.resumed++;
      if (reply.status !== 200 && reply.status !== 404 && !reply.mayBeLost)
        this.fault(`its stream got ${reply.status} ${JSON.stringify(reply.messages)}`);
      eventId = reply.eventId;
      await this.house.stable();
    }
  }

  async #leave() {
    const session = this.#session;
    if (session !== undefined) {
      session.isEnded = true;
      const { status } = await this.ask({ method: 'DELETE', headers: this.#headers(session) });
      if (status !== 200) this.fault(`${status} for its end`);
    }
    await this.#standing;
    this.close();
  }
}

/** A client whose requests stand alone. */
class Client2026 extends Client {
  async live(isOver) {
    for (; !isOver(); this.calls++) await this.#act();
    this.close();
  }

  async #act() {
    const { dice } = this;
    // All clients use the same ids.
    const call = this.newCall(1 + (this.next() % 5));
    const { tool, token, id } = call;
    const _meta = { ...META_2026, ...(token !== undefined && { progressToken: token }) };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...tool, _meta } });
    const headers = { 'mcp-protocol-version': VERSION_2026, 'mcp-method': 'tools/call', 'mcp-name': tool.name };
    let left = dice.once(4) ? 1 + dice.below(4) : Number.POSITIVE_INFINITY;
    const hangUpMs = dice.once(8) ? dice.below(20) : undefined;
    const reply = await this.ask({ body, headers, hangUpMs, onEvent: () => --left === 0 });
    if (reply.status === 503 && reply.mayBeLost) this.tally.refused++;
    else this.judge(reply, call);
    if (reply.status === 0) await this.house.stable();
  }
}

/** Some clients of each era live until told to leave; then all leave. */
async function party(house, { tally, dice, count, whileThere }) {
  const lasting = times(count, (i) => new Client2025(house, tally, new Dice(dice.below(2 ** 32)), i));
  const brief = times(count, (i) => new Client2026(house, tally, new Dice(dice.below(2 ** 32)), i));
  let isOver = false;
  const lives = [...lasting, ...brief].map((client) => client.live(() => isOver || tally.faults.length > 0));
  const all = Promise.all(lives);
  all.catch(() => undefined); // it is waited for below, unless something else has failed before
  await Promise.race([whileThere(lasting, brief), all]);
  isOver = true;
  await all;
}

/**
 * All have left: nothing is under way for them, and nobody is there. In the short form links of requests of 2026 may still be
 * there, and their server with them: they go when nobody has used them for half a minute.
 */
async function emptied({ daemon }, isShort) {
  const isLink = ({ protocolVersion, inFlight, listening }) =>
    (protocolVersion === VERSION_2026 || protocolVersion === null) && inFlight + listening === 0;
  const hasNobody = async () => {
    const clients = (await daemon.clients()).filter(({ view }) => view !== 'control');
    const { instances, parked, suspended } = await daemon.status();
    if (parked + suspended > 0 || instances.some(({ inFlight }) => inFlight > 0)) return false;
    if (isShort) return clients.every(isLink);
    return clients.length === 0 && instances.every(({ pid }) => pid === null);
  };
  await until('all have gone', hasNobody, PATIENCE_MS).catch(async (error) => {
    throw new Error(`${error.message}: ${JSON.stringify([await daemon.clients(), await daemon.status()])}`);
  });
}

async function restarts(place, { isShort }) {
  const seed = isShort ? 1 : Math.floor(Math.random() * 2 ** 31);
  const dice = new Dice(seed);
  const house = new House(place);
  const tally = {
    ...{ answers: 0, hungUp: 0, lost: 0, refused: 0, resumed: 0, notices: 0, sessions: 0, forgotten: 0 },
    faults: [],
  };
  const assertFair = () => assert.deepEqual(tally.faults.slice(0, 5), [], `seed ${seed}`);
  await house.start();
  // What a few leave is what each daemon has loaded for them.
  const firstCalls = async () => until('they are served', () => tally.answers >= 20 || tally.faults.length > 0);
  await party(house, { tally, dice, count: 2, whileThere: firstCalls });
  assertFair();
  await emptied(house, isShort);
  const before = descriptorsOf(house.daemon.pid);

  const count = isShort ? 6 : 12;
  const rounds = isShort ? 4 : 40;
  const answersEach = isShort ? 100 : 600;
  const whileThere = async (lasting, brief) => {
    for (let round = 0; round <= rounds && tally.faults.length === 0; round++) {
      const { answers, resumed } = tally;
      const calls = new Map([...lasting, ...brief].map((client) => [client, client.calls]));
      const isServed = () =>
        lasting.every((client) => client.isServed) &&
        [...calls].every(([client, had]) => client.calls > had + 2) &&
        tally.answers >= answers + answersEach &&
        tally.resumed > resumed;
      await until('all are served again', () => isServed() || tally.faults.length > 0, PATIENCE_MS);
      if (round < rounds) await house.restart(round % 4 === 3 ? 'SIGKILL' : 'SIGTERM');
    }
  };
  const forgotten = tally.forgotten;
  await party(house, { tally, dice, count, whileThere });
  assertFair();
  assert.equal(tally.forgotten - forgotten, count * rounds, 'each session of before a restart got 404, once');
  assert(tally.hungUp > 0 && tally.notices > 0, JSON.stringify(tally));
  await emptied(house, isShort);
  const { pid } = house.daemon;
  // Each that was hung up on would have kept one.
  await until(`descriptors are back, ${before} at first`, () => descriptorsOf(pid) <= before + 6);
  const after = descriptorsOf(pid);
  await house.assertWell();
  return (
    `${rounds} restarts under ${2 * count} clients: ${tally.answers} answers, each to its own call, none wrong or repeated; ` +
    `${tally.lost} lost with their connection, ${tally.refused} refused by a daemon that was leaving, ${tally.hungUp} hung up on; ` +
    `${tally.resumed} streams went on, ${tally.forgotten} sessions got 404 and began again; descriptors ${before} → ${after}`
  );
}

export const httpRestarts = {
  'restarts under clients over HTTP': restarts,
};
