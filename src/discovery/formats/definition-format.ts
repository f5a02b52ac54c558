// Files that hold definitions and nothing else: one server, named by the file; a map of them under a key; or a map that
// is the whole file. What is none of these is somebody's notes, and not looked at.

import { isTree, type Tree } from '../tree.ts';
import { type Entry, entriesIn, entriesOfMap, type Format, type ParsedFile } from './format.ts';

const CONTAINERS = ['mcpServers', 'servers', 'mcp_servers'];
const LAUNCHES = ['command', 'cmd', 'url', 'serverUrl', 'httpUrl', 'uri'];

export const DEFINITIONS: Format = { syntax: 'by-ending', read };

function read(file: ParsedFile): Entry[] {
  const { value, machine } = file;
  if (!isTree(value)) return [];
  const keys = CONTAINERS.filter((key) => Object.hasOwn(value, key));
  if (keys.some((key) => !isLaunch(value[key])) && !isLaunch(value))
    return keys.flatMap((key) => entriesIn(file, [key]));
  if (isLaunch(value)) {
    const name = machine.path.basename(file.path).replace(/\.[^.]*$/, '');
    return entriesOfMap({ ...file, value: { [name]: value } }, { [name]: value }, []).map((entry) => ({
      ...entry,
      pointer: '',
    }));
  }
  return isMapOfServers(value) ? entriesOfMap(file, withoutSchema(value), []) : [];
}

/** The entries of a file that is a map of servers, without a key around it; undefined for any other. */
export function bareEntries(file: ParsedFile): Entry[] | undefined {
  const { value } = file;
  if (!isTree(value) || CONTAINERS.some((key) => Object.hasOwn(value, key)) || !isMapOfServers(value)) return undefined;
  return entriesOfMap(file, withoutSchema(value), []);
}

function isMapOfServers(value: Tree): boolean {
  const members = Object.values(withoutSchema(value));
  return members.length > 0 && members.every(isTree) && members.some(isLaunch);
}

function withoutSchema(value: Tree): Tree {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== '$schema'));
}

function isLaunch(value: unknown): boolean {
  return isTree(value) && LAUNCHES.some((key) => Object.hasOwn(value, key) && !isTree(value[key]));
}
