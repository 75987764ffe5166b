/** Which JSON a request wants, in either format, and whether an answer is it. */
import type { ChatRequest, RoutedRequest } from '../../formats/canonical.js'
import { refutes } from '../../formats/json-schema/conformance.js'
import { NoValueError, SchemaWalk } from '../../formats/json-schema/schema-walk.js'
import { asObject } from '../../formats/json-values.js'
import type { MessagesRequest } from '../../formats/messages.js'

/** `schema` is absent where any object will do. */
export interface WantedJson {
  readonly schema?: unknown
}

/** Null where the answer need not be JSON. */
export function wantedJson(request: RoutedRequest): WantedJson | null {
  const { response_format: format } = request as ChatRequest
  if (format?.type === 'json_object') return {}
  if (format?.type === 'json_schema') return { schema: format.json_schema.schema ?? {} }
  const native = (request as Partial<MessagesRequest>).output_config?.format
  return native == null ? null : { schema: native.schema }
}

/** Steps that a check may take, each about a microsecond. */
const CHECK_STEPS = 64_000

/** Whether nothing speaks against the value; a schema that is too complex to tell speaks against it. */
export function isWanted(wanted: WantedJson, value: unknown): boolean {
  if (wanted.schema === undefined) return asObject(value) !== null
  try {
    return !refutes(wanted.schema, value, new SchemaWalk(wanted.schema, CHECK_STEPS))
  } catch (error) {
    if (error instanceof NoValueError) return false
    throw error
  }
}
