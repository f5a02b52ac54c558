// The command that the suite runs for each of its client scenarios: `main.mjs [without-handshake] URL`. A bridge of its own stands between the suite's
// server and a client that knows nothing of HTTP and OAuth. It fails when a request fails for another reason than a sign-in.
import { Bridge } from '../bridge.mjs';
import { Workspace } from '../workspace.mjs';
import { AnyClient } from './any-client.mjs';
import { signIn } from './person.mjs';
import { SocketPeer } from './socket-peer.mjs';

const NAME = 'suite';
/** A description of this client that authorization servers could read, if it were on the web. */
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json';
/** More sign-ins than any scenario needs. It only bounds a run: the bridge must end them before. */
const MOST_SIGN_INS = 6;

const url = process.argv.at(-1);
/** Undefined for a client that says in its handshake what it wants to see. */
const view = process.argv.includes('without-handshake') ? `server:${NAME}` : undefined;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');

/** What a user would write about the server. */
function definition() {
  const { client_id: clientId = CLIENT_DOCUMENT, client_secret: clientSecret } = context;
  return { url, oauth: { clientId, ...(clientSecret === undefined ? {} : { clientSecret }) } };
}

/** Repeats the request after each sign-in that the bridge asks for. */
function signingIn(bridge) {
  let signIns = 0;
  return async (request) => {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (error.data?.code !== 'SERVER_AUTH_REQUIRED' || ++signIns > MOST_SIGN_INS) throw error;
        await signIn(bridge, NAME);
      }
    }
  };
}

const workspace = new Workspace();
try {
  const bridge = new Bridge(workspace);
  await bridge.start({ [NAME]: definition() });
  const client = new AnyClient(() => new SocketPeer(bridge.socket, NAME), signingIn(bridge), view);
  await client.tryAll(context.toolCalls);
  await client.close();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await workspace.close();
}
