/** Characters of one token of text that is no prose. */
const PIECE = 4

/** Cuts a text into tokens of a few characters; never between the halves of a surrogate pair. */
export function splitIntoTokens(text: string): string[] {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + PIECE)
    if (to < text.length && isLowSurrogate(text.charCodeAt(to)) && isHighSurrogate(text.charCodeAt(to - 1)))
      to++
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}

/** Cuts a text into words, each with the space before it. */
export function splitIntoWords(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? []
}

/** The tokens before the first of the stop sequences, and which one that is; null when none occurs. */
export function cutAtStopSequence(
  pieces: readonly string[],
  stops: readonly string[],
): { readonly kept: string[]; readonly stop: string } | null {
  const text = pieces.join('')
  let end = Number.POSITIVE_INFINITY
  let first = ''
  for (const stop of stops) {
    const at = stop === '' ? -1 : text.indexOf(stop)
    if (at < 0 || at >= end) continue
    end = at
    first = stop
  }
  if (end === Number.POSITIVE_INFINITY) return null
  const kept: string[] = []
  for (let at = 0, i = 0; at < end; i++) {
    const piece = pieces[i]!
    kept.push(piece.slice(0, end - at))
    at += piece.length
  }
  return { kept, stop: first }
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}

function isLowSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}
