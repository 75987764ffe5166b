/** `npm run bench -- drive`: the HTTP driver for a person or a script. */

import { type ArrivalPattern, arrivalSchedule } from '../../harness/http/arrival-schedule.js'
import { HttpLoad, type LoadPlan } from '../../harness/http/http-load.js'
import {
  parseHeaderLines,
  parseTargetUrl,
  type RequestSpec,
  renderRequest,
  resolveDestination,
} from '../../harness/http/requests.js'
import { numberOption, readFlags, UsageError, wholeOption } from '../../harness/option-values.js'
import { DRIVER_NAME, driveReport, driveText } from './drive-report.js'
import { HeatMap } from './heat.js'
import { INTERRUPTED, withProgress } from './running.js'

const driveUsage = `npm run bench -- drive --url http://host:port/path [options]

Sends requests when they are due, whatever the server does, and counts latency from the due time.

  --url url              what to load (http only)
  --pattern name         constant (default), poisson, or closed: each connection asks again when it is answered
  --rate n               requests per second, for constant and poisson (default 100)
  --seconds s            length of the run (default 10)
  --connections n        opened before the start (default: enough for a second of silence, at most 1000; closed: 50)
  --max-connections n    an open loop opens more when all are busy, up to this (default 10000)
  --per-connection n     close a connection after n requests
  --timeout s            patience from the due time on (default 60); a timeout is a sample at its latency
  --method name, --header 'Name: value', --body text    the request (default GET)
  --lab-headers          add X-Lab-Due and X-Lab-Sent, from which the server knows lateness and wait
  --seed n               of the Poisson gaps (default 1)
  --json                 print JSON instead of text; --heat adds the counts by time and latency
  --quiet                no progress on stderr

Exit codes: 0 when every request was answered below 400, 1 when not, 2 for a bad option, 130 when interrupted (the figures
so far are printed and marked partial).
`

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const

type DriveOptions = NonNullable<ReturnType<typeof readDriveOptions>>

/** Reads the arguments behind the word; null asks for help. Throws `UsageError`. */
export function readDriveOptions(args: readonly string[]) {
  const given = readFlags(
    args,
    'url pattern rate seconds connections max-connections per-connection timeout method body seed',
    'lab-headers json heat quiet help',
    'header',
  )
  if (given.help) return null
  const url = parseTargetUrl(given.url)
  const pattern = parsePattern(given.pattern)
  if (pattern === 'closed' && given.rate !== undefined) {
    throw new UsageError('--rate and --pattern closed exclude each other: a closed loop has the rate it gets')
  }
  const rate = numberOption('rate', given.rate, 100, 0.01, 1_000_000)
  const usual = pattern === 'closed' ? 50 : connectionsForRate(rate)
  const connections = wholeOption('connections', given.connections, usual, 1, 60_000)
  const most = wholeOption('max-connections', given['max-connections'], 10_000, 1, 60_000)
  if (most < connections && given['max-connections'] !== undefined) {
    throw new UsageError(`--max-connections ${most} is less than the ${connections} opened before the start`)
  }
  const each = given['per-connection']
  return {
    url,
    pattern,
    /** Of an open loop. */
    rate,
    seconds: numberOption('seconds', given.seconds, 10, 0.1, 86_400),
    connections,
    mostConnections: Math.max(most, connections),
    ...(each !== undefined && {
      requestsPerConnection: wholeOption('per-connection', each, 1, 1, 1_000_000),
    }),
    timeoutMs: numberOption('timeout', given.timeout, 60, 0.001, 3_600) * 1000,
    request: requestFromOptions(url, given),
    labHeaders: given['lab-headers'] ?? false,
    seed: wholeOption('seed', given.seed, 1, 0, 0xffffffff),
    json: given.json ?? false,
    heat: given.heat ?? false,
    quiet: given.quiet ?? false,
  }
}

/** So many that a second of silence finds a connection for every request, with the spread of Poisson arrivals. */
export function connectionsForRate(rate: number): number {
  return Math.max(8, Math.min(1000, Math.ceil(rate + 4 * Math.sqrt(rate))))
}

function parsePattern(text: string | undefined): ArrivalPattern | 'closed' {
  if (text === undefined) return 'constant'
  if (text === 'constant' || text === 'poisson' || text === 'closed') return text
  throw new UsageError(`--pattern is constant, poisson or closed, not '${text}'`)
}

function requestFromOptions(
  url: URL,
  given: { method?: string | undefined; header?: readonly string[] | undefined; body?: string | undefined },
): RequestSpec {
  const method = METHODS.find((one) => one === (given.method ?? (given.body === undefined ? 'GET' : 'POST')))
  if (method === undefined) {
    throw new UsageError(`--method is one of ${METHODS.join(', ')}, not '${given.method}'`)
  }
  const path = `${url.pathname}${url.search}`
  return {
    method,
    route: url.pathname,
    path,
    headers: parseHeaderLines(given.header ?? []),
    ...(given.body !== undefined && { body: given.body }),
  }
}

async function loadPlanOf(options: DriveOptions): Promise<LoadPlan> {
  const { url, pattern, rate, seed, request: spec, ...plan } = options
  const request = renderRequest(spec, 0, url.host)
  return {
    ...plan,
    to: await resolveDestination(url),
    schedule: pattern === 'closed' ? null : arrivalSchedule([{ seconds: plan.seconds, rate }], pattern, seed),
    kinds: [`${spec.method} ${url.pathname}`],
    request: () => request,
  }
}

/** Runs the command; resolves to the exit code. */
export async function driveCommand(args: readonly string[]): Promise<number> {
  const options = readDriveOptions(args)
  if (options === null) {
    process.stdout.write(driveUsage)
    return 0
  }
  const heat = options.heat ? new HeatMap(options.seconds * 1000) : null
  const plan = { ...(await loadPlanOf(options)), ...(heat !== null && { onSample: heat.record }) }
  const load = new HttpLoad(plan)
  const line = () => progressLine(load, options)
  const outcome = await withProgress(load, line, options.quiet, () => load.run())
  const report = driveReport(outcome, plan, [DRIVER_NAME, ...args], options.rate)
  const whole = heat === null ? report : { ...report, heat: heat.cells() }
  process.stdout.write(options.json ? `${JSON.stringify(whole)}\n` : driveText(report))
  if (outcome.partial) return INTERRUPTED
  const { statuses, done } = report.report
  const refused = Object.entries(statuses).some(([status]) => Number(status) >= 400)
  return refused || done < report.due || done === 0 ? 1 : 0
}

function progressLine({ figures, elapsedMs }: HttpLoad, { seconds, rate, pattern }: DriveOptions): string {
  const left = Math.max(0, seconds - elapsedMs / 1000)
  const what = pattern === 'closed' ? 'closed loop' : `${rate}/s ${pattern}`
  const lost = figures.lost + (figures.losses.timeout ?? 0)
  return `drive: ${what}: ${figures.done} of ${figures.due} answered, ${lost} without an answer, ${left.toFixed(0)} s left`
}
