/** Lenient readers of content, which servers send as a text or as parts. */
import { asObject, type Members, nonEmptyText } from '../../formats/json-values.js'

/** Content that came as a text, or as a list of parts of which the text ones count. */
export function joinTextParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return nonEmptyText(value)
  return nonEmptyText(
    value.map((part) => (typeof part === 'string' ? part : partText(part, 'text'))).join(''),
  )
}

/** What the parts of kind `thinking` say, for servers that put reasoning into the content. */
export function joinThinkingParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  return nonEmptyText(value.map((part) => partText(part, 'thinking')).join(''))
}

function partText(part: unknown, kind: 'text' | 'thinking'): string {
  const members: Members | null = asObject(part)
  if (members === null) return ''
  if (kind === 'text')
    return members.type === 'text' || members.type === 'output_text' ? (nonEmptyText(members.text) ?? '') : ''
  return members.type === 'thinking' ? (joinTextParts(members.thinking) ?? '') : ''
}
