/** The nearest JSON to a text that a model has written. */
import { jsonrepair } from 'jsonrepair'

/**
 * What the text may have been meant to be, as JSON, the likeliest first: the value from its first bracket on, and the one
 * from its first bracket of the other kind on. Words around it and the fence of a code block are taken off. Throws for no
 * text.
 */
export function repairJson(text: string): readonly string[] {
  const starts = [text.indexOf('{'), text.indexOf('[')].filter((at) => at >= 0).sort((a, b) => a - b)
  return starts.flatMap((start) => {
    const inner = text.slice(start)
    const value = tryRepair(inner.slice(0, closedLength(inner))) ?? tryRepair(inner)
    return value === null ? [] : [value]
  })
}

/** Characters up to where the first bracket is closed; all of them where it is not. */
function closedLength(text: string): number {
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') isQuoted = !isQuoted
    else if (isQuoted) at += sign === '\\' ? 1 : 0
    else if (sign === '{' || sign === '[') depth++
    else if ((sign === '}' || sign === ']') && --depth === 0) return at + 1
  }
  return text.length
}

/** Null where it is beyond repair, or nested so deep that the reader gives up. */
function tryRepair(text: string): string | null {
  try {
    const repaired = jsonrepair(text)
    JSON.parse(repaired)
    return repaired
  } catch {
    return null
  }
}
