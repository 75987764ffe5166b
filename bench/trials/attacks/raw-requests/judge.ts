/** Judges what came of a raw request: what is right for it, or what a limit of the server says of it. */
import { LIMITS, type Limit, type Server } from './limits.js'
import type { Play } from './play.js'
import { PROXY_LIMITS } from './proxy-limits.js'
import { OWN_MARK, type RawRequest } from './raw-request.js'

interface Verdict {
  readonly play: Play
  /** The limit of the server under which the request falls. */
  readonly limit: Limit | null
  /** As it should be, whatever the limit says. */
  readonly right: boolean
  /** What is wrong; empty when nothing is but what the limit says. */
  readonly faults: readonly string[]
}

/** What was run, by the names of the items that exist afterwards. */
interface Runs {
  readonly own: boolean
  readonly behind: boolean
}

/** The limit of this server that the request falls under. */
function limitOf(server: Server, request: RawRequest): Limit | null {
  return (
    [...LIMITS, ...PROXY_LIMITS].find(
      (limit) => limit.of.includes(server) && limit.requests.some((name) => isNamed(request, name)),
    ) ?? null
  )
}

/** `name` is a request's, or that of a group with its slash. */
export function isNamed(request: RawRequest, name: string): boolean {
  return name.endsWith('/') ? request.name.startsWith(name) : request.name === name
}

export function judge(server: Server, play: Play, names: ReadonlySet<string>): Verdict {
  const runs = { own: names.has(play.own), behind: names.has(play.behind) }
  const limit = limitOf(server, play.request)
  const wrong = judgeRight(server, play, runs)
  const faults = limit === null || wrong.length === 0 ? wrong : judgeLimit(limit, play, runs)
  // Whatever a proxy takes: nobody sent a second request.
  const smuggled = standsInFront(server) && play.company === 'alone' && runs.behind
  return {
    play,
    limit,
    right: wrong.length === 0,
    faults: smuggled ? [...faults, 'what is hidden in it was run'] : faults,
  }
}

const standsInFront = (server: Server): boolean => server !== 'older' && server !== 'newer'

function judgeRight(server: Server, play: Play, runs: Runs): string[] {
  const { right } = play.request
  if (right === 'refused') return judgeRefused(server, play, runs)
  if (right === 'served') return judgeServed(server, play, runs)
  const refused = judgeRefused(
    server,
    { ...play, request: { ...play.request, status: play.statuses[0] ?? 0 } },
    runs,
  )
  const served = (play.statuses[0] ?? 0) < 500 && play.statuses.length > 0 && !play.garbled
  return served ? [] : refused
}

/** Malformed requests are 400, 431 or 505 as far as the server has come with them. */
const MALFORMED = [400, 431, 505]

function isRefusal(status: number, due: number): boolean {
  return status === due || (MALFORMED.includes(due) && MALFORMED.includes(status))
}

/** A proxy has statuses of its own, and may go on behind a message whose end is beyond doubt. */
function judgeRefused(server: Server, play: Play, runs: Runs): string[] {
  const { request, statuses, company } = play
  const faults: string[] = []
  const say = (wrong: boolean, what: string): void => {
    if (wrong) faults.push(what)
  }
  const front = standsInFront(server)
  const status = statuses[0] ?? 0
  say(runs.own, 'it was run')
  if (front && request.wellFramed) {
    say(status < 400, `answered ${status}`)
    return faults
  }
  say(runs.behind, 'what is behind it was run')
  say(statuses.length > 1, `${statuses.length} answers`)
  say(play.ended === null, 'the connection did not end')
  if (company === 'alone' || statuses.length > 0) {
    say(!(front ? status >= 400 : isRefusal(status, request.status)), `answered ${status || 'nothing'}`)
  }
  return faults
}

function judgeServed(server: Server, play: Play, runs: Runs): string[] {
  const { request, statuses } = play
  const faults: string[] = []
  const say = (wrong: boolean, what: string): void => {
    if (wrong) faults.push(what)
  }
  say(play.garbled, 'what came is no answer')
  const creates = request.status === 201
  if (request.last && !standsInFront(server)) {
    say(play.ended === null, 'the connection did not end')
    say(runs.behind, 'what is behind it was run')
    say(statuses.length > 1, `${statuses.length} answers`)
    if (play.company !== 'alone' && statuses.length === 0) return faults
  }
  say(statuses[0] !== request.status, `answered ${statuses[0] ?? 'nothing'}`)
  // A mark that is cut by chunks is not found again.
  say(creates !== runs.own && request.bytes.includes(OWN_MARK), creates ? 'it was not run' : 'it was run')
  return faults
}

function judgeLimit({ does }: Limit, play: Play, runs: Runs): string[] {
  const faults: string[] = []
  const say = (wrong: boolean, what: string): void => {
    if (wrong) faults.push(what)
  }
  const alone = play.company === 'alone'
  if (alone) {
    const { statuses } = play
    say(!does.answers.includes(statuses[0] ?? 0), `answered ${statuses[0] ?? 'nothing'}`)
  }
  say(runs.own && does.runs !== true, 'it was run')
  if (does.stays) return faults
  say(runs.behind, 'what is behind it was run')
  say(play.ended === null, 'the connection did not end')
  return faults
}

/** The verdict in a line. */
export function describeVerdict({ play, right, faults }: Verdict): string {
  const { request, company, statuses, interim, ended, ms } = play
  const verdict = faults.length > 0 ? 'WRONG' : right ? 'right' : 'LIMIT'
  const heard = `${[...interim, ...statuses].join(' ') || 'nothing'}, ${ended ?? 'open'} after ${Math.round(ms)} ms`
  return [`${verdict}  ${request.name} (${company}): ${heard}`, ...faults].join('; ')
}
