// What the bridge does, as simple as it can be said: who asked what, who is to get which answer, once. It knows nothing
// of bytes, queues, turns or limits.

export type Outcome = 'echo' | 'crashed' | 'failed';

export interface ModelCall {
  readonly client: number;
  readonly id: number;
  /** `done` has had its answer, or is to get none. */
  state: 'open' | 'cancelled' | 'done';
  /** Whether the server has it. */
  isSent: boolean;
  answer: Outcome | undefined;
}

export class ReferenceModel {
  readonly calls: ModelCall[] = [];
  /** Clients whose sessions have ended: nobody gets their answers. */
  readonly gone = new Set<number>();
  /** Clients that may come back. */
  readonly away = new Set<number>();

  call(client: number): number {
    const id = 1 + this.calls.filter((call) => call.client === client).length;
    this.calls.push({ client, id, state: 'open', isSent: false, answer: undefined });
    return id;
  }

  /** Of one that has its answer already, nothing comes. */
  cancel(client: number, id: number): void {
    const call = this.#find(client, id);
    if (call?.state === 'open') call.state = 'cancelled';
  }

  /** The server has got it, which it must have been asked only once. */
  sent(client: number, id: number): void {
    const call = this.#find(client, id);
    if (call === undefined || call.isSent) throw new Error(`client ${client} has not asked ${id}, or only once`);
    call.isSent = true;
  }

  /** The server answers: whoever waits gets that, and who has cancelled gets nothing. */
  answered(client: number, id: number): void {
    const call = this.#find(client, id);
    if (call === undefined) throw new Error(`nobody has asked ${client}/${id}`);
    this.#end(call, 'echo');
  }

  /** Whatever the server had is lost; what it had not waits for the next one. */
  crashed(): void {
    for (const call of this.calls) if (call.isSent) this.#end(call, 'crashed');
  }

  /** The server does not start: all who wait for it are told. */
  failedToStart(): void {
    for (const call of this.calls) if (!call.isSent) this.#end(call, 'failed');
  }

  dropped(client: number): void {
    this.away.add(client);
  }

  resumed(client: number): void {
    this.away.delete(client);
  }

  /** For good: nothing is answered any more, and what it had under way is given up. */
  left(client: number): void {
    this.away.delete(client);
    this.gone.add(client);
    for (const call of this.calls) if (call.client === client && call.state === 'open') call.state = 'cancelled';
  }

  /** What a client has got by now, or gets when it is back: each id once, with what it was. */
  answersOf(client: number): ReadonlyMap<number, Outcome> {
    const own = this.calls.filter((call) => call.client === client);
    return new Map(own.flatMap(({ id, answer }) => (answer === undefined ? [] : [[id, answer] as const])));
  }

  #find(client: number, id: number): ModelCall | undefined {
    return this.calls.find((call) => call.client === client && call.id === id);
  }

  #end(call: ModelCall, answer: Outcome): void {
    if (call.state === 'open') call.answer = answer;
    call.state = 'done';
  }
}
