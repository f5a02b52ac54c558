// The page's only way to make elements: values become text nodes and attributes, never markup.

import htm from 'htm';
import { h, type VNode } from 'preact';

/** The output of a component. */
export type Markup = VNode | VNode[] | string | null;

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;
