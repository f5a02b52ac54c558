// The common interface of the editors for JSON, TOML and YAML. Each knows one syntax: it inserts a member into a
// container or removes one, and leaves the rest of the text as it is.

import type { Syntax } from '../discovery/document.ts';

/** A member of a map in a file: the keys that lead to the map, and the member's name. */
export interface EntryPlace {
  readonly container: readonly string[];
  readonly name: string;
}

export interface TextEditor {
  /** The offset of something that makes a change of this container unsafe, and the reason; undefined if it is safe. */
  obstacle(text: string, container: readonly string[]): Obstacle | undefined;
  /** Returns the text with a new member at the end of the container; makes the container if needed. */
  inserted(text: string, place: EntryPlace, value: unknown): string;
  /**
   * Does the same, but copies the member's layout and comments from another text; undefined if that is not possible.
   */
  copied(text: string, place: EntryPlace, from: { readonly value: unknown; readonly text: string }): string | undefined;
  /** Returns the text without the member. */
  removed(text: string, place: EntryPlace): string;
}

export interface Obstacle {
  readonly offset: number;
  readonly problem: string;
}

/** Loads the editor for a syntax, with its parser. Called only if such a file is there. */
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
