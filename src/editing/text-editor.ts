// What the editors of JSON, TOML and YAML have in common. Each knows one syntax: it puts a member into a container of a
// text and takes one out, and leaves everything else in the text as it is.

import type { Syntax } from '../discovery/document.ts';

/** A member of a map in a file: the keys that lead to the map, and its own name. */
export interface EntryPlace {
  readonly container: readonly string[];
  readonly name: string;
}

export interface TextEditor {
  /** The offset of what makes it unsafe to change this container, and why; undefined if nothing does. */
  obstacle(text: string, container: readonly string[]): Obstacle | undefined;
  /** The text with a new member at the end of the container, which is made if it is not there. */
  inserted(text: string, place: EntryPlace, value: unknown): string;
  /** The same with the member as another text has it, with its layout and comments; undefined if that cannot be said. */
  copied(text: string, place: EntryPlace, from: { readonly value: unknown; readonly text: string }): string | undefined;
  /** The text without the member. */
  removed(text: string, place: EntryPlace): string;
}

export interface Obstacle {
  readonly offset: number;
  readonly problem: string;
}

/** Each with its parser, which is loaded when such a file is there. */
export async function textEditorFor(syntax: Syntax): Promise<TextEditor> {
  switch (syntax) {
    case 'json':
      return (await import('./json-editor.ts')).JSON_EDITOR;
    case 'toml':
      return (await import('./toml-editor.ts')).TOML_EDITOR;
    case 'yaml':
      return (await import('./yaml-editor.ts')).YAML_EDITOR;
  }
}
