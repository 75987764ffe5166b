/** A JSON Schema that stands in the words of a prompt, as clients put it there for models without structured answers. */
import type { ChatMessage } from '../../gateway/formats/canonical.js'
import {
  isObject,
  ownList,
  ownMember,
  type SchemaObject,
} from '../../gateway/formats/json-schema/schema-values.js'
import { currentTurn, textOfContent } from './current-turn.js'

/** The end of the word that announces a schema, in any case of its first letter. */
const WORD = 'chema'
/** Most characters before the word in which JSON is named, between it and the schema, and of the schema. */
const REACH = 200
const MAX_SCHEMA = 65_536
/** Characters that are looked at closely, of what the user asks and of all system messages: a prompt may hold any number of schemas, one in another. */
const MAX_LOOKED_AT = 4 * MAX_SCHEMA

/**
 * The schema by which the prompt asks for JSON, or null. System messages and what the user asks now are read, and of
 * several schemas the last one counts: the others are examples.
 */
export function findPromptSchema(messages: readonly ChatMessage[]): SchemaObject | null {
  const asked = findSchema(currentTurn(messages).text, { left: MAX_LOOKED_AT })
  if (asked !== null) return asked
  // One budget for all of them: a prompt may hold any number.
  const budget = { left: MAX_LOOKED_AT }
  for (const { role, content } of messages.toReversed()) {
    const found =
      role === 'system' || role === 'developer' ? findSchema(textOfContent(content), budget) : null
    if (found !== null) return found
  }
  return null
}

function findSchema(text: string, budget: { left: number }): SchemaObject | null {
  let found: SchemaObject | null = null
  for (let at = text.indexOf(WORD); at >= 0 && budget.left > 0; ) {
    const from = at + WORD.length
    const announced = whatIsAnnounced(text, from)
    const gap = announced === null ? -1 : text.slice(from, from + REACH).indexOf('{')
    const end = gap < 0 ? null : endOfObject(text, from + gap)
    budget.left -= REACH + (gap < 0 ? 0 : (end ?? from + gap + MAX_SCHEMA) - from)
    const object = end === null ? null : parsedObject(text.slice(from + gap, end))
    if (object !== null && announced === 'answer' && describesValue(object)) found = object
    // Within an object the word means something else.
    at = text.indexOf(WORD, object === null || end === null ? from : end)
  }
  return found
}

/** What the words up to a place announce: the schema of an answer, or of what a tool takes. */
function whatIsAnnounced(text: string, to: number): 'answer' | 'tool' | null {
  const words = text.slice(Math.max(0, to - REACH), to)
  if (/(?:input|parameters?)[ _-]?schema$/i.test(words)) return 'tool'
  return /json/i.test(words) ? 'answer' : null
}

function describesValue(object: SchemaObject): boolean {
  const type = ownMember(object, 'type')
  return (
    isObject(ownMember(object, 'properties')) ||
    (type === 'array' && isObject(ownMember(object, 'items'))) ||
    ownList(object, 'anyOf').length > 0 ||
    (typeof ownMember(object, '$ref') === 'string' &&
      (isObject(ownMember(object, '$defs')) || isObject(ownMember(object, 'definitions'))))
  )
}

function parsedObject(text: string): SchemaObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** The place behind the brace that closes the one at `start`; null where that is too far away, or nowhere. */
function endOfObject(text: string, start: number): number | null {
  const last = Math.min(text.length, start + MAX_SCHEMA)
  let depth = 0
  let quoted = false
  for (let at = start; at < last; at++) {
    const character = text[at]
    if (quoted && character === '\\') at++
    else if (character === '"') quoted = !quoted
    else if (!quoted && character === '{') depth++
    else if (!quoted && character === '}' && --depth === 0) return at + 1
  }
  return null
}
