/** A JSON Schema that stands in the words of a prompt, as clients put it there for models without structured answers. */
import type { ChatMessage } from '../../gateway/formats/canonical.js'
import { isObject, ownList, ownMember, type SchemaObject } from '../json-sampler/json-values.js'
import { currentTurn, textOfContent } from './current-turn.js'

/** The end of the word that announces a schema, in any case of its first letter. */
const WORD = 'chema'
/** How many of these words are looked at: prompts may hold any number. */
const MAX_WORDS = 256
/** Most characters before the word in which JSON is named, between it and the schema, and of the schema. */
const REACH = 200
const MAX_SCHEMA = 65_536

/**
 * The schema by which the prompt asks for JSON, or null. System messages and what the user asks now are read, and of
 * several schemas the last one counts: the others are examples.
 */
export function findPromptSchema(messages: readonly ChatMessage[]): SchemaObject | null {
  const rules = messages.filter(isRule).map(({ content }) => textOfContent(content))
  return [...rules, currentTurn(messages).text].reduce<SchemaObject | null>(
    (found, text) => findSchema(text) ?? found,
    null,
  )
}

function isRule({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer'
}

function findSchema(text: string): SchemaObject | null {
  let found: SchemaObject | null = null
  let at = text.indexOf(WORD)
  for (let seen = 0; at >= 0 && seen < MAX_WORDS; seen++) {
    const from = at + WORD.length
    const object = objectBehind(text, from)
    if (object !== null && asksForJson(text, from) && describesValue(object.value)) found = object.value
    // Within an object the word means something else.
    at = text.indexOf(WORD, object?.end ?? from)
  }
  return found
}

/** Whether the words up to a place announce the schema of an answer: an input schema describes a tool. */
function asksForJson(text: string, to: number): boolean {
  const words = text.slice(Math.max(0, to - REACH), to)
  return /json/i.test(words) && !/(?:input|parameters?)[ _-]?schema$/i.test(words)
}

interface FoundObject {
  readonly value: SchemaObject
  /** The place behind it. */
  readonly end: number
}

function objectBehind(text: string, from: number): FoundObject | null {
  const gap = text.slice(from, from + REACH).indexOf('{')
  return gap < 0 ? null : objectAt(text, from + gap)
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

/** The JSON object that begins at `start`; null when what stands there is none. */
function objectAt(text: string, start: number): FoundObject | null {
  const end = endOfObject(text, start)
  if (end === null) return null
  try {
    const value: unknown = JSON.parse(text.slice(start, end))
    return isObject(value) ? { value, end } : null
  } catch {
    return null
  }
}

/** The place behind the brace that closes the one at `start`. */
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
