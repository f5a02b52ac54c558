// Variables of a definition that stand for the client's working directory. Such a definition has separate servers for
// each directory.

const VARIABLES = /\$\{(?:PWD|CLAUDE_PROJECT_DIR|workspaceFolder)\}/g;

export function namesDirectory(text: string): boolean {
  return text.search(VARIABLES) >= 0;
}

export function filledWithDirectory(text: string, dir: string): string {
  return text.replace(VARIABLES, () => dir);
}
