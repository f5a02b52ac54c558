// Prints the story of a demonstration: in steps, at reading pace on a terminal, plainly in a pipe. It does none of the
// steps.

import { setTimeout as pause } from 'node:timers/promises';
import { BridgeError } from '../../../util/bridge-error.ts';
import type { CliHost } from '../../host.ts';
import { type Colours, coloursOf } from '../../render/colour.ts';
import { printable } from '../../render/table.ts';
import { widthOf } from '../../render/terminal.ts';

/** The pause that lets a person read along. */
const STEP_PAUSE_MS = 900;

export function demand(holds: boolean, what: string): asserts holds {
  if (holds) return;
  throw new BridgeError('DEMO_FAILED', `The demo has failed. It should show that ${what}`, {
    hint: 'See: mcp-bridge doctor',
  });
}

export class Show {
  readonly #host: CliHost;
  #steps = 0;
  #isOver = false;

  constructor(host: CliHost) {
    this.#host = host;
  }

  async step(title: string): Promise<void> {
    if (widthOf(this.#host) !== undefined) await pause(STEP_PAUSE_MS);
    const heading = `${++this.#steps}. ${title}`;
    this.say('', '');
    this.#write(coloursOf(this.#host)?.heading(heading) ?? heading);
  }

  say(text: string, indent = this.#steps === 0 ? '' : '   '): void {
    for (const line of text.split('\n')) this.#write(`${indent}${printable(line)}`.trimEnd());
  }

  /** Colours for drawings; undefined without colours. */
  get colours(): Colours | undefined {
    return coloursOf(this.#host);
  }

  /** Prints lines unchanged; the caller has made them printable. */
  draw(lines: readonly string[]): void {
    for (const line of ['', ...lines]) this.#write(line === '' ? '' : `   ${line}`);
  }

  stop(): void {
    this.#isOver = true;
  }

  #write(line: string): void {
    if (!this.#isOver) this.#host.stdout.write(`${line}\n`);
  }
}
