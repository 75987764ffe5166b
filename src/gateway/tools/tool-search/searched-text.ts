/** What of a tool a search looks at: its name, what is said of it, and its arguments (contract/tools 3.9). */
import { asObject, nonEmptyText } from '../../formats/json-values.js'
import type { ToolFunction } from '../port/tool.js'

/** Characters of one tool; what is beyond is not found. */
const LONGEST_TEXT = 2_000

export function searchedText({ name, description, parameters }: ToolFunction): string {
  const words = [name, description]
  for (const [argument, schema] of Object.entries(asObject(parameters.properties) ?? {}))
    words.push(argument, nonEmptyText(asObject(schema)?.description) ?? '')
  return words.join('\n').slice(0, LONGEST_TEXT)
}
