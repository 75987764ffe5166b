/**
 * Pace tapes: how streams came, and nothing of what they said. A line is a stream, as JSON; times are whole numbers of
 * 100 µs, coarse enough that they tell little of the words (docs/guide/pace-tapes.md).
 */
import { z } from 'zod'

/** Units of a tape in a millisecond. */
export const UNITS_PER_MS = 10

/** Events of one stream that are kept; what comes behind is counted in `out` alone. */
export const MOST_EVENTS = 65_536
/** Characters of a tape that is read. */
const LONGEST_TAPE = 64 * 1024 * 1024
const MOST_STREAMS = 200_000
const LONGEST_MODEL = 256

const count = z.int().min(0).max(1e12)
const counts = z.array(count).max(MOST_EVENTS)

/**
 * How a stream ended: as it should, for a reason; refused with a status; with an error in it; cut off; or left by its
 * caller.
 */
export const STREAM_ENDS = ['stop', 'length', 'tools', 'filter', 'refused', 'error', 'cut', 'left'] as const
export type StreamEnd = (typeof STREAM_ENDS)[number]

const streamSchema = z
  .strictObject({
    v: z.literal(1),
    /** When it was asked for, from the begin of the tape on. */
    at: count,
    model: z.string().max(LONGEST_MODEL),
    /** Tokens of the question, and of the answer; null where nobody has told. */
    in: count.nullable(),
    out: count.nullable(),
    /** To the first content; null where there was none. */
    ttft: count.nullable(),
    /** Between an event with content and the next. */
    gaps: counts,
    /** Tokens of each event with content. */
    tok: counts,
    /** Events of each read of the socket; absent where each brought one. */
    reads: counts.optional(),
    end: z.enum(STREAM_ENDS),
    /** Of what was refused; 0 where there was none. */
    status: z.int().min(0).max(599).optional(),
    /** Its reader held it back: the times say nothing of the provider. */
    held: z.literal(true).optional(),
  })
  .refine(({ gaps, tok }) => gaps.length === Math.max(0, tok.length - 1), 'gaps and tok do not fit together')

export type TapedStream = z.output<typeof streamSchema>

/** What is wrong with a tape, and in which line. */
export class TapeDefect extends Error {}

export function formatStream(stream: TapedStream): string {
  return `${JSON.stringify(stream)}\n`
}

/** Throws a `TapeDefect` that names the line. */
export function readTape(text: string): TapedStream[] {
  if (text.length > LONGEST_TAPE) throw new TapeDefect('the tape has more than 64 MiB')
  const streams: TapedStream[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    if (streams.length >= MOST_STREAMS) throw new TapeDefect(`the tape has more than ${MOST_STREAMS} streams`)
    const checked = streamSchema.safeParse(parseLine(line, at + 1))
    if (!checked.success) {
      const { path, message } = checked.error.issues[0]!
      throw new TapeDefect(`line ${at + 1}: ${[...path, ''].join(': ')}${message}`)
    }
    streams.push(checked.data)
  }
  return streams
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new TapeDefect(`line ${number}: no JSON`)
  }
}

/** `model` as a tape may have it. */
export function modelName(told: unknown): string {
  return typeof told === 'string' ? told.slice(0, LONGEST_MODEL) : ''
}
