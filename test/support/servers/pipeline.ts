import { createLog } from '../../../src/base/log.js'
import { ANONYMOUS } from '../../../src/base/principal.js'
import { BodyBudget } from '../../../src/http/body-budget.js'
import { gateway } from '../../../src/http/dialects/gateway.js'
import { practice } from '../../../src/http/dialects/practice.js'
import { buildRoutes } from '../../../src/http/dispatch.js'
import { defineEndpoint, type Endpoint, type EndpointSpec } from '../../../src/http/endpoint.js'
import type { TextFields } from '../../../src/http/params.js'
import type { OperationMeter, PipelineOptions } from '../../../src/http/pipeline.js'
import { jsonReply } from '../../../src/http/reply.js'
import type { Route } from '../../../src/transport/exchange.js'
import { type Inject, injector } from './inject.js'

const MIB = 1024 * 1024

/** What was counted for one operation. */
interface Counted {
  arrived: number
  /** Status of each settled call. */
  readonly statuses: number[]
}

export interface TestPipeline {
  readonly inject: Inject
  readonly routes: readonly Route[]
  /** Log lines so far, parsed. */
  readonly lines: Record<string, unknown>[]
  /** By name of the operation. */
  readonly counted: Readonly<Record<string, Counted>>
}

/** Endpoints behind the real pipeline and the native edge, with everything observable. */
export function pipelineOf(endpoints: readonly Endpoint[], overrides: Partial<PipelineOptions> = {}) {
  const lines: Record<string, unknown>[] = []
  const counted: Record<string, Counted> = {}
  const inFlight = (): number =>
    Object.values(counted).reduce((sum, { arrived, statuses }) => sum + arrived - statuses.length, 0)
  const routes = buildRoutes(endpoints, {
    log: createLog('info', 'test', { write: (line: string) => void lines.push(JSON.parse(line)) }),
    logRefusals: true,
    // None of the endpoints of these tests asks who calls.
    authority: { authorize: () => ANONYMOUS },
    bodyLimit: 1024,
    deadlineMs: 5_000,
    maxInFlight: 100,
    inFlight,
    bodies: { practice: new BodyBudget(MIB, MIB), gateway: new BodyBudget(MIB, MIB) },
    meter: (operation) => meterOf((counted[operation] ??= { arrived: 0, statuses: [] })),
    cors: null,
    hasPeers: false,
    fallback: gateway,
    adviseOn: () => null,
    ...overrides,
  })
  return { inject: injector(routes), routes, lines, counted }
}

/** An endpoint, named by its path: a GET of the practice API that answers `{}`, where it does not say otherwise. */
export function probe<B = undefined, P extends TextFields = TextFields, Q extends TextFields = TextFields>(
  path: string,
  more: Partial<EndpointSpec<P, Q, B>> = {},
): Endpoint {
  return defineEndpoint<B, P, Q>({
    name: path.slice(1),
    method: 'GET',
    path,
    summary: 'A probe',
    tag: 'probe',
    dialect: practice,
    replies: { 200: { description: 'Fine' } },
    handle: () => jsonReply(200, {}),
    ...more,
  })
}

function meterOf(counted: Counted): OperationMeter {
  return {
    onArrival: () => {
      counted.arrived++
    },
    onSettled: (_serviceMs, status) => void counted.statuses.push(status),
  }
}
