/**
 * The fixed pipeline: turns endpoints into routes. It owns the duties that no handler may forget (shed load,
 * validate, count, log) and is the only place where a fault becomes a reply.
 *
 *     route ─ shed load ─ authenticate ─ read body ─ rate limit ─ decode ─ validate ─ handle ─ reply ─ stats, log
 *
 * A read runs through it without a promise, a closure per call or a schema built per call.
 */
import { Fault } from '../base/fault.js'
import { LARGE_BYTES, largeTurn } from '../base/large-turns.js'
import { mapMaybe } from '../base/maybe-promise.js'
import { type Principal, SESSION_HEADERS, type SessionCall } from '../base/principal.js'
import type { HttpCall, Reply, Route } from '../transport/exchange.js'
import { practice } from './dialects/practice.js'
import { type Endpoint, type EndpointInput, identifiesCaller, takesSessions } from './endpoint.js'
import { FaultLog } from './fault-log.js'
import { type InputReader, inputReader } from './input.js'
import { corsOf, type Pipeline, type PipelineOptions, replyOf, routeBasis } from './pipeline.js'
import { decorateReplies } from './reply-decoration.js'
import { changesManagedRecords, withUnconfirmed } from './unconfirmed.js'
import { preflightRoute, unknownPath, unknownWithin, unmatchedRoute } from './unmatched-routes.js'

/** One route per endpoint, one per path for the methods it lacks, and one for all other paths. */
export function buildRoutes(endpoints: readonly Endpoint[], options: PipelineOptions): Route[] {
  const pipeline: Pipeline = {
    ...options,
    faults: new FaultLog(options.log, options.logRefusals),
    waiting: 0,
  }
  const routes = endpoints.map((endpoint) => endpointRoute(endpoint, pipeline))
  const paths = new Map<string, Endpoint[]>()
  for (const endpoint of endpoints) {
    paths.set(endpoint.path, [...(paths.get(endpoint.path) ?? []), endpoint])
  }
  for (const [path, siblings] of paths) {
    const allow = allowedMethods(siblings)
    const dialect = siblings[0]!.dialect
    const fault = new Fault('method-not-allowed', { allow, note: `use ${allow.join(', ')}` })
    const reply = replyOf(dialect, fault)
    routes.push(unmatchedRoute(path, dialect, pipeline, (call) => [fault, reply(call), path]))
    const cors = corsOf(dialect, pipeline)
    if (cors !== null) routes.push(preflightRoute(path, allow, dialect, pipeline, cors))
  }
  for (const dialect of new Set(endpoints.map((endpoint) => endpoint.dialect))) {
    const { area } = dialect
    if (area !== undefined) routes.push(unmatchedRoute(area, dialect, pipeline, unknownWithin(area, dialect)))
  }
  routes.push(unmatchedRoute('/*', pipeline.fallback, pipeline, unknownPath(pipeline)))
  return routes
}

function allowedMethods(siblings: readonly Endpoint[]): string[] {
  return siblings.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
}

function endpointRoute(endpoint: Endpoint, pipeline: Pipeline): Route {
  const renderFault = faultRenderer(endpoint, pipeline)
  const overload = overloadRefusal(endpoint, pipeline)
  const withBody = hasBody(endpoint)
  const answer = answerOf(endpoint, withBody ? overload : neverOverloaded, renderFault)
  const personal = endpoint.method === 'GET' && identifiesCaller(endpoint)
  const { dialect, answered } = endpoint
  const route: Route = {
    ...routeBasis(endpoint.name, dialect, pipeline),
    method: endpoint.method,
    path: endpoint.path,
    deadlineMs: endpoint.deadlineMs ?? pipeline.deadlineMs,
    bodyLimit: endpoint.bodyLimit ?? pipeline.bodyLimit,
    readsBody: endpoint.upload === undefined ? hasBody(endpoint) : 'stream',
    readsQuery: Object.keys(endpoint.query).length > 0,
    readsAddress: addressUse(endpoint, withBody),
    headers: headersReadBy(endpoint),
    admit: admissionOf(endpoint, pipeline, overload, renderFault),
    answer:
      pipeline.hasPeers && changesManagedRecords(endpoint)
        ? withUnconfirmed(answer, dialect.mediaType)
        : answer,
    ...((withBody || endpoint.upload !== undefined) && {
      bodies: pipeline.bodies[dialect === practice ? 'practice' : 'gateway'],
    }),
  }
  const told = answered === undefined ? route : tellAnswers(route, answered)
  return decorateReplies(dialect, corsOf(dialect, pipeline), personal, told)
}

/** What the transport refuses is told as well, once it is known who calls. */
function tellAnswers(route: Route, answered: NonNullable<Endpoint['answered']>): Route {
  const tell = (reply: Reply, call: HttpCall): Reply => {
    if (call.admission !== null) answered(call, reply)
    return reply
  }
  return {
    ...route,
    answer: (call) => mapMaybe(route.answer(call), (reply) => tell(reply, call)),
    refuse: (kind, call) => tell(route.refuse(kind, call), call),
  }
}

/** What a call gets while too many are under way; null while there is room. */
type OverloadRefusal = (call: HttpCall) => Reply | null

const neverOverloaded: OverloadRefusal = () => null

/**
 * A request that is not complete is no work yet: it waits for its sender, whom its memory is counted for, and it is
 * judged once more when it is complete. Nor is an answer that waits for a slow reader.
 */
