/** Rules that a client has moved into the description of a schema, because few providers take them as keywords. */
import { ownMember, type SchemaObject } from '../../gateway/formats/json-schema/schema-values.js'

/** Most characters of the list, which stands at the end of a description: `{minimum: 1, pattern: "^a"}`. */
const MAX_LIST = 2000
const LIST = /\{[a-zA-Z]+: [^\n]*\}$/
const NUMERIC =
  /\b(minimum|maximum|exclusiveMinimum|exclusiveMaximum|multipleOf|minLength|maxLength|minItems|maxItems): (-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[,}])/g
const PATTERN = /\bpattern: ("(?:[^"\\]|\\.)*")/

/** The rules as a schema of their own, or null. They are words: nobody is refused for what they say. */
export function describedRules(schema: SchemaObject): SchemaObject | null {
  const description = ownMember(schema, 'description')
  if (typeof description !== 'string' || !description.endsWith('}')) return null
  const list = LIST.exec(description.slice(-MAX_LIST))?.[0]
  if (list === undefined) return null
  const rules: Record<string, unknown> = {}
  for (const [, name = '', value] of list.matchAll(NUMERIC)) rules[name] = Number(value)
  const pattern = PATTERN.exec(list)?.[1]
  if (pattern !== undefined) rules.pattern = textOrNothing(pattern)
  return Object.keys(rules).length > 0 ? rules : null
}

function textOrNothing(json: string): string {
  try {
    return JSON.parse(json) as string
  } catch {
    return ''
  }
}
