/**
 * Pace tapes: how streams came, and nothing of what they said. A line is a stream, as JSON; times are whole numbers of
 * 100 µs, coarse enough that they tell little of the words (docs/guide/pace-tapes.md).
 */

/** Units of a tape in a millisecond. */
export const UNITS_PER_MS = 10

/** Events of one stream that are kept; what comes behind is counted in `out` alone. */
export const MOST_EVENTS = 65_536
/** Bytes of a tape: no more are read, and no more are recorded. */
export const LONGEST_TAPE = 64 * 1024 * 1024
export const MOST_STREAMS = 200_000
/** Characters of a line: as long as it is, a line is read in one turn of the loop. */
export const LONGEST_LINE = 1024 * 1024
const LONGEST_MODEL = 256
const LARGEST_COUNT = 1e12

/**
 * How a stream ended: as it should, for a reason; refused with a status; with an error in it; cut off; or left by its
 * caller.
 */
export const STREAM_ENDS = ['stop', 'length', 'tools', 'filter', 'refused', 'error', 'cut', 'left'] as const
export type StreamEnd = (typeof STREAM_ENDS)[number]

export interface TapedStream {
  readonly v: 1
  /** When it was asked for, from the begin of the tape on. */
  readonly at: number
  readonly model: string
  /** Tokens of the question, and of the answer; null where nobody has told. */
  readonly in: number | null
  readonly out: number | null
  /** To the first content; null where there was none. */
  readonly ttft: number | null
  /** Between an event with content and the next. */
  readonly gaps: readonly number[]
  /** Tokens of each event with content. */
  readonly tok: readonly number[]
  /** Events of each read of the socket; absent where each brought one. */
  readonly reads?: readonly number[] | undefined
  /** To its end, however it ended; absent on tapes of releases that did not write it. */
  readonly took?: number | undefined
  readonly end: StreamEnd
  /** Of what was refused: 100 to 999, or 0 where there was none. */
  readonly status?: number | undefined
  /** Its reader held it back: the times say nothing of the provider. */
  readonly held?: true | undefined
}

/** What is wrong with a tape, and in which line. */
export class TapeDefect extends Error {}

export function formatStream(stream: TapedStream): string {
  return `${JSON.stringify(stream)}\n`
}

/** Tokens of a stream, as its events have them. */
export function tokensOf({ tok }: TapedStream): number {
  return tok.reduce((sum, tokens) => sum + tokens, 0)
}

/** Whether it was left before anything came: nobody knows what would have come. */
export function isLeftEmpty({ end, tok }: TapedStream): boolean {
  return end === 'left' && tok.length === 0
}

/** The streams of a tape whose lines are handed over one by one. Throws a `TapeDefect` that names the line. */
export class TapeLines {
  readonly streams: TapedStream[] = []
  #number = 0

  push(line: string): void {
    this.#number++
    if (line.trim() === '') return
    if (this.streams.length >= MOST_STREAMS)
      throw new TapeDefect(`the tape has more than ${MOST_STREAMS} streams`)
    const stream = line.length > LONGEST_LINE ? 'it has more than 1 MiB' : parseStream(line)
    if (typeof stream === 'string') throw new TapeDefect(`line ${this.#number}: ${stream}`)
    this.streams.push(stream)
  }
}

/** The whole text at once, for commands; a server reads with `readTapeFile`. Throws a `TapeDefect`. */
export function readTape(text: string): TapedStream[] {
  const lines = new TapeLines()
  for (const line of text.split('\n')) lines.push(line)
  return lines.streams
}

/** `model` as a tape may have it. */
export function modelName(told: unknown): string {
  return typeof told === 'string' ? told.slice(0, LONGEST_MODEL) : ''
}

function parseStream(line: string): TapedStream | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'no JSON'
  }
  return defectOf(value) ?? (value as TapedStream)
}

type Check = (value: unknown) => boolean

const isCount = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= LARGEST_COUNT
const isCountOrNull: Check = (value) => value === null || isCount(value)

/** By hand: a tape has millions of numbers, and a schema takes a microsecond for each. */
function areCounts(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > MOST_EVENTS) return false
  for (let at = 0; at < value.length; at++) if (!isCount(value[at])) return false
  return true
}

const ENDS: ReadonlySet<unknown> = new Set(STREAM_ENDS)
const isStatus: Check = (value) =>
  isCount(value) && (value === 0 || (value as number) >= 100) && Number(value) <= 999

/** What each member has to be. */
const CHECKS: Readonly<Record<string, readonly [check: Check, wanted: string]>> = {
  v: [(value) => value === 1, 'must be 1'],
  at: [isCount, 'must be a whole number'],
  model: [(value) => typeof value === 'string' && value.length <= LONGEST_MODEL, 'must be a name'],
  in: [isCountOrNull, 'must be a whole number or null'],
  out: [isCountOrNull, 'must be a whole number or null'],
  ttft: [isCountOrNull, 'must be a whole number or null'],
  gaps: [areCounts, `must be at most ${MOST_EVENTS} whole numbers`],
  tok: [areCounts, `must be at most ${MOST_EVENTS} whole numbers`],
  end: [(value) => ENDS.has(value), `must be one of ${STREAM_ENDS.join(', ')}`],
}
const OPTIONAL_CHECKS: typeof CHECKS = {
  reads: [areCounts, `must be at most ${MOST_EVENTS} whole numbers`],
  took: [isCount, 'must be a whole number'],
  status: [isStatus, 'must be 0 or from 100 to 999'],
  held: [(value) => value === true, 'must be true'],
}

/** Looks at every member of what JSON gave; null where it is a stream. */
function defectOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'no object'
  const members = value as Readonly<Record<string, unknown>>
  for (const [name, [check, wanted]] of Object.entries(CHECKS))
    if (!Object.hasOwn(members, name) || !check(members[name])) return `${name}: ${wanted}`
  for (const name of Object.keys(members)) {
    if (Object.hasOwn(CHECKS, name)) continue
    if (!Object.hasOwn(OPTIONAL_CHECKS, name)) return 'it has a member that no tape has'
    const [check, wanted] = OPTIONAL_CHECKS[name]!
    if (!check(members[name])) return `${name}: ${wanted}`
  }
  const { gaps, tok } = value as TapedStream
  return gaps.length === Math.max(0, tok.length - 1) ? null : 'gaps and tok do not fit together'
}
