// Clients that can resume, in memory: how they come, come back, and what they and the server have got.

import type { CoreInMemory, Message } from './core-in-memory.ts';
import { ResumingClient, wireInMemory } from './resuming-client.ts';

export const ready = (core: CoreInMemory, meta: object = {}, more: object = {}): Promise<ResumingClient> =>
  ResumingClient.ready(wireInMemory(core), { ...meta }, more);
export const comeBack = (core: CoreInMemory, client: ResumingClient, wish: object = {}): Promise<Message> =>
  client.resume(wireInMemory(core), { ...wish });
export const calls = (core: CoreInMemory): Message[] =>
  core.server().requests.filter(({ method }) => method === 'tools/call');
export const idsOf = (client: ResumingClient): unknown[] => {
  client.take();
  return client.messages.map(({ id, method, params }) => id ?? params?.progressToken ?? method);
};
export const codeOf = ({ error }: Message): unknown => error?.data?.code;
