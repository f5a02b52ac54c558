// The page's connection to `mcp-bridge ui`: trades the code in the address for a session, keeps the live stream open,
// and sends requests. It passes on what arrives, and keeps no state of the daemon.

import { signal } from '@preact/signals';
import type { LiveMessage, PageAnswer } from '../ui/page-protocol.ts';

const KEY = 'mcp-bridge-key';
const RETRY_MS = 1000;
/** How often a broken stream is retried before the page gives up. */
const MOST_RETRIES = 6;

export type Phase =
  | { readonly is: 'entering' }
  | { readonly is: 'open' }
  | { readonly is: 'lost' }
  | { readonly is: 'over'; readonly reason: string };

export const phase = signal<Phase>({ is: 'entering' });

/** A refusal by the daemon or the dashboard, in words for people. */
export class PageRefusal extends Error {
  readonly hint: string;

  constructor(message: string, hint = '') {
    super(message);
    this.hint = hint;
  }
}

/** Signs in: with the code in the address, or with this page's key. False if the page has ended. */
export async function enter(): Promise<boolean> {
  const [, code] = /^#code=([\w-]+)/.exec(location.hash) ?? [];
  if (code !== undefined) {
    history.replaceState(null, '', '#/');
    const response = await post('/api/enter', { code }).catch(() => undefined);
    if (response?.ok === true) {
      sessionStorage.setItem(KEY, ((await response.json()) as { key: string }).key);
      return true;
    }
    // A person who returns to the address of an open page may continue.
    if (sessionStorage.getItem(KEY) === null) {
      over('The code in this address was used already, or is older than a minute.');
      return false;
    }
  }
  if (sessionStorage.getItem(KEY) !== null) return true;
  over('This address has no code in it, so the dashboard does not know who you are.');
  return false;
}

function over(reason: string): void {
  phase.value = { is: 'over', reason };
}

/** Keeps the live stream open until the page ends. */
export async function follow(heard: (message: LiveMessage) => void): Promise<void> {
  for (let retries = 0; retries < MOST_RETRIES; retries++) {
    const response = await fetch('/api/live', { headers: keyHeader() }).catch(() => undefined);
    if (response?.status === 401) return over('This page is of a dashboard that has ended.');
    if (response?.ok === true && response.body !== null) {
      retries = 0;
      phase.value = { is: 'open' };
      await read(response.body, heard).catch(() => undefined);
    }
    phase.value = { is: 'lost' };
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  over('The program that shows this page, mcp-bridge ui, has ended.');
}

async function read(body: ReadableStream<Uint8Array>, heard: (message: LiveMessage) => void): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) if (event.startsWith('data: ')) heard(JSON.parse(event.slice(6)) as LiveMessage);
  }
}

/** Sends a request to the daemon or the dashboard. Rejects with a PageRefusal. */
export async function ask<Answer>(method: string, params: object = {}, signal?: AbortSignal): Promise<Answer> {
  const response = await post('/api/ask', { method, params }, signal).catch(() => undefined);
  if (response === undefined) throw new PageRefusal('The dashboard does not answer', 'Is mcp-bridge ui still running?');
  if (response.status === 401) over('This page is of a dashboard that has ended.');
  if (!response.ok) throw new PageRefusal('The dashboard refuses this page', 'Type: mcp-bridge ui');
  const answer = (await response.json()) as PageAnswer;
  if ('result' in answer) return answer.result as Answer;
  throw new PageRefusal(answer.error.message, answer.error.hint);
}

function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...keyHeader() };
  return fetch(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) });
}

function keyHeader(): Record<string, string> {
  const key = sessionStorage.getItem(KEY);
  return key === null ? {} : { 'x-mcp-bridge-key': key };
}
