// The recorded tools of public servers, and the questions about them, as bench/ has them.

import { readdirSync, readFileSync } from 'node:fs';
import type { SearchableServer, SearchableTool } from '../../src/search/tool-index.ts';

const DIR = new URL('../../bench/search/tools/', import.meta.url);
const QUESTIONS = new URL('../../bench/search-quality.json', import.meta.url);

interface RecordedServer {
  readonly name: string;
  readonly tools: readonly {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly inputSchema: { readonly properties?: object };
  }[];
}

export interface RecordedQuestion {
  readonly question: string;
  /** `server:tool`: any of them is right. */
  readonly tools: readonly string[];
  readonly set: 'tuning' | 'held-out';
}

export function recordedQuestions(): RecordedQuestion[] {
  return JSON.parse(readFileSync(QUESTIONS, 'utf8')) as RecordedQuestion[];
}

export function recordedServers(): { readonly server: SearchableServer; readonly tools: SearchableTool[] }[] {
  const records = readdirSync(DIR).map(
    (file) => JSON.parse(readFileSync(new URL(file, DIR), 'utf8')) as RecordedServer,
  );
  return records.map(({ name, tools }) => ({
    server: { name, description: '' },
    tools: tools.map(({ name, title, description, inputSchema }) => ({
      name,
      title,
      description,
      parameters: Object.keys(inputSchema.properties ?? {}),
      tags: [],
    })),
  }));
}
