/** Reading what tools print: numbers with units, JSON among other lines, and clear faults. */
import type { CurvePoint } from '../report/repetition.js'
import { UnreadableOutput } from './tool.js'

const MS_PER: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  secs: 1000,
  m: 60_000,
}

/** `416us`, `2.61ms`, `1.20s` in milliseconds. Throws UnreadableOutput. */
export function milliseconds(text: string): number {
  const match = /^([\d.]+)\s*([a-zµ]+)$/.exec(text.trim())
  const factor = match === null ? undefined : MS_PER[match[2]!]
  if (match === null || factor === undefined)
    throw new UnreadableOutput(`no duration: '${text.slice(0, 40)}'`)
  return Number(match[1]) * factor
}

/** The first group of `pattern`, which has to be there. Throws UnreadableOutput that names `what`. */
export function matchText(text: string, pattern: RegExp, what: string): string {
  const group = pattern.exec(text)?.[1]
  if (group !== undefined) return group
  throw new UnreadableOutput(`its output has no ${what}: ${excerpt(text)}`)
}

/** The same as a finite number. */
export function matchNumber(text: string, pattern: RegExp, what: string): number {
  return finiteNumber(matchText(text, pattern, what), what)
}

/** What every match of `pattern` says: a name in its first group and a number in its second. */
export function namedNumbers(text: string, pattern: RegExp): Record<string, number> {
  return Object.fromEntries([...text.matchAll(pattern)].map(([, name, value]) => [name!, Number(value)]))
}

/** A value that has to be a finite number of at least 0. Throws UnreadableOutput. */
export function finiteNumber(value: unknown, what: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number === 'number' && Number.isFinite(number) && number >= 0) return number
  throw new UnreadableOutput(`its ${what} is no number: ${JSON.stringify(value) ?? 'missing'}`)
}

/** An object of JSON that starts at the first (or last) line that begins with `{`. Throws UnreadableOutput. */
export function parseJsonIn(text: string, which: 'first' | 'last' = 'first'): Record<string, unknown> {
  const starts = [...text.matchAll(/^[ \t]*\{/gm)].map((match) => match.index)
  const start = which === 'first' ? starts[0] : starts.at(-1)
  if (start === undefined) throw new UnreadableOutput(`its output has no JSON: ${excerpt(text)}`)
  const end = text.lastIndexOf('}')
  try {
    return JSON.parse(text.slice(start, end + 1)) as Record<string, unknown>
  } catch {
    throw new UnreadableOutput(`its JSON cannot be read: ${excerpt(text.slice(start))}`)
  }
}

/** A member that is an object; an empty one when it is missing or something else. */
export function objectMember(
  value: Readonly<Record<string, unknown>>,
  name: string,
): Record<string, unknown> {
  const member = value[name]
  return typeof member === 'object' && member !== null ? (member as Record<string, unknown>) : {}
}

/** Counts above 0, by name. Throws UnreadableOutput for one that is no number. */
export function positiveCounts(of: Readonly<Record<string, unknown>>): Record<string, number> {
  const pairs = Object.entries(of).map(([name, value]) => [name, finiteNumber(value, name)] as const)
  return Object.fromEntries(pairs.filter(([, count]) => count > 0))
}

export function sumCounts(of: Readonly<Record<string, number>>): number {
  return Object.values(of).reduce((total, count) => total + count, 0)
}

/** `p99.9` as 99.9. */
const percentOf = (name: string): number => Number(name.slice(1))

/** The percentiles as a curve, rising. */
export function curveOfPercentiles(
  percentiles: Readonly<Record<string, number>>,
  max?: number,
): CurvePoint[] {
  const points = Object.entries(percentiles).map(([name, ms]) => ({ percentile: percentOf(name), ms }))
  if (max !== undefined) points.push({ percentile: 100, ms: max })
  return points.sort((a, b) => a.percentile - b.percentile)
}

function excerpt(text: string): string {
  const trimmed = text.trim()
  return trimmed === '' ? 'it printed nothing' : JSON.stringify(trimmed.slice(-160))
}

/** Requests per second. */
export const ratePerSecond = (count: number, seconds: number): number => (seconds === 0 ? 0 : count / seconds)

/** Pairs of a percentage and a time as percentiles; `unit` is how many milliseconds one of the tool's times is. */
export function percentilesOf(
  pairs: Iterable<readonly [percent: string | number, value: unknown]>,
  unit = 1,
): Record<string, number> {
  const percentiles = [...pairs].map(([percent, value]) => {
    return [`p${String(percent).trim()}`, finiteNumber(value, `percentile ${percent}`) * unit]
  })
  return Object.fromEntries(percentiles)
}

/** The same where the tool has names of its own: `names` holds them by percentage, and all have to be there. */
export function namedPercentiles(
  of: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
  unit = 1,
): Record<string, number> {
  return percentilesOf(
    Object.entries(names).map(([percent, own]) => [percent, of[own]]),
    unit,
  )
}
