// Splits a tool's answer into readable parts and parts to save.

import { membersOf, textOf } from '../../util/json-value.ts';
import { printable } from '../../util/printable.ts';
import { recordsIn } from '../tool-session.ts';

export interface Blob {
  readonly kind: 'blob';
  readonly mimeType: string;
  readonly bytes: Buffer;
}

export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'note'; readonly text: string }
  | Blob;

export interface CallResult {
  readonly isError: boolean;
  readonly blocks: readonly Block[];
}

export function callResult(result: unknown): CallResult {
  const { content, structuredContent, isError } = membersOf(result);
  const blocks = recordsIn(content).map(blockOf);
  const hasText = blocks.some(({ kind }) => kind === 'text');
  const rest = structuredContent ?? (blocks.length === 0 && !Array.isArray(content) ? result : undefined);
  const json =
    hasText || rest === undefined ? [] : [{ kind: 'text', text: JSON.stringify(rest, undefined, 2) } as const];
  return { isError: isError === true, blocks: [...blocks, ...json] };
}

/** The text for output: on a terminal without sequences that move the cursor, in a pipe unchanged. */
export function shown(text: string, isTerminal: boolean): string {
  const lines = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  if (!isTerminal) return lines;
  return lines.replace(/\r\n/g, '\n').replace(/[^\n\t]+/g, printable);
}

export function blobLine({ mimeType, bytes }: Blob): string {
  return `${printable(mimeType)}, ${sizeOf(bytes.length)}`;
}

type Content = Readonly<Record<string, unknown>>;

function blockOf(content: Content): Block {
  switch (content.type) {
    case 'text':
      return { kind: 'text', text: textOf(content.text) };
    case 'image':
    case 'audio':
      return blob(content.data, content.mimeType);
    case 'resource': {
      const { text, blob: data, mimeType } = membersOf(content.resource);
      return typeof text === 'string' ? { kind: 'text', text } : blob(data, mimeType);
    }
    case 'resource_link':
      return { kind: 'note', text: linkLine(content) };
    default:
      return { kind: 'text', text: JSON.stringify(content, undefined, 2) };
  }
}

function blob(data: unknown, mimeType: unknown): Blob {
  const bytes = Buffer.from(textOf(data), 'base64');
  return { kind: 'blob', mimeType: textOf(mimeType) || 'application/octet-stream', bytes };
}

function linkLine({ uri, name, mimeType, size, description }: Content): string {
  const about = [textOf(mimeType), typeof size === 'number' ? sizeOf(size) : ''].filter(Boolean).join(', ');
  const parts = [textOf(uri), textOf(name), about === '' ? '' : `(${about})`, textOf(description)];
  return printable(parts.filter(Boolean).join('  '));
}

export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
