// The fields of an entry that mean something here, in every spelling. What else a client knows is its own affair; above
// all, nobody's consent to it is heeded.

import type { Tree } from './tree.ts';

const KNOWN = new Set([
  ...['name', 'description', 'type', 'transport', 'transportType', 'source', 'settings', 'anythingllm'],
  ...['enabled', 'disabled', 'active', 'isActive'],
  ...['command', 'cmd', 'args', 'cwd', 'working_directory', 'workingDirectory'],
  ...['env', 'environment', 'envs', 'envFile', 'env_keys', 'env_vars'],
  ...['httpUrl', 'url', 'serverUrl', 'uri', 'oauth', 'auth'],
  ...['headers', 'http_headers', 'env_http_headers', 'requestInit', 'requestOptions'],
  ...['headersHelper', 'http_headers_helper'],
  ...['bearer_token', 'bearer_token_env_var'],
  ...['timeout', 'timeoutMs', 'tool_timeout_sec', 'request_timeout_ms'],
  ...['startup_timeout_sec', 'startup_timeout_ms', 'discoveryTimeoutMs'],
  ...[
    'tools',
    'enabled_tools',
    'enabledTools',
    'available_tools',
    'includeTools',
    'disabled_tools',
    'disabledTools',
    'excludeTools',
  ],
]);
/** In the bridge's own config they have a meaning that discovery does not look into. */
const OF_THE_BRIDGE = new Set(['sharing', 'maxConcurrentCalls', 'idleMs', 'trustHints']);

const NONE: readonly string[] = [];

export function unheededIn(fields: Tree): readonly string[] {
  const keys = Object.keys(fields).filter((key) => !KNOWN.has(key) && !OF_THE_BRIDGE.has(key));
  return keys.length === 0 ? NONE : keys;
}
