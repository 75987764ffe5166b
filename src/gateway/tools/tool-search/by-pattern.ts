/**
 * Which texts a regular expression of a model matches, in time that grows with the text alone. What it costs per
 * character grows with the size of the compiled expression, so that is bounded, and between texts others have their turn.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RE2JS } from 're2js'

const LONGEST_PATTERN = 200
/** Instructions of a compiled expression: a thousand take some 20 ms for a text of the longest. */
const LARGEST_PROGRAM = 1_000
/** Sum of the counts in braces: each of them is written out when the expression is compiled. */
const MOST_REPEATS = 200
/** Milliseconds without a turn for others, and in all. */
const LONGEST_SLICE = 5
const LONGEST_SEARCH = 500

/** Places of the texts that match, in order; `error` goes on from "the pattern". */
export async function findByPattern(
  pattern: string,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly found: readonly number[] } | { readonly error: string }> {
  const compiled = await compile(pattern)
  if (typeof compiled === 'string') return { error: compiled }
  const found: number[] = []
  const start = performance.now()
  let resumed = start
  for (const [at, text] of texts.entries()) {
    if (compiled.test(text)) found.push(at)
    const now = performance.now()
    if (now - resumed < LONGEST_SLICE) continue
    if (signal.aborted || now - start > LONGEST_SEARCH) return { error: 'takes too long: use a simpler one' }
    await nextTurn()
    resumed = performance.now()
  }
  return { found }
}

/** The library is loaded by the first search. */
async function compile(pattern: string): Promise<RE2JS | string> {
  if ([...pattern].length > LONGEST_PATTERN) return `must have at most ${LONGEST_PATTERN} characters`
  if (sumOfRepeats(pattern) > MOST_REPEATS) return `must not repeat more than ${MOST_REPEATS} times in all`
  const { RE2JS } = await import('re2js')
  try {
    const compiled = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE)
    return compiled.programSize() > LARGEST_PROGRAM ? 'is too complex' : compiled
  } catch {
    return 'is no regular expression: it may have neither backreferences nor lookarounds'
  }
}

function sumOfRepeats(pattern: string): number {
  let sum = 0
  for (const [, least, most] of pattern.matchAll(/\{(\d+),?(\d*)\}/g)) sum += Number(most || least)
  return sum
}
