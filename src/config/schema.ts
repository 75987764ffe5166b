/** The configuration file as a JSON Schema, for editors and for checks outside the program. */
import { z } from 'zod'
import type { GatewayFileKeys } from '../gateway/catalog/configuration.js'
import { SETTINGS } from './settings.js'

type JsonSchemaObject = Record<string, unknown>

/**
 * JSON Schema (2020-12) of the whole file, made from the schemas that check it; `src/config/config.schema.json` is its
 * published copy. What one entry says about another, and what the environment holds, it cannot express.
 */
export function configJsonSchema(gatewayKeys: GatewayFileKeys): JsonSchemaObject {
  const settings = Object.values(SETTINGS).map(({ key, schema }) => [key, schema.optional()])
  const members = Object.entries(gatewayKeys).map(([key, schema]) => [key, schema.optional()])
  const file = z.strictObject(Object.fromEntries([...settings, ...members]))
  const { $schema, ...rest } = z.toJSONSchema(file, { io: 'input', unrepresentable: 'any' })
  // Written in afterwards: zod drops defaults, and some descriptions, of schemas that transform what they read.
  for (const { key, about, default: fallback } of Object.values(SETTINGS)) {
    Object.assign(
      rest.properties?.[key] as JsonSchemaObject,
      { description: about },
      jsonSchemaDefault(fallback),
    )
  }
  for (const [key, { description }] of Object.entries(gatewayKeys)) {
    Object.assign(rest.properties?.[key] as JsonSchemaObject, { description })
  }
  return {
    $schema,
    title: 'Sluice configuration',
    description: 'The file that SLUICE_CONFIG names, in YAML or JSON.',
    ...rest,
  }
}

/** A fallback that could not stand in the file (no key, no seed) is not told. */
function jsonSchemaDefault(fallback: unknown): JsonSchemaObject {
  return fallback === '' || fallback === null ? {} : { default: fallback }
}
