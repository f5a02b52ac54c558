// Writes man/mcp-bridge.1 from what the command says of itself: `mcp-bridge --help`, and the help of each verb.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { runCommand } from '../dist/commands.js';

const { version, description } = JSON.parse(readFileSync('package.json', 'utf8'));

async function helpOf(words) {
  let text = '';
  const stdout = {
    write(chunk) {
      text += chunk;
    },
  };
  await runCommand([...words, '--help'], { version, stdout, stderr: stdout });
  return text.trimEnd();
}

const escaped = (text) =>
  text.replaceAll('…', '...').replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/gm, '\\&$&');
const asIs = (text) => `.nf\n${escaped(text)}\n.fi`;

const overview = await helpOf([]);
const verbs = [...overview.matchAll(/^ {2}mcp-bridge (\S+)/gm)].map(([, verb]) => verb);
const sections = [];
for (const verb of verbs) {
  const help = await helpOf([verb]);
  const groups = [...help.matchAll(new RegExp(`^ {2}mcp-bridge ${verb} ([a-z]+)`, 'gm'))].map(([, word]) => word);
  sections.push(`.SS ${escaped(verb)}\n${asIs(help)}`);
  if (help.includes('\nCommands:'))
    for (const word of groups) sections.push(`.SS ${escaped(`${verb} ${word}`)}\n${asIs(await helpOf([verb, word]))}`);
}
const page = `.TH MCP\\-BRIDGE 1 "" "mcp\\-bridge ${escaped(version)}" "User Commands"
.SH NAME
mcp\\-bridge \\- ${escaped(description.replace(/\.$/, ''))}
.SH SYNOPSIS
.B mcp\\-bridge
.I VERB
[\\fIOPTION\\fR...]
.SH DESCRIPTION
${asIs(overview)}
.SH VERBS
${sections.join('\n')}
.SH EXIT STATUS
0 if it is done, 1 if it could not be done, 2 for wrong usage; with one line on stderr that says what to do next.
.SH ENVIRONMENT
.nf
MCP_BRIDGE_SOCKET                 the socket, unless \\-\\-mcp\\-bridge\\-socket names it
MCP_CLIENT_ID                     the id that a client is known by, unless \\-\\-mcp\\-client\\-id names it
XDG_CONFIG_HOME, XDG_STATE_HOME   in place of ~/.config and ~/.local/state
NO_COLOR, FORCE_COLOR             no colours; colours in a pipe too
.fi
.SH FILES
.nf
/tmp/mcp\\-bridge.sock                      the socket, unless another one is named
mcp\\-bridge.config.json                    the config of the directory in which the daemon is started
~/.config/mcp\\-bridge/config.json          the config, where there is no such one
~/.local/state/mcp\\-bridge/daemon.log      the log of a daemon in the background
~/.local/state/mcp\\-bridge/                what has been decided, seen and recorded
.fi
`;
mkdirSync('man', { recursive: true });
writeFileSync('man/mcp-bridge.1', page);
