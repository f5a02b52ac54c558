// Where servers that run already say so (docs/registry.md).

import { type ClientPlace, place } from './place.ts';

export const REGISTRY = 'registry';

export const REGISTRY_PLACES: readonly ClientPlace[] = [
  place(REGISTRY, 'XS/mcp-bridge/mcp_servers.json', 'registry'),
  place(REGISTRY, 'P/.mcp-bridge/mcp_servers.json', 'registry'),
  place(REGISTRY, 'P/.nisaba/mcp_servers.json', 'registry'),
];
