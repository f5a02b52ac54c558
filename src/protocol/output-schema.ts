// The output schema of a tool of 2026 as clients of 2025 can read it. To them it describes an object, so a schema of anything else becomes that
// of an object with the one member `result`, and so does the structured content. The SDK of 2026 does the same.

import { isRecord } from '../util/json-value.ts';

/** The beginning and the end of structured content that was put into an object. */
export const CONTENT_OPENS = '{"result":';
export const CONTENT_CLOSES = '}';

/** True if clients of 2025 are shown another schema. */
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

/** Keywords whose values are data, and no schemas. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose members are schemas by names that anybody may choose. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const PLACE = '#/properties/result';

/** True if references in the schema start at the schema itself, wherever it stands. An `$id` of a fragment alone is a mere anchor. */
function hasOwnBase({ $id }: Readonly<Record<string, unknown>>): boolean {
  return $id !== undefined && !(typeof $id === 'string' && $id.startsWith('#'));
}

/** The schema with its references to the root led to where it stands now. `byName` is true for an object of named schemas. */
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

/** The schema with its reference to the root of 2019-09 as one of any dialect, because `$recursiveRef` can lead to a root alone. */
function withoutRecursion(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { $recursiveRef, ...rest } = schema;
  if (typeof $recursiveRef !== 'string') return schema;
  if (rest.$ref === undefined) return { ...rest, $ref: $recursiveRef };
  return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? (rest.allOf as unknown[]) : []), { $ref: $recursiveRef }] };
}

function movedReference(reference: string): string {
  return reference === '#' || reference.startsWith('#/') ? PLACE + reference.slice(1) : reference;
}
