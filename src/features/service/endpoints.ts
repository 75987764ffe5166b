import { z } from 'zod'
import { INTERFACE_VERSION } from '../../base/version.js'
import { gateway } from '../../http/dialects/gateway.js'
import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { bytesReply, keptBytes, serializedJsonReply } from '../../http/reply.js'

const Health = nameSchema(
  'Health',
  z.object({
    status: z.enum(['ok', 'draining']),
    version: z.string(),
    worker: z.int(),
    uptime_s: z.number(),
  }),
)

const count = z.int().min(0)
const milliseconds = z.number().min(0)

const Quantiles = z.object({
  mean: milliseconds,
  p50: milliseconds,
  p90: milliseconds,
  p99: milliseconds,
  p99_9: milliseconds,
  max: milliseconds,
})

const Operation = z.object({
  count: count.meta({ description: 'Calls that arrived: answered, aborted or in flight' }),
  errors: count.meta({ description: 'Answers with a status of 400 or above' }),
  in_flight: count,
  aborted: count,
  bytes_in: count,
  bytes_out: count,
  ...Quantiles.shape,
  by_status: z.record(z.string(), count),
})

const Pool = z.object({
  threads: count,
  queue: count,
  queued_rounds: count,
  completed: count,
  rejected: count,
  dropped: count,
  wait_ms: Quantiles,
  run_ms: Quantiles,
  per_thread: z.array(z.object({ thread: count, tasks: count, busy_ms: milliseconds })),
})

/** Counters of one worker since it started. Times in milliseconds, from a histogram with 1.6 % resolution. */
const Stats = nameSchema(
  'Stats',
  z.object({
    worker: count,
    pid: count,
    started_at: z.number().meta({ description: 'Unix time in seconds' }),
    uptime_s: z.number(),
    requests: z.object({
      total: count,
      in_flight: count,
      by_status: z.object({ '2xx': count, '3xx': count, '4xx': count, '5xx': count }),
      aborted: count,
    }),
    operations: z.record(z.string(), Operation),
    event_loop: z.object({
      utilization: z.number().min(0).max(1),
      delay_ms: z.object({ p50: milliseconds, p99: milliseconds, max: milliseconds }),
    }),
    pool: Pool,
    memory: z.object({ rss: count, heap_used: count, external: count }),
    connections: count,
  }),
)

const operation = endpointGroup({ tag: 'Service', dialect: practice })

export interface ServicePorts {
  readonly worker: number
  readonly uptimeS: () => number
  readonly draining: () => boolean
  /** Counters of this worker, as the body of `/stats`. */
  readonly stats: () => unknown
  /** Metrics of all workers as Prometheus text; null when they are served elsewhere or not at all. */
  readonly metrics: (() => Promise<Uint8Array>) | null
  readonly metricsType: string
}

/** Health and metrics, for both faces of the server. They answer also when other calls are shed. */
export const serviceEndpoints = (ports: ServicePorts): Endpoint[] => [
  operation('health', 'GET /api/v1/health', {
    summary: 'Whether this worker takes requests',
    vital: true,
    replies: {
      200: { description: 'It does', schema: Health },
      503: {
        description: 'It finishes what it has and takes nothing new',
        schema: Health,
        headers: { 'Retry-After': 'Seconds after which to try again' },
      },
    },
    handle: () => {
      const uptime = Math.round(ports.uptimeS() * 1000) / 1000
      const draining = ports.draining()
      const status = draining ? 'draining' : 'ok'
      const body = `{"status":"${status}","version":"${INTERFACE_VERSION}","worker":${ports.worker},"uptime_s":${uptime}}`
      return draining
        ? bytesReply(503, 'application/json', body, [['Retry-After', '1']])
        : bytesReply(200, 'application/json', body)
    },
  }),
  ...(ports.metrics === null ? [] : [metricsEndpoint(ports.metrics, ports.metricsType)]),
]

/** Statistics, which answer also when other calls are shed. */
export const statsEndpoint = (ports: ServicePorts): Endpoint =>
  operation('stats', 'GET /api/v1/stats', {
    summary: 'Counters of the worker that answers',
    vital: true,
    replies: { 200: { description: 'Exact counters since the worker started', schema: Stats } },
    handle: oncePerTurn(() => {
      const body = Buffer.from(JSON.stringify(ports.stats()))
      return serializedJsonReply(200, body, [['Cache-Control', 'no-store']])
    }),
  })

/**
 * Requests that a caller sends ahead run in one turn of the event loop, thousands of them where each is short. None of
 * them can tell that they share what is made in it: no answer of that turn has reached anybody yet.
 */
function oncePerTurn<T>(make: () => T): () => T {
  let made: T | null = null
  return () => {
    if (made === null) {
      made = make()
      setImmediate(() => {
        made = null
      })
    }
    return made
  }
}

function metricsEndpoint(text: () => Promise<Uint8Array>, mediaType: string): Endpoint {
  return operation('metrics', 'GET /metrics', {
    summary: 'Counters of all workers for Prometheus',
    dialect: gateway,
    vital: true,
    replies: { 200: { description: 'Prometheus text', mediaType: 'text/plain', schema: { type: 'string' } } },
    handle: async () => bytesReply(200, mediaType, keptBytes(await text())),
  })
}
