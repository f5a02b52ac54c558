// TypeScript declarations of tools, made from their JSON Schemas: for programs that call `describe`, and for people who
// use `mcp-bridge types`. Schemas come from outside: names and comments are sanitized, and depth and length limited.

import { isRecord, textOf } from '../util/json-value.ts';
import { shortened } from '../util/printable.ts';

export interface DeclaredTool {
  readonly server: string;
  readonly tool: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
}

const DEEPEST = 8;
const LONGEST_COMMENT = 400;
/** Longer types of a tool end in `unknown`. */
const LONGEST_TYPE = 20_000;

/** Declares the tools by server, as the global `servers` of programs. */
export function typeDeclarations(tools: readonly DeclaredTool[]): string {
  const text = new DeclarationsText();
  for (const tool of tools) text.add(tool);
  return text.end();
}

/** Declarations of tools that are added one by one. */
export class DeclarationsText {
  readonly #byServer = new Map<string, string[]>();
  /** The approximate length so far. */
  length = 0;

  add(tool: DeclaredTool): void {
    const declaration = declarationOf(tool);
    const known = this.#byServer.get(tool.server);
    if (known === undefined) this.#byServer.set(tool.server, [declaration]);
    else known.push(declaration);
    this.length += declaration.length;
  }

  end(): string {
    const servers = [...this.#byServer].map(([server, own]) => `  ${keyOf(server)}: {\n${own.join('')}  };\n`);
    return `declare const servers: {\n${servers.join('')}};\n`;
  }
}

function declarationOf({ tool, description, inputSchema, outputSchema }: DeclaredTool): string {
  const args = new SchemaTypes(inputSchema).type('    ');
  const result = outputSchema === undefined ? 'unknown' : new SchemaTypes(outputSchema).type('    ');
  const isOptional = !isRecord(inputSchema) || !hasNeeded(inputSchema);
  return `${commentOf(description, '    ')}    ${keyOf(tool)}(args${isOptional ? '?' : ''}: ${args}): Promise<${result}>;\n`;
}

function hasNeeded({ required }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(required) && required.length > 0;
}

class SchemaTypes {
  readonly #root: unknown;
  #left = LONGEST_TYPE;

  constructor(root: unknown) {
    this.#root = root;
  }

  type(indent: string): string {
    return this.#typeOf(this.#root, indent, 0);
  }

  #typeOf(schema: unknown, indent: string, depth: number): string {
    if (!isRecord(schema) || depth > DEEPEST || this.#left <= 0) return 'unknown';
    this.#left -= 10;
    const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema;
    if (typeof $ref === 'string') return this.#typeOf(this.#at($ref), indent, depth + 1);
    if ('const' in schema) return literalOf(schema.const);
    if (Array.isArray(values)) return joined(values.slice(0, MOST_MEMBERS).map(literalOf), ' | ');
    const choices = anyOf ?? oneOf;
    if (Array.isArray(choices)) return joined(this.#each(choices, indent, depth), ' | ');
    if (Array.isArray(allOf)) return joined(this.#each(allOf, indent, depth), ' & ');
    if (Array.isArray(type))
      return joined(
        type.slice(0, 8).map((one) => this.#plain({ ...schema, type: one as unknown }, indent, depth)),
        ' | ',
      );
    return this.#plain(schema, indent, depth);
  }

  #each(schemas: readonly unknown[], indent: string, depth: number): string[] {
    return schemas.slice(0, MOST_MEMBERS).map((one) => this.#typeOf(one, indent, depth + 1));
  }

  #plain(schema: Readonly<Record<string, unknown>>, indent: string, depth: number): string {
    switch (schema.type ?? (isRecord(schema.properties) ? 'object' : undefined)) {
      case 'string':
        return 'string';
      case 'number':
      case 'integer':
        return 'number';
      case 'boolean':
        return 'boolean';
      case 'null':
        return 'null';
      case 'array': {
        const item = this.#typeOf(schema.items, indent, depth + 1);
        return /^[\w"']+$/.test(item) ? `${item}[]` : `Array<${item}>`;
      }
      case 'object':
        return this.#objectOf(schema, indent, depth);
      default:
        return 'unknown';
    }
  }

  #objectOf(schema: Readonly<Record<string, unknown>>, indent: string, depth: number): string {
    const { properties, required, additionalProperties } = schema;
    const needed = new Set(Array.isArray(required) ? (required as unknown[]) : []);
    const inner = `${indent}  `;
    const members = isRecord(properties)
      ? Object.entries(properties)
          .slice(0, MOST_MEMBERS)
          .map(([name, one]) => {
            const type = this.#typeOf(one, inner, depth + 1);
            const comment = isRecord(one) ? commentOf(one.description, inner) : '';
            const line = `${comment}${inner}${keyOf(name)}${needed.has(name) ? '' : '?'}: ${type};\n`;
            this.#left -= line.length;
            return line;
          })
      : [];
    if (members.length > 0) return `{\n${members.join('')}${indent}}`;
    if (additionalProperties === false) return 'Record<string, never>';
    const value = isRecord(additionalProperties) ? this.#typeOf(additionalProperties, indent, depth + 1) : 'unknown';
    return `Record<string, ${value}>`;
  }

  /** The schema at a reference within the same document. */
  #at(ref: string): unknown {
    if (!ref.startsWith('#')) return undefined;
    let node: unknown = this.#root;
    for (const part of ref.slice(1).split('/').slice(1, 16)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      node = isRecord(node) && Object.hasOwn(node, key) ? node[key] : undefined;
    }
    return node;
  }
}

const MOST_MEMBERS = 200;

function joined(types: readonly string[], sign: string): string {
  const several = [...new Set(types)];
  if (several.length === 0) return 'unknown';
  return several.length === 1 ? (several[0] ?? 'unknown') : several.join(sign);
}

function literalOf(value: unknown): string {
  const isPlain = value === null || ['string', 'number', 'boolean'].includes(typeof value);
  return isPlain ? shortened(JSON.stringify(value), 200) : 'unknown';
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function commentOf(description: unknown, indent: string): string {
  const text = shortened(textOf(description).replace(/\s+/g, ' ').trim(), LONGEST_COMMENT).replaceAll('*/', '* /');
  return text === '' ? '' : `${indent}/** ${text} */\n`;
}
