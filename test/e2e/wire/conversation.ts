// One conversation of the client of the script with a server, recorded on both legs: directly, or through a bridge.

import { once } from 'node:events';
import { connect } from 'node:net';
import { duplexPair } from 'node:stream';
import type { Recording } from './comparison.ts';
import { type Script, Speaker, type Speech } from './script.ts';
import { type Alter, endsOf, joinEnds, type Line, type ServerTap, type Start } from './tap.ts';

/** Ended if nothing more comes for so long: with a fault between, some answers never come. */
const STALL_MS = 700;

export async function converseDirectly(start: Start, script: Script, speech: Speech): Promise<Recording> {
  const server = start();
  const [ours, theirs] = duplexPair();
  const lines: Line[] = [];
  joinEnds(endsOf(theirs), server.ends, 'client', lines);
  const speaker = new Speaker(endsOf(ours), script, speech);
  await speaker.run();
  const recording = { client: [...lines], server: [...lines] };
  speaker.end();
  await server.stop();
  return recording;
}

export interface Through {
  readonly socketPath: string;
  readonly tap: ServerTap;
  readonly script: Script;
  readonly speech: Speech;
  /** A fault between the client and the bridge. */
  readonly alter?: Alter | undefined;
  /** Whether something is wrong on purpose, so that answers may never come. */
  readonly mayStall?: boolean;
}

export async function converseThrough({
  socketPath,
  tap,
  script,
  speech,
  alter,
  mayStall,
}: Through): Promise<Recording> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  await once(socket, 'connect');
  const [ours, theirs] = duplexPair();
  const lines: Line[] = [];
  joinEnds(endsOf(theirs), endsOf(socket), 'client', lines, alter);
  const speaker = new Speaker(endsOf(ours), script, speech);
  const isOver = speaker.run();
  await (mayStall === true ? Promise.race([isOver, stalled(() => lines.length + tap.lines.length)]) : isOver);
  const recording = { client: [...lines], server: [...tap.lines] };
  speaker.end();
  socket.destroy();
  return recording;
}

async function stalled(progress: () => number): Promise<void> {
  for (let before = -1; before !== progress(); ) {
    before = progress();
    await new Promise((resolve) => setTimeout(resolve, STALL_MS).unref());
  }
}
