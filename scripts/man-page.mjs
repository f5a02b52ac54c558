// Writes man/mcp-bridge.1 from the table of commands, in the words of its help.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { COMMANDS, helpText, PAIRS } from '../dist/dispatch.js';

const WIDTH = 80;
const { version, description } = JSON.parse(readFileSync('package.json', 'utf8'));

const escaped = (text) =>
  text.replaceAll('…', '...').replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/gm, '\\&$&');
const asIs = (text) => `.nf\n${escaped(text)}\n.fi`;

const names = Object.keys(COMMANDS).flatMap((name) => {
  const [first] = name.split(' ');
  const isFirst = first in PAIRS && Object.keys(COMMANDS).find((other) => other.startsWith(`${first} `)) === name;
  return isFirst ? [first, name] : [name];
});
const sections = names.map((name) => `.SS ${escaped(name)}\n${asIs(helpText(name, WIDTH))}`);
const page = `.TH MCP\\-BRIDGE 1 "" "mcp\\-bridge ${escaped(version)}" "User Commands"
.SH NAME
mcp\\-bridge \\- ${escaped(description.replace(/\.$/, ''))}
.SH SYNOPSIS
.B mcp\\-bridge
.I COMMAND
[\\fIOPTION\\fR...]
.SH DESCRIPTION
${asIs(helpText('', WIDTH))}
.SH COMMANDS
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
