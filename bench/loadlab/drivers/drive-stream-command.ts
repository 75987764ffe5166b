/** `npm run bench -- drive-stream`: the SSE driver for a person or a script. */
import { readFileSync } from 'node:fs'
import { seededRandom } from '../../../src/base/random.js'
import { type ArrivalPattern, arrivalSchedule, listedSchedule } from '../../harness/http/arrival-schedule.js'
import {
  parseHeaderLines,
  parseTargetUrl,
  requestBytes,
  resolveDestination,
} from '../../harness/http/requests.js'
import { numberOption, readFlags, UsageError, wholeOption } from '../../harness/option-values.js'
import { StreamLoad, type StreamPlan } from '../../harness/sse/stream-load.js'
import { SPARE_FOR_BURSTS } from '../../harness/sse/stream-loop.js'
import type { AbortRule } from '../../harness/sse/timed-stream.js'
import { INTERRUPTED, withProgress } from './running.js'
import { streamReport, streamText } from './stream-report.js'
import { type TracedLoad, tracedLoad } from './traced-load.js'

const driveStreamUsage = `npm run bench -- drive-stream --url http://host:port/path --model name [options]

Opens event streams of a model and times their tokens, from the moment a stream was due.

  --url url              endpoint for chat completions or messages (http only)
  --model name           asks it with a short prompt; or --body text, or --body-file file, for a request of your own
  --header 'Name: value' for example an Authorization (may be repeated)
  --key-file file        sends the text of a file as bearer key
  --streams n            so many at a time, each followed by the next (default 16)
  --rate n               instead: streams per second, begun when due; --pattern constant (default) or poisson
  --arrivals file        instead: when the calls of a pace tape, a Mooncake or an Azure trace came, each with about as many
                         tokens and at most as long an answer; --speed n times as fast (default 1). A model that
                         replays the tape (its name has /tape:) is asked for the very stream of each call.
                         --model recorded=asked, repeated, for the calls of one model of a tape
  --seconds s            length of the run; streams under way are waited for (default 10, or all arrivals)
  --silence s            a stream that says nothing for so long has failed (default 30)
  --pace-ms n            gap that the model promises: drift from it is reported
  --goal-first-ms n      a good stream's first token (with --goal-gap-ms: and 99th percentile of its gaps)
  --goal-gap-ms n
  --abort-share x        give up so many (0 to 1): --abort-after-ms n, --abort-at-token n or --abort-before-first
  --slow-share x         read so many slowly (0 to 1), at --slow-bytes n a second (default 64)
  --seed n               of the choices and the Poisson gaps (default 1)
  --json, --quiet        JSON instead of text; no progress on stderr

Exit codes: 0 when every stream was complete or given up on purpose, 1 when not, 2 for a bad option, 130 when interrupted
(the figures so far are printed and marked partial).
`

const REQUEST = 'url body body-file key-file'
const LOAD = 'streams rate pattern arrivals speed seconds seed silence pace-ms goal-first-ms goal-gap-ms'
const READERS = 'abort-share abort-after-ms abort-at-token slow-share slow-bytes'

const readStreamFlags = (args: readonly string[]) =>
  readFlags(
    args,
    `${REQUEST} ${LOAD} ${READERS}` as const,
    'abort-before-first json quiet help',
    'header model',
  )

type StreamFlags = ReturnType<typeof readStreamFlags>

/** Reads the arguments behind the word; null asks for help. Throws `UsageError`. */
export function readStreamOptions(args: readonly string[]) {
  const given = readStreamFlags(args)
  if (given.help) return null
  const url = parseTargetUrl(given.url)
  if (given.rate !== undefined && given.streams !== undefined) {
    throw new UsageError(
      '--rate and --streams exclude each other: streams either begin when due or follow each other',
    )
  }
  const trace = traceFromFlags(given)
  const seconds = numberOption('seconds', given.seconds, trace?.seconds ?? 10, 0.1, 86_400)
  const seed = wholeOption('seed', given.seed, 1, 0, 0xffffffff)
  const request = requestFromFlags(url, given, trace)
  const pace = given['pace-ms']
  return {
    url,
    seconds,
    json: given.json ?? false,
    quiet: given.quiet ?? false,
    /** Calls of a tape that are not played. */
    leftOut: trace?.leftOut ?? 0,
    plan: {
      schedule:
        trace === null
          ? scheduleFromFlags(given, seconds, seed)
          : listedSchedule(trace.times, seconds * 1000),
      seconds,
      streams: wholeOption('streams', given.streams, 16, 1, 50_000),
      ...(trace !== null && { spare: SPARE_FOR_BURSTS }),
      request,
      abort: abortsFromFlags(given, seed),
      bytesPerS: slowReadersFromFlags(given, seed),
      silenceMs: numberOption('silence', given.silence, 30, 0.01, 3_600) * 1000,
      paceMs: pace === undefined ? null : numberOption('pace-ms', pace, 0, 0.1, 600_000),
      goal: goalFromFlags(given),
    },
  }
}

function scheduleFromFlags(given: StreamFlags, seconds: number, seed: number) {
  if (given.pattern !== undefined && given.rate === undefined)
    throw new UsageError('--pattern needs a --rate')
  if (given.rate === undefined) return null
  const pattern: ArrivalPattern | undefined = (['constant', 'poisson'] as const).find(
    (one) => one === (given.pattern ?? 'constant'),
  )
  if (pattern === undefined) throw new UsageError(`--pattern is constant or poisson, not '${given.pattern}'`)
  return arrivalSchedule(
    [{ seconds, rate: numberOption('rate', given.rate, 1, 0.01, 100_000) }],
    pattern,
    seed,
  )
}

