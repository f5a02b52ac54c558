// Converts output schemas of 2026 for clients of 2025, which expect an object: any other schema is wrapped into an
// object with the single member `result`, and so is structured content. The SDK of 2026 does the same.

import { isRecord } from '../util/json-value.ts';

/** The text before and after wrapped structured content. */
export const CONTENT_OPENS = '{"result":';
export const CONTENT_CLOSES = '}';

/** True if clients of 2025 get a different schema. */
export function isWrapped(outputSchema: unknown): boolean {
  return isRecord(outputSchema) && outputSchema.type !== 'object';
}

/** The schema of an object whose member `result` has this one. */
export function wrappedSchema(outputSchema: Readonly<Record<string, unknown>>): object {
  const { $schema, ...schema } = outputSchema;
  const result = hasOwnBase(schema) ? outputSchema : moved(schema, false);
  const dialect = typeof $schema === 'string' ? { $schema } : {};
  return { ...dialect, type: 'object', properties: { result }, required: ['result'] };
}

/** Keywords with data instead of schemas as values. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose members are schemas under free names. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const PLACE = '#/properties/result';

/** True if references in the schema start at the schema itself. An `$id` with only a fragment is just an anchor. */
function hasOwnBase({ $id }: Readonly<Record<string, unknown>>): boolean {
  return $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'));
}

/**
 * The schema with references to the root adjusted to its new place. `byName` is true for an object of named schemas.
 */
function moved(schema: unknown, byName: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((item) => moved(item, false));
  if (!isRecord(schema) || (!byName && hasOwnBase(schema))) return schema;
  return Object.fromEntries(
    Object.entries(byName ? schema : withoutRecursion(schema)).map(([key, value]) => {
      if (byName) return [key, moved(value, false)];
      if ((key === '$ref' || key === '$dynamicRef') && typeof value === 'string') return [key, movedReference(value)];
      return [key, DATA.has(key) ? value : moved(value, NAMED.has(key))];
    }),
  );
}

/** The schema without `$recursiveRef` of 2019-09, which can only refer to a root; `$ref` replaces it. */
function withoutRecursion(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { $recursiveRef, ...rest } = schema;
  if (typeof $recursiveRef !== 'string') return schema;
  if (rest.$ref === undefined) return { ...rest, $ref: $recursiveRef };
  return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? (rest.allOf as unknown[]) : []), { $ref: $recursiveRef }] };
}

function movedReference(reference: string): string {
  return reference === '#' || reference.startsWith('#/') ? PLACE + reference.slice(1) : reference;
}
