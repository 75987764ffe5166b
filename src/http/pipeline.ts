/** What the routes of one server have in common. */
// The global of this name is a getter, which costs each call more than the clock does.
import { performance } from 'node:perf_hooks'
import { Fault, type FaultKind } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { CallerAuthority } from '../base/principal.js'
import type { HttpCall, Reply, Route, StreamMeter } from '../transport/exchange.js'
import type { BodyBudget } from './body-budget.js'
import type { Cors } from './cors.js'
import type { ErrorDialect } from './dialects/dialect.js'
import type { FaultLog } from './fault-log.js'

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
export interface Pipeline extends PipelineOptions {
  readonly faults: FaultLog
  /** Calls that wait for their caller. */
  waiting: number
}

/** Name under which calls without an operation (404, 405) are counted. */
export const UNMATCHED = 'unmatched'

/** What browsers of other origins are told on this face; null where they are told nothing. */
export function corsOf({ sameOrigin }: ErrorDialect, { cors }: PipelineOptions): Cors | null {
  return sameOrigin === true ? null : cors
}

type RouteBasis = Omit<Route, 'method' | 'path' | 'answer'>

/** What all routes have in common; those without an endpoint let everybody in. */
export function routeBasis(operation: string, dialect: ErrorDialect, pipeline: Pipeline): RouteBasis {
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
export function replyOf(dialect: ErrorDialect, fault: Fault): (call: HttpCall) => Reply {
  if (dialect.namesCall) return (call) => dialect.render(fault, call.requestId)
  const reply = dialect.render(fault)
  return () => reply
}