/** Calls of a trace, as fast as asked for; null where none is. */
function traceFromFlags(given: StreamFlags): TracedLoad | null {
  const speed = numberOption('speed', given.speed, 1, 0.001, 10_000)
  if (given.arrivals === undefined) {
    if (given.speed !== undefined) throw new UsageError('--speed needs --arrivals')
    return null
  }
  if (given.rate !== undefined || given.streams !== undefined || given.pattern !== undefined)
    throw new UsageError('--arrivals excludes --rate, --streams and --pattern: the file says when')
  if (given.model === undefined || given.body !== undefined || given['body-file'] !== undefined)
    throw new UsageError('--arrivals needs a --model, and takes no --body: the file says what is asked')
  return tracedLoad(given.arrivals, speed, given.model)
}

function requestFromFlags(url: URL, given: StreamFlags, trace: TracedLoad | null): (index: number) => Buffer {
  const bodies = [given.model?.[0], given.body, given['body-file']].filter((one) => one !== undefined)
  if (bodies.length !== 1 || (trace === null && (given.model?.length ?? 0) > 1))
    throw new UsageError('one of --model, --body and --body-file is needed')
  const path = `${url.pathname}${url.search}`
  const keyFile = given['key-file']
  const headers = {
    Host: url.host,
    Accept: 'text/event-stream',
    ...(keyFile !== undefined && { Authorization: `Bearer ${readOptionFile('key-file', keyFile).trim()}` }),
    ...parseHeaderLines(given.header ?? []),
  }
  const bytesOf = (body: string, more: object = {}): Buffer =>
    requestBytes({ method: 'POST', route: url.pathname, path, headers: { ...headers, ...more }, body })
  if (trace !== null)
    return (index) => {
      const call = trace.call(index)
      return bytesOf(call.body, call.headers)
    }
  const request = bytesOf(bodyFromFlags(given))
  return () => request
}

function bodyFromFlags(given: StreamFlags): string {
  if (given.body !== undefined) return given.body
  if (given['body-file'] !== undefined) return readOptionFile('body-file', given['body-file'])
  const messages = [{ role: 'user', content: 'Count the stars that you can name.' }]
  // Where the format of messages is spoken a limit is a must; elsewhere it does no harm.
  return JSON.stringify({ model: given.model![0], max_tokens: 512, messages, stream: true })
}

function readOptionFile(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    throw new UsageError(`--${option}: ${file} cannot be read`)
  }
}

function abortsFromFlags(given: StreamFlags, seed: number): StreamPlan['abort'] {
  const {
    'abort-share': share,
    'abort-after-ms': after,
    'abort-at-token': token,
    'abort-before-first': early,
  } = given
  const rules: AbortRule[] = [
    ...(after === undefined
      ? []
      : [{ kind: 'time', ms: numberOption('abort-after-ms', after, 0, 0, 3_600_000) } as const]),
    ...(token === undefined
      ? []
      : [{ kind: 'token', token: wholeOption('abort-at-token', token, 1, 1, 1_000_000) } as const]),
    ...(early ? [{ kind: 'before-first' } as const] : []),
  ]
  if (share === undefined && rules.length === 0) return () => null
  if (rules.length !== 1) {
    throw new UsageError(
      '--abort-share needs one of --abort-after-ms, --abort-at-token and --abort-before-first',
    )
  }
  const chosen = seededChoice(numberOption('abort-share', share, 1, 0, 1), seed)
  return (index) => (chosen(index) ? rules[0]! : null)
}

function slowReadersFromFlags(given: StreamFlags, seed: number): StreamPlan['bytesPerS'] {
  const { 'slow-share': share, 'slow-bytes': bytes } = given
  if (share === undefined) {
    if (bytes !== undefined) throw new UsageError('--slow-bytes needs a --slow-share')
    return () => null
  }
  const chosen = seededChoice(numberOption('slow-share', share, 0, 0, 1), seed + 1)
  const perSecond = numberOption('slow-bytes', bytes, 64, 1, 1e9)
  return (index) => (chosen(index) ? perSecond : null)
}

/** The same streams are chosen whenever the seed is the same, in whichever order they are asked about. */
export function seededChoice(share: number, seed: number): (index: number) => boolean {
  return (index) => seededRandom(seed * 7919 + index)() < share
}

function goalFromFlags(given: StreamFlags): StreamPlan['goal'] {
  const { 'goal-first-ms': first, 'goal-gap-ms': gap } = given
  if (first === undefined && gap === undefined) return null
  return {
    firstTokenMs: numberOption('goal-first-ms', first, Number.POSITIVE_INFINITY, 0, 3_600_000),
    gapMs: numberOption('goal-gap-ms', gap, Number.POSITIVE_INFINITY, 0, 3_600_000),
  }
}

/** Runs the command; resolves to the exit code. */
export async function driveStreamCommand(args: readonly string[]): Promise<number> {
  const options = readStreamOptions(args)
  if (options === null) {
    process.stdout.write(driveStreamUsage)
    return 0
  }
  if (options.leftOut > 0)
    process.stderr.write(
      `drive-stream: ${options.leftOut} calls left out: on the tape their callers left before anything came\n`,
    )
  const load = new StreamLoad({ ...options.plan, to: await resolveDestination(options.url) })
  const line = (): string => {
    const left = Math.max(0, options.seconds - load.elapsedMs / 1000)
    return `drive-stream: ${load.figures.started} streams begun, ${load.underWay} under way, ${load.figures.tokens} tokens, ${left.toFixed(0)} s left`
  }
  const report = streamReport(await withProgress(load, line, options.quiet, () => load.run()))
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : streamText(report))
  if (report.partial) return INTERRUPTED
  const { complete = 0, aborted = 0 } = report.ends
  return complete + aborted === report.started && report.started > 0 ? 0 : 1
}
