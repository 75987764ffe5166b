/**
 * The fixed pipeline: turns endpoints into routes. It owns the duties that no handler may forget (shed load,
 * validate, count, log) and is the only place where a fault becomes a reply.
 *
 *     route ─ shed load ─ authenticate ─ read body ─ rate limit ─ decode ─ validate ─ handle ─ reply ─ stats, log
 *
 * A read runs through it without a promise, a closure per call or a schema built per call.
 */
import { Fault, type FaultKind } from '../base/fault.js'
import { LARGE_BYTES, largeTurn } from '../base/large-turns.js'
import type { Log } from '../base/log.js'
import { type CallerAuthority, type Principal, SESSION_HEADERS, type SessionCall } from '../base/principal.js'
import type { HttpCall, Reply, Route, StreamMeter } from '../transport/exchange.js'
import type { BodyBudget } from './body-budget.js'
import type { Cors } from './cors.js'
import type { ErrorDialect } from './dialects/dialect.js'
import { practice } from './dialects/practice.js'
import { type Endpoint, type EndpointInput, isLockable, takesSessions } from './endpoint.js'
import { FaultLog } from './fault-log.js'
import { type InputReader, inputReader } from './input.js'
import { decorateReplies } from './reply-decoration.js'
import { changesManagedRecords, withUnconfirmed } from './unconfirmed.js'

/** Counts what happens to one operation. */
export interface OperationMeter {
  /** @param at `performance.now()` when the call was parsed */
  onArrival(at: number): void
  onSettled(
    serviceMs: number,
    status: number,
    bytesIn: number,
    bytesOut: number,
    aborted: boolean,
    arrivedAt: number,
  ): void
  readonly stream?: StreamMeter
}

export interface PipelineOptions {
  readonly log: Log
  /** Whether a call that was refused has a line. */
  readonly logRefusals: boolean
  readonly authority: CallerAuthority
  /** Most bytes of a body. */
  readonly bodyLimit: number
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
  /** Calls that wait for us beyond which all but vital operations are refused. */
  readonly maxInFlight: number
  /** Calls without an answer, those that wait for their caller included. */
  readonly inFlight: () => number
  /** The memory for bodies, of each face of the server. */
  readonly bodies: { readonly practice: BodyBudget; readonly gateway: BodyBudget }
  readonly meter: (operation: string) => OperationMeter
  readonly cors: Cors | null
  /** Whether it is one machine of a fleet, so that others may lack what is changed here. */
  readonly hasPeers: boolean
  /** Answers where no endpoint does. */
  readonly fallback: ErrorDialect
  /** What to use in place of a path that no endpoint has, as a sentence; null where nobody knows. */
  readonly adviseOn: (path: string) => string | null
}

/** What the routes of one server share. */
interface Pipeline extends PipelineOptions {
  readonly faults: FaultLog
  /** Calls that wait for their caller. */
  waiting: number
}

/** Name under which calls without an operation (404, 405) are counted. */
export const UNMATCHED = 'unmatched'