function overloadRefusal(endpoint: Endpoint, pipeline: Pipeline): OverloadRefusal {
  if (endpoint.vital === true) return neverOverloaded
  const overloaded = replyOf(endpoint.dialect, new Fault('unavailable'))
  return (call) => (pipeline.inFlight() - pipeline.waiting > pipeline.maxInFlight ? overloaded(call) : null)
}

/** Sheds load and finds out who calls, where that matters: a call that is let through carries its caller. */
function admissionOf(
  endpoint: Endpoint,
  { authority }: PipelineOptions,
  overload: OverloadRefusal,
  renderFault: FaultRenderer,
): Route['admit'] {
  const { name, access = 'anyone', method } = endpoint
  const mayBrowse = takesSessions(endpoint)
  const sessionOf = (call: HttpCall): SessionCall => ({ method, header: (each) => call.header(each) })
  const mustIdentify = identifiesCaller(endpoint)
  const admitLater = async (waiting: Promise<Principal>, call: HttpCall): Promise<Reply | null> => {
    try {
      call.admission = await waiting
      return null
    } catch (error) {
      return renderFault(error, call)
    }
  }
  return (call) => {
    const refusal = overload(call)
    if (refusal !== null || !mustIdentify) return refusal
    try {
      const key = call.header('authorization')
      // An object only for who has no key: most calls have one.
      const session = mayBrowse && key === '' && call.header('cookie') !== '' ? sessionOf(call) : null
      const caller = authority.authorize(key, call.header('x-api-key'), name, access, session)
      if (caller instanceof Promise) return admitLater(caller, call)
      call.admission = caller
      return null
    } catch (error) {
      return renderFault(error, call)
    }
  }
}

function answerOf(
  endpoint: Endpoint,
  overload: OverloadRefusal,
  renderFault: FaultRenderer,
): Route['answer'] {
  const { read, readInTurns } = inputReader(endpoint) as InputReader<EndpointInput<never, never, never>>
  const { handle, limit } = endpoint
  const withBody = hasBody(endpoint)
  const answerLater = async (waiting: Promise<void>, call: HttpCall): Promise<Reply> => {
    // The body is there in this turn only. What is wrong with it is told after what the limit says.
    const input = (async () => read(call))()
    input.catch(() => {})
    try {
      await waiting
      return await handle(await input, call)
    } catch (error) {
      return renderFault(error, call)
    }
  }
  const answerInTurns = async (call: HttpCall): Promise<Reply> => {
    try {
      const input = await readInTurns(call)
      await largeTurn()
      return await handle(input, call)
    } catch (error) {
      return renderFault(error, call)
    }
  }
  return (call) => {
    const refusal = overload(call)
    if (refusal !== null) return refusal
    try {
      const waiting = limit === undefined ? null : limit(call)
      if (waiting !== null) return answerLater(waiting, call)
      if (withBody && call.body.byteLength >= LARGE_BYTES) return answerInTurns(call)
      const reply = handle(read(call), call)
      return reply instanceof Promise
        ? reply.then(undefined, (error: unknown) => renderFault(error, call))
        : reply
    } catch (error) {
      return renderFault(error, call)
    }
  }
}

function addressUse(endpoint: Endpoint, withBody: boolean): Route['readsAddress'] {
  if (endpoint.limit !== undefined || endpoint.readsAddress === true) return true
  // Whose share a body takes, where no key says so.
  return withBody && !identifiesCaller(endpoint) && 'while-reading'
}

function hasBody({ body, form }: Endpoint): boolean {
  return body !== undefined || form !== undefined
}

function headersReadBy(endpoint: Endpoint): string[] {
  const names = [...(endpoint.headers ?? [])]
  if (hasBody(endpoint) || endpoint.upload !== undefined) names.push('content-type')
  if (identifiesCaller(endpoint)) names.push('authorization', 'x-api-key')
  if (takesSessions(endpoint)) names.push(...SESSION_HEADERS)
  return names
}

/** Most replies kept per operation: `retryAfter` is a number anybody may choose. */
const PLAIN_REPLIES = 64

type FaultRenderer = (error: unknown, call: HttpCall) => Reply

/** The one place where a failure becomes a reply, and where it is logged. */
function faultRenderer({ dialect, name }: Endpoint, pipeline: Pipeline): FaultRenderer {
  // Most faults look the same each time: a flood of 404s or 503s costs no serialisation.
  const plain = new Map<string, Reply>()
  return (error, call) => {
    const fault = error instanceof Fault ? error : new Fault('internal', { cause: error })
    pipeline.faults.record(fault, dialect.status(fault.kind), name, call)
    if (dialect.namesCall || !rendersAlike(fault)) return dialect.render(fault, call.requestId)
    const key = fault.retryAfter === undefined ? fault.kind : `${fault.kind} ${fault.retryAfter}`
    let reply = plain.get(key)
    if (reply === undefined) {
      reply = dialect.render(fault)
      if (plain.size < PLAIN_REPLIES) plain.set(key, reply)
    }
    return reply
  }
}

/** Nothing but its kind and its waiting time shows on the wire. */
function rendersAlike({ issues, allow, note, metadata, generation, scimType }: Fault): boolean {
  const bare = note === undefined && metadata === undefined && scimType === undefined && generation === null
  return bare && issues.length === 0 && allow.length === 0
}
