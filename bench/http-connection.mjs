// MCP over HTTP as raw as it goes, with connections kept alive: Streamable HTTP, where each request has its answer in
// its own response, and the older SSE, where all answers come in one stream.
import { Agent, get, request } from 'node:http';
import { lineReader } from './line-reader.mjs';

const PROTOCOL = '2025-06-18';
const EXCERPT = 120;
const newAgent = () => new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Returns a listener for 'data' that calls onEvent(event, data); each message is one line of data in MCP. */
function eventReader(onEvent) {
  let event = 'message';
  return lineReader((bytes) => {
    const line = bytes.toString().trimEnd();
    if (line.startsWith('event:')) event = line.slice(6).trim();
    if (!line.startsWith('data:')) return;
    const data = line.slice(5).trim();
    if (data !== '') onEvent(event, data);
    event = 'message';
  });
}

function post(url, { agent, headers }, line) {
  const outgoing = request(url, {
    method: 'POST',
    agent,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(line),
      ...headers,
    },
  });
  outgoing.end(line);
  return outgoing;
}

function readText(response, onText) {
  const pieces = [];
  response.on('data', (piece) => pieces.push(piece));
  response.on('end', () => onText(Buffer.concat(pieces).toString()));
}

const refusal = ({ statusCode }, text) => `HTTP ${statusCode} ${text.slice(0, EXCERPT)}`;

export function openHttp(url, on) {
  const session = { agent: newAgent(), headers: {} };
  const onResponse = (response, id) => {
    const sessionId = response.headers['mcp-session-id'];
    if (sessionId !== undefined) session.headers = { 'mcp-session-id': sessionId, 'mcp-protocol-version': PROTOCOL };
    response.on('error', (error) => on.failed(id, error.message)).on('close', () => on.failed(id, 'response ended'));
    const isStream = (response.headers['content-type'] ?? '').includes('text/event-stream');
    if (isStream)
      response.on(
        'data',
        eventReader((_, data) => on.message(JSON.parse(data))),
      );
    else readText(response, (text) => onWhole(response, { text, id }));
  };
  const onWhole = (response, { text, id }) => {
    if (response.statusCode >= 400) on.failed(id, refusal(response, text));
    else if (text.trim() !== '') on.message(JSON.parse(text));
  };
  const send = (line, id) => {
    const outgoing = post(url, session, line);
    outgoing.on('response', (response) => onResponse(response, id));
    outgoing.on('error', (error) => on.failed(id, error.message));
  };
  return { send, close: () => endSession(url, session) };
}

/** Says goodbye, so that what the other side keeps for this client can go. */
function endSession(url, { agent, headers }) {
  const outgoing = request(url, { method: 'DELETE', agent, headers });
  outgoing.on('response', (response) => response.resume()).on('error', () => agent.destroy());
  outgoing.on('close', () => agent.destroy()).end();
}

export function openSse(url, on) {
  const agent = newAgent();
  let sendNow = (line, id) => held.push([line, id]);
  const held = [];
  const onEvent = (event, data) => {
    if (event !== 'endpoint') return on.message(JSON.parse(data));
    sendNow = (line, id) => postTo(new URL(data, url), { agent, on, line, id });
    for (const [line, id] of held.splice(0)) sendNow(line, id);
  };
  const stream = get(url, { headers: { accept: 'text/event-stream' } }, (response) => {
    if (response.statusCode !== 200) on.lost(`HTTP ${response.statusCode}`);
    response.on('data', eventReader(onEvent));
    response.on('error', (error) => on.lost(error.message)).on('close', () => on.lost('closed'));
  });
  stream.on('error', (error) => on.lost(error.message));
  const close = () => {
    stream.destroy();
    agent.destroy();
  };
  return { send: (line, id) => sendNow(line, id), close };
}

/** The answer comes in the stream; the response only says whether the message was taken. */
function postTo(url, { agent, on, line, id }) {
  const outgoing = post(url, { agent, headers: {} }, line);
  outgoing.on('error', (error) => on.failed(id, error.message));
  outgoing.on('response', (response) => {
    if (response.statusCode < 400) response.resume();
    else readText(response, (text) => on.failed(id, refusal(response, text)));
  });
}
