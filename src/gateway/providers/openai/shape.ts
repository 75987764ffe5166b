/** Lenient readers of what a server sent: a value of the expected shape, or nothing. */
export type Members = Readonly<Record<string, unknown>>

export function objectOf(value: unknown): Members | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : null
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that says something; undefined for `''` and for anything else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An integer from 0 on that is exact; undefined for anything else. */
export function countOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** The objects in a list; none when it is no list. */
export function objectsIn(value: unknown): readonly Members[] {
  return listOf(value).filter((item): item is Members => objectOf(item) !== null)
}

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
  const members = objectOf(part)
  if (members === null) return ''
  if (kind === 'text')
    return members.type === 'text' || members.type === 'output_text' ? (textOf(members.text) ?? '') : ''
  return members.type === 'thinking' ? (contentOf(members.thinking) ?? '') : ''
}
