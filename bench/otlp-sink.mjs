// A collector that takes everything and keeps nothing, in a process of its own: prints its port.
import { createServer } from 'node:http';

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200, { 'content-type': request.headers['content-type'] }).end());
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
