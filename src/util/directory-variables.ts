// Variables of a definition that stand for the directory in which a client works. Each directory gets servers of its own from
// such a definition.

const VARIABLES = /\$\{(?:PWD|CLAUDE_PROJECT_DIR|workspaceFolder)\}/g;

export function namesDirectory(text: string): boolean {
  return text.search(VARIABLES) >= 0;
}

export function filledWithDirectory(text: string, dir: string): string {
  return text.replace(VARIABLES, () => dir);
}
