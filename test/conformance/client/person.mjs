// The person who signs in: runs `mcp-bridge auth`, and opens the page that it prints in a browser that follows redirects.
import { once } from 'node:events';

/** Resolves when the sign-in has succeeded. */
export async function signIn(bridge, server) {
  const child = bridge.startAuth(server);
  let said = '';
  const note = (chunk) => {
    said += chunk;
  };
  child.stderr.setEncoding('utf8').on('data', note);
  child.stdout.setEncoding('utf8').on('data', note);
  const over = once(child, 'close');
  for await (const _ of untilOver(child.stdout, over)) {
    const page = /^(https?:.*)\n/m.exec(said)?.[1];
    if (page === undefined) continue;
    await fetch(page);
    break;
  }
  const [code] = await over;
  if (code !== 0) throw new Error(`The sign-in has failed: ${said}`);
}

/** Yields each time that something has been read, until the program is over. */
async function* untilOver(stream, over) {
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  while (!isOver) yield Promise.race([once(stream, 'data'), over]);
}
