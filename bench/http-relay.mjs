// The plainest thing that can speak Streamable HTTP before a server of lines: each session has a server of its own, a body is a
// line, and the line that comes back under its id is the answer. It reads nothing else.
//   node http-relay.mjs PORT COMMAND [ARGUMENT...]
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { lineReader } from './line-reader.mjs';

const [port, command, ...args] = process.argv.slice(2);
const NEWLINE = Buffer.from('\n');
const ID = /^\{"jsonrpc":"2\.0","id":(\d+)/;
const idOf = (bytes) => ID.exec(bytes.toString('latin1', 0, 64))?.[1];

const sessions = new Map();

function begin() {
  const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const session = { name: `s${sessions.size}`, server, open: new Map() };
  sessions.set(session.name, session);
  server.stdout.on(
    'data',
    lineReader((line) => {
      const id = idOf(line);
      const response = session.open.get(id);
      session.open.delete(id);
      response?.writeHead(200, {
        ...{ 'content-type': 'application/json', 'mcp-session-id': session.name },
        'content-length': line.length,
      });
      response?.end(line);
    }),
  );
  return session;
}

function take(request, response, body) {
  const session = sessions.get(request.headers['mcp-session-id']) ?? begin();
  const id = idOf(body);
  session.server.stdin.write(body);
  if (body[body.length - 1] !== NEWLINE[0]) session.server.stdin.write(NEWLINE);
  if (id === undefined) return response.writeHead(202).end();
  session.open.set(id, response);
}

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (request.method === 'POST')
      return take(request, response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    sessions.get(request.headers['mcp-session-id'])?.server.stdin.end();
    response.writeHead(200).end();
  });
}).listen({ port: Number(port), host: '127.0.0.1', backlog: 1024 });
