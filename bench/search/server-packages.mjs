// The public servers whose tools are recorded: the name that people give them, the package, its version, and what it takes
// to start it. The credentials are none: no server is called, only asked what it has.

const NO_KEY = 'not-a-real-key';

/** `FOLDER` in an argument or a variable is an empty directory of its own. */
export const PACKAGES = [
  { name: 'filesystem', package: '@modelcontextprotocol/server-filesystem@2026.8.31', args: ['FOLDER'] },
  { name: 'memory', package: '@modelcontextprotocol/server-memory@2026.8.31' },
  { name: 'everything', package: '@modelcontextprotocol/server-everything@2026.8.31', args: ['stdio'] },
  { name: 'sequential-thinking', package: '@modelcontextprotocol/server-sequential-thinking@2026.8.31' },
  {
    name: 'github',
    package: '@modelcontextprotocol/server-github@2025.4.8',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: NO_KEY },
  },
  {
    name: 'gitlab',
    package: '@modelcontextprotocol/server-gitlab@2025.4.25',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: NO_KEY },
  },
  {
    name: 'slack',
    package: '@modelcontextprotocol/server-slack@2025.4.25',
    env: { SLACK_BOT_TOKEN: NO_KEY, SLACK_TEAM_ID: NO_KEY },
  },
  {
    name: 'google-maps',
    package: '@modelcontextprotocol/server-google-maps@0.6.2',
    env: { GOOGLE_MAPS_API_KEY: NO_KEY },
  },
  {
    name: 'brave-search',
    package: '@modelcontextprotocol/server-brave-search@0.6.2',
    env: { BRAVE_API_KEY: NO_KEY },
  },
  {
    name: 'postgres',
    package: '@modelcontextprotocol/server-postgres@0.6.2',
    args: ['postgresql://localhost/none'],
  },
  { name: 'notion', package: '@notionhq/notion-mcp-server@2.5.2', env: { NOTION_TOKEN: NO_KEY } },
  { name: 'playwright', package: '@playwright/mcp@0.0.83' },
  { name: 'context7', package: '@upstash/context7-mcp@4.1.1' },
  { name: 'kubernetes', package: 'mcp-server-kubernetes@4.1.7' },
  { name: 'firecrawl', package: 'firecrawl-mcp@3.26.0', env: { FIRECRAWL_API_KEY: NO_KEY } },
  { name: 'hubspot', package: '@hubspot/mcp-server@0.4.0', env: { PRIVATE_APP_ACCESS_TOKEN: NO_KEY } },
  { name: 'tavily', package: 'tavily-mcp@0.2.22', env: { TAVILY_API_KEY: NO_KEY } },
  { name: 'exa', package: 'exa-mcp-server@3.4.1', env: { EXA_API_KEY: NO_KEY } },
  { name: 'figma', package: 'figma-developer-mcp@0.13.2', args: ['--stdio', `--figma-api-key=${NO_KEY}`] },
  { name: 'airtable', package: 'airtable-mcp-server@1.14.0', env: { AIRTABLE_API_KEY: 'pat123.abc123' } },
  { name: 'eslint', package: '@eslint/mcp@0.3.13' },
  { name: 'chrome-devtools', package: 'chrome-devtools-mcp@1.11.0', args: ['--no-usage-statistics'] },
  { name: 'linear', package: 'linear-mcp-server@0.1.0', env: { LINEAR_API_KEY: NO_KEY } },
  {
    name: 'mongodb',
    package: 'mongodb-mcp-server@3.0.4',
    args: ['--telemetry', 'disabled'],
  },
  { name: 'circleci', package: '@circleci/mcp-server-circleci@0.20.0', env: { CIRCLECI_TOKEN: NO_KEY } },
  { name: 'git', package: '@cyanheads/git-mcp-server@2.15.3' },
  {
    name: 'elasticsearch',
    package: '@elastic/mcp-server-elasticsearch@0.3.1',
    env: { ES_URL: 'http://localhost:1', ES_API_KEY: NO_KEY },
  },
  { name: 'sentry', package: '@sentry/mcp-server@0.39.0', args: [`--access-token=${NO_KEY}`] },
];
