/** Routes for calls that no endpoint takes: other methods, other paths, and the questions of browsers. */
import { Fault } from '../base/fault.js'
import type { HttpCall, Reply, Route } from '../transport/exchange.js'
import type { Cors } from './cors.js'
import type { ErrorDialect } from './dialects/dialect.js'
import { corsOf, type Pipeline, replyOf, routeBasis, UNMATCHED } from './pipeline.js'
import { decorateReplies } from './reply-decoration.js'

/** Why a call has no operation, the reply to it, and the path to tell in the log. */
type Unmatched = (call: HttpCall) => readonly [fault: Fault, reply: Reply, path: string]

export function unknownPath({ fallback, adviseOn }: Pipeline): Unmatched {
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

export function unknownWithin(area: string, dialect: ErrorDialect): Unmatched {
  const unknown = new Fault('not-found')
  const reply = replyOf(dialect, unknown)
  return (call) => [unknown, reply(call), area]
}

export function unmatchedRoute(
  path: string,
  dialect: ErrorDialect,
  pipeline: Pipeline,
  find: Unmatched,
): Route {
  const basis = routeBasis(UNMATCHED, dialect, pipeline)
  const answer = (call: HttpCall): Reply => {
    const [fault, reply, asked] = find(call)
    pipeline.faults.record(fault, reply.status, UNMATCHED, call, asked)
    return reply
  }
  return decorateReplies(dialect, corsOf(dialect, pipeline), false, { ...basis, method: '*', path, answer })
}

export function preflightRoute(
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
