/** Lenient readers of content, which servers send as a text or as parts. */
import { type Members, objectOf, textOf } from '../../formats/shape.js'

/** Content that came as a text, or as a list of parts of which the text ones count. */
export function contentOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return textOf(value)
  return textOf(value.map((part) => (typeof part === 'string' ? part : partText(part, 'text'))).join(''))
}

/** What the parts of kind `thinking` say, for servers that put reasoning into the content. */
export function thinkingOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  return textOf(value.map((part) => partText(part, 'thinking')).join(''))
}

function partText(part: unknown, kind: 'text' | 'thinking'): string {
  const members: Members | null = objectOf(part)
  if (members === null) return ''
  if (kind === 'text')
    return members.type === 'text' || members.type === 'output_text' ? (textOf(members.text) ?? '') : ''
  return members.type === 'thinking' ? (contentOf(members.thinking) ?? '') : ''
}
