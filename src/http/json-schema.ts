import { z } from 'zod'

/** A JSON Schema object, 2020-12, as OpenAPI 3.1 uses it. */
export type JsonSchema = { readonly [key: string]: unknown }

/** Schemas that have a name of their own in the document, apart from zod's global registry of descriptions. */
export const namedSchemas = z.registry<{ id: string }>()

/** Gives a schema its name under `#/components/schemas`. */
export function nameSchema<T extends z.ZodType>(id: string, schema: T): T {
  namedSchemas.add(schema, { id })
  return schema
}
