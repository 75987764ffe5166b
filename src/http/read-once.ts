/** Schemas of members that are remembered: what is known already is not checked again. */
import type { z } from 'zod'
import { ValidationIssue } from '../base/fault.js'
import { isKnown, keepKnown, oncePerKnown } from '../base/known-json.js'

const schemas = new WeakSet<z.core.$ZodType>()

/** The same schema; a value that is known (`base/known-json.ts`) is read by it once, where bodies are read fast. */
export function readOnce<T extends z.ZodType>(schema: T): T {
  schemas.add(schema)
  return schema
}

/** The reader of a schema, made to read a known value once if that schema says so. */
export function onceIfAsked(
  schema: z.core.$ZodType,
  read: (value: unknown) => unknown,
): (value: unknown) => unknown {
  if (!schemas.has(schema)) return read
  const readKnown = oncePerKnown((value: object) => {
    const result = read(value) as object
    // A copy without members that nobody knows comes to be known in its turn.
    return isKnown(value) && !(result instanceof ValidationIssue) ? keepKnown(result) : result
  })
  return (value) => (typeof value === 'object' && value !== null ? readKnown(value) : read(value))
}
