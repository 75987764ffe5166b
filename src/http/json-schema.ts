/** A JSON Schema object, 2020-12, as OpenAPI 3.1 uses it. */
export type JsonSchema = { readonly [key: string]: unknown }
