// The current place in the dashboard: the screen and its subject, in the fragment of the address.

import { signal } from '@preact/signals';

export interface Route {
  readonly screen: string;
  readonly rest: readonly string[];
}

function current(): Route {
  const [screen = '', ...rest] = location.hash.replace(/^#\/?/, '').split('/').map(decoded);
  return { screen: screen === '' || screen.startsWith('code=') ? 'overview' : screen, rest };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a person typed it
  }
}

export const route = signal<Route>(current());
addEventListener('hashchange', () => {
  route.value = current();
});

export function address(screen: string, ...rest: readonly string[]): string {
  return `#/${[screen, ...rest].map(encodeURIComponent).join('/')}`;
}

export function go(screen: string, ...rest: readonly string[]): void {
  location.hash = address(screen, ...rest);
}
