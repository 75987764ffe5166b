/** Arguments of a chat call as the input of a tool use. */
import { asObject, parseJson } from '../../formats/json-values.js'

/** Null when they are no object. No arguments, in either of the two ways in which servers say it, are an empty one. */
export function parseToolInput(text: string): Readonly<Record<string, unknown>> | null {
  const trimmed = text.trim()
  return trimmed === '' || trimmed === 'null' ? {} : asObject(parseJson(trimmed))
}
