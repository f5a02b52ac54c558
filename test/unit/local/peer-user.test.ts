import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { platform } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { peerUser } from '../../../src/local/peer-user.ts';

/** The server's end of a connection from this address and port, or of one from any port. */
async function accepted(localAddress: string, localPort?: number): Promise<Socket> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: '127.0.0.1', port, localAddress, ...(localPort !== undefined && { localPort }) });
  const [socket] = (await once(server, 'connection')) as [Socket];
  onTestFinished(async () => {
    client.destroy();
    socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return socket;
}

const isLinux = platform() === 'linux';

test.runIf(isLinux)('the user of the other end is known', async () => {
  expect(await peerUser(await accepted('127.0.0.1'))).toBe(process.getuid?.());
});

test.runIf(isLinux)('the same port at another address is another end', async () => {
  const { remoteAddress, remotePort, localAddress, localPort } = await accepted('127.0.0.2');
  const ends = { remoteAddress, remotePort, localAddress, localPort };
  expect(await peerUser(ends)).toBe(process.getuid?.());
  expect(await peerUser({ ...ends, remoteAddress: '127.0.0.1' })).toBeUndefined();
  expect(await peerUser({ ...ends, localAddress: '127.0.0.3' })).toBeUndefined();
  expect(await peerUser({ ...ends, remoteAddress: undefined })).toBeUndefined();
});
