// Light or dark: the system's choice, unless the user has chosen.

import { effect, signal } from '@preact/signals';

type Choice = 'system' | 'light' | 'dark';
const KEY = 'mcp-bridge-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

const choice = signal<Choice>(kept());
export const theme = signal<'light' | 'dark'>('light');

const isDark = signal(system.matches);
system.addEventListener('change', () => {
  isDark.value = system.matches;
});

effect(() => {
  const wanted = choice.value === 'system' ? (isDark.value ? 'dark' : 'light') : choice.value;
  document.documentElement.dataset.theme = wanted;
  theme.value = wanted;
});

function choose(wanted: Choice): void {
  choice.value = wanted;
  localStorage.setItem(KEY, wanted);
}

export function toggle(): void {
  choose(theme.value === 'dark' ? 'light' : 'dark');
}

function kept(): Choice {
  const wanted = localStorage.getItem(KEY);
  return wanted === 'light' || wanted === 'dark' ? wanted : 'system';
}