/** One route per endpoint, one per path for the methods it lacks, and one for all other paths. */
export function buildRoutes(endpoints: readonly Endpoint[], options: PipelineOptions): Route[] {
  const pipeline: Pipeline = {
    ...options,
    faults: new FaultLog(options.log, options.logRefusals),
    waiting: 0,
  }
  const { cors } = pipeline
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
    if (cors !== null) routes.push(preflightRoute(path, allow, dialect, pipeline, cors))
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
  return decorateReplies(endpoint.dialect, pipeline.cors, personal, {
    ...routeBasis(endpoint.name, endpoint.dialect, pipeline),
    method: endpoint.method,
    path: endpoint.path,
    deadlineMs: endpoint.deadlineMs ?? pipeline.deadlineMs,
    bodyLimit: endpoint.bodyLimit ?? pipeline.bodyLimit,
    readsBody: endpoint.upload === undefined ? hasBody(endpoint) : 'stream',
    readsQuery: Object.keys(endpoint.query).length > 0,
    readsAddress: addressUse(endpoint, withBody),
    headers: headersReadBy(endpoint),
    admit: admissionOf(endpoint, pipeline, overload, renderFault),
    answer: pipeline.hasPeers && changesManagedRecords(endpoint) ? withUnconfirmed(answer) : answer,
    ...((withBody || endpoint.upload !== undefined) && {
      bodies: pipeline.bodies[endpoint.dialect === practice ? 'practice' : 'gateway'],
    }),
  })
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
      const session = mayBrowse ? sessionOf(call) : null
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

/** The configuration may lock what is open by default; of the practice API it may not. */
function identifiesCaller(endpoint: Endpoint): boolean {
  return (endpoint.access ?? 'anyone') !== 'anyone' || isLockable(endpoint)
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

type RouteBasis = Omit<Route, 'method' | 'path' | 'answer'>

/** What all routes have in common; those without an endpoint let everybody in. */
function routeBasis(operation: string, dialect: ErrorDialect, pipeline: Pipeline): RouteBasis {
  const meter = pipeline.meter(operation)
  return {
    bodyLimit: pipeline.bodyLimit,
    deadlineMs: pipeline.deadlineMs,
    readsBody: false,
    readsQuery: false,
    readsAddress: false,
    headers: [],
    operation,
    admit: () => null,
    onArrival: (at) => meter.onArrival(at),
    onWaiting: (change) => {
      pipeline.waiting += change
    },
    onSettled: (arrivedAt, status, bytesIn, bytesOut, aborted) =>
      meter.onSettled(performance.now() - arrivedAt, status, bytesIn, bytesOut, aborted, arrivedAt),
    ...(meter.stream !== undefined && { stream: meter.stream }),
    refuse: (kind: FaultKind, call: HttpCall) => {
      const fault = new Fault(kind)
      pipeline.faults.record(fault, dialect.status(kind), operation, call)
      return dialect.render(fault, call.requestId)
    },
  }
}

/** The reply to calls that end in one and the same fault: made once where it says nothing of the call. */
function replyOf(dialect: ErrorDialect, fault: Fault): (call: HttpCall) => Reply {
  if (dialect.namesCall) return (call) => dialect.render(fault, call.requestId)
  const reply = dialect.render(fault)
  return () => reply
}

/** Why a call has no operation, the reply to it, and the path to tell in the log. */
type Unmatched = (call: HttpCall) => readonly [fault: Fault, reply: Reply, path: string]

function unknownPath({ fallback, adviseOn }: Pipeline): Unmatched {
  const unknown = new Fault('not-found')
  const reply = replyOf(fallback, unknown)
  return (call) => {
    const path = call.param(0)
    const note = adviseOn(path)
    if (note === null) return [unknown, reply(call), path]
    const advised = new Fault('not-found', { note })
    return [advised, fallback.render(advised, call.requestId), path]
  }
}

function unmatchedRoute(path: string, dialect: ErrorDialect, pipeline: Pipeline, find: Unmatched): Route {
  const basis = routeBasis(UNMATCHED, dialect, pipeline)
  const answer = (call: HttpCall): Reply => {
    const [fault, reply, asked] = find(call)
    pipeline.faults.record(fault, reply.status, UNMATCHED, call, asked)
    return reply
  }
  return decorateReplies(dialect, pipeline.cors, false, { ...basis, method: '*', path, answer })
}

function preflightRoute(
  path: string,
  allow: readonly string[],
  dialect: ErrorDialect,
  pipeline: Pipeline,
  cors: Cors,
): Route {
  return {
    ...routeBasis(UNMATCHED, dialect, pipeline),
    method: 'OPTIONS',
    path,
    headers: ['origin', 'access-control-request-headers'],
    answer: (call) => cors.preflight(call, allow),
  }
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
function rendersAlike({ issues, allow, note, metadata, generation }: Fault): boolean {
  const bare = note === undefined && metadata === undefined && generation === null
  return bare && issues.length === 0 && allow.length === 0
}
