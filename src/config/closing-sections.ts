// The sections of a config that restrict access. A fault in one leaves its limits unclear. A starting daemon then uses
// the stricter reading; a running daemon keeps the section's last good reading.

import type { Config } from './config.ts';
import type { Reader } from './reader.ts';
import { NO_TOOL } from './tool-rules.ts';

const CLOSING_SECTIONS = ['policy', 'discovery.toolRules', 'clients', 'audit', 'agents'] as const;
export type ClosingSection = (typeof CLOSING_SECTIONS)[number];

export function closingSectionsIn({ findings, misspelled }: Reader): ClosingSection[] {
  const places = [...findings.filter(({ level }) => level === 'error').map(({ place }) => place), ...misspelled];
  return CLOSING_SECTIONS.filter((section) => places.some((place) => isAbout(place, section)));
}

/**
 * True if the fault concerns the section. A fault of an outer place counts too, such as a `discovery` that is no
 * object.
 */
function isAbout(place: string, section: ClosingSection): boolean {
  const [top] = section.split('.');
  return place === '' || place === top || place === section || new RegExp(`^${section}[.[]`).test(place);
}

/** The strict reading of a file that is no object: it may have restricted anything. */
export function closed(config: Config): Config {
  const discovery = { ...config.discovery, policy: { deniesAll: true as const }, toolRules: [NO_TOOL] };
  return { ...config, onToolChange: 'block', discovery };
}

/** Returns the config with the earlier version of these sections. */
export function withSectionsOf(before: Config, config: Config, sections: readonly ClosingSection[]): Config {
  const has = (section: ClosingSection): boolean => sections.includes(section);
  const policy = has('policy') ? before.discovery.policy : config.discovery.policy;
  const toolRules = has('discovery.toolRules') ? before.discovery.toolRules : config.discovery.toolRules;
  return {
    ...config,
    clients: has('clients') ? before.clients : config.clients,
    onToolChange: has('policy') ? before.onToolChange : config.onToolChange,
    discovery: { ...config.discovery, policy, toolRules },
    audit: has('audit') ? before.audit : config.audit,
    agents: has('agents') ? before.agents : config.agents,
  };
}
