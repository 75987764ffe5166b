/** The calls of a pace tape or a public trace as a load: when each is due, and what it asks. */
import { type Arrival, readArrivalsFile } from '../../../src/tape/arrivals.js'
import { UsageError } from '../../harness/option-values.js'

/** Most words of a made-up question. */
const MOST_WORDS = 100_000

interface TracedCall {
  readonly body: string
  /** Beside those of every call. */
  readonly headers: Readonly<Record<string, string>>
}

export interface TracedLoad {
  /** Due times in milliseconds. */
  readonly times: readonly number[]
  /** Until the last one is due. */
  readonly seconds: number
  readonly call: (index: number) => TracedCall
  /** Calls of a tape whose callers left before anything came: a model that replays the tape has nothing for them. */
  readonly leftOut: number
}

/**
 * `models`: a model for all calls, and `recorded=asked` for those of one model of a tape. Models that replay a tape are
 * asked for the very stream of each call. Throws `UsageError`.
 */
export function tracedLoad(file: string, speed: number, models: readonly string[]): TracedLoad {
  const asked = readModels(file, arrivalsOfFile(file), models)
  const played = asked.filter(({ arrival, model }) => !(replaysTape(model) && arrival.taped?.isLeftEmpty))
  if (played.length === 0)
    throw new UsageError(`--arrivals: ${file}: there is no call that could be replayed`)
  const times = played.map(({ arrival }) => arrival.atMs / speed)
  return {
    times,
    // The last one is within the run.
    seconds: Math.min(86_400, Math.max(0.1, times.at(-1)! / 1000 + 0.001)),
    call: (index) => tracedCall(played[index]!, index),
    leftOut: asked.length - played.length,
  }
}

function arrivalsOfFile(file: string): Arrival[] {
  try {
    return readArrivalsFile(file)
  } catch (error) {
    throw new UsageError(`--arrivals: ${file}: ${(error as Error).message}`)
  }
}

interface AskedCall {
  readonly arrival: Arrival
  readonly model: string
}

function readModels(file: string, arrivals: readonly Arrival[], models: readonly string[]): AskedCall[] {
  const pairs = models.filter((text) => text.includes('=')).map((text) => text.split('=', 2))
  const plain = models.filter((text) => !text.includes('='))
  if (plain.length > 1) throw new UsageError('--model is given once for all calls, or as recorded=asked')
  const byRecorded = new Map(pairs.map(([recorded, model]) => [recorded!, model!]))
  const onTape = new Set(arrivals.map(({ taped }) => taped?.model))
  for (const recorded of byRecorded.keys())
    if (!onTape.has(recorded)) throw new UsageError(`--model: ${file} has no call of ${recorded}`)
  return arrivals.map((arrival) => {
    const model = byRecorded.get(arrival.taped?.model ?? '') ?? plain[0]
    if (model === undefined)
      throw new UsageError(`--model: nothing is said of ${arrival.taped?.model ?? 'the calls of a trace'}`)
    return { arrival, model }
  })
}

/** By its name, as configurations are told to name it: `sim/tape:monday`. */
function replaysTape(model: string): boolean {
  return model.includes('/tape:')
}

/** About as many tokens as asked, and no two alike, so that nothing answers from a cache. */
function tracedCall({ arrival, model }: AskedCall, index: number): TracedCall {
  const { in: asked, out, taped } = arrival
  const byNumber = taped !== undefined && replaysTape(model)
  const content = `${index}${' star'.repeat(Math.min(MOST_WORDS, Math.max(0, (asked ?? 0) - 1)))}`
  const body = JSON.stringify({
    model,
    max_tokens: Math.max(1, byNumber ? taped.tokens : out),
    messages: [{ role: 'user', content }],
    stream: true,
  })
  return { body, headers: byNumber ? { 'X-Service-Simulate': `tape_stream=${taped.stream}` } : {} }
}
