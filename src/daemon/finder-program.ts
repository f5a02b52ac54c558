// The process that looks for servers: answers its daemon on stdin and stdout, and ends when that lets go of it, whatever
// has become of it.

import { Finding, KeptSources } from '../discovery/finding.ts';
import { useOpenAddon } from '../local/kernel-lock.ts';
import { messageOf } from '../util/bridge-error.ts';
import { type Deferred, deferred } from '../util/deferred.ts';
import { type FromFinder, receive, send, type ToFinder } from './finder-messages.ts';
import { ADDON_FD } from './kept-program.ts';

declare const MCP_BRIDGE_VERSION: string;

const say = (message: FromFinder): void => send(process.stdout, message);

let kept = new KeptSources();
let finding: Finding | undefined;
/** What is asked in one turn of the event loop is asked at once. */
let asked: { paths: string[]; readonly isWatched: Deferred<void> } | undefined;
const turns = new Map<number, Deferred<void>>();
let lastTurn = 0;

function ask(path: string): Promise<void> {
  if (asked === undefined) {
    asked = { paths: [], isWatched: deferred() };
    setImmediate(tellAsked);
  }
  asked.paths.push(path);
  return asked.isWatched.promise;
}

function tellAsked(): void {
  if (asked === undefined) return;
  const { paths, isWatched } = asked;
  asked = undefined;
  turns.set(++lastTurn, isWatched);
  say({ what: 'asked', turn: lastTurn, paths });
}

function theFinding(): Finding {
  finding ??= new Finding({ asked: ask, kept });
  return finding;
}

function heard(message: ToFinder): void {
  switch (message.what) {
    case 'remember':
      kept = new KeptSources(message.kept);
      break;
    case 'find':
      void answer(message.id, message.request);
      break;
    case 'watching':
      turns.get(message.turn)?.resolve();
      turns.delete(message.turn);
      break;
    case 'changed':
      theFinding().changed(message.paths);
      break;
    case 'refresh':
      theFinding().refresh(message.everything);
      break;
    case 'leave':
      theFinding().leave(message.dir);
      break;
    case 'settle': {
      const paths = theFinding().watched(message.dirs);
      if (paths !== undefined) say({ what: 'settled', paths, kept: kept.takeChanges() });
      break;
    }
  }
}

async function answer(id: number, request: Extract<ToFinder, { what: 'find' }>['request']): Promise<void> {
  try {
    const found = await theFinding().find(request);
    const paths = theFinding().pathsOf(request.dir);
    say({ what: 'found', id, answer: found, paths, kept: kept.takeChanges() });
  } catch (error) {
    say({ what: 'failed', id, message: messageOf(error) });
  }
}

if (process.argv[3] === 'addon') useOpenAddon(ADDON_FD);
process.stdin.on('end', () => process.exit(0)).on('error', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
if (process.argv[2] === MCP_BRIDGE_VERSION) receive<ToFinder>(process.stdin, heard);
else {
  say({ what: 'other-version', version: MCP_BRIDGE_VERSION });
  process.stdin.resume();
}
