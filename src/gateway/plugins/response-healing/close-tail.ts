/**
 * What a JSON text lacks that was only cut short: the quote of a string, the rest of `true`, `false`, `null` or of a
 * number, and the brackets that are open. Nothing is made up: where a name stands without its value, or a comma without
 * what it announces, there is no tail that only closes.
 */

const LITERALS = ['true', 'false', 'null'] as const

/** The text behind which `text` is JSON; null where there is none. `''` where it is JSON already. */
export function closingTail(text: string): string | null {
  const open = readOpen(text)
  if (open === null) return null
  const tail = `${open.isQuoted ? '"' : restOfScalar(text)}${open.closers.reverse().join('')}`
  return isJson(text + tail) ? tail : null
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Brackets that are open, and whether the text ends within a string; null for a bracket that closes another. */
function readOpen(text: string): { readonly closers: string[]; readonly isQuoted: boolean } | null {
  const closers: string[] = []
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"') isQuoted = !isQuoted
    else if (isQuoted) at += sign === '\\' ? 1 : 0
    else if (sign === '{') closers.push('}')
    else if (sign === '[') closers.push(']')
    else if ((sign === '}' || sign === ']') && closers.pop() !== sign) return null
  }
  return { closers, isQuoted }
}

/** A word or a number at the end may be complete already: `12` is one. */
function restOfScalar(text: string): string {
  const word = /[a-z]+$/.exec(text.slice(-5))?.[0] ?? ''
  const literal = word === '' ? undefined : LITERALS.find((each) => each.startsWith(word))
  if (literal !== undefined) return literal.slice(word.length)
  return /\d\.$/.test(text.slice(-2)) ? '0' : ''
}
