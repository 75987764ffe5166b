import { gateway } from '../../http/dialects/gateway.js'
import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { bytesReply, jsonReply } from '../../http/reply.js'
import { Health, Stats } from './schema.js'

const operation = endpointGroup({ tag: 'service', dialect: practice })

/** Version string of the practice interface. */
export const INTERFACE_VERSION = '2.0'

export interface ServicePorts {
  readonly worker: number
  readonly uptimeS: () => number
  readonly draining: () => boolean
  /** Counters of this worker, as the body of `/stats`. */
  readonly stats: () => unknown
  /** Metrics of all workers as Prometheus text; null when they are served elsewhere or not at all. */
  readonly metrics: (() => Promise<string>) | null
  readonly metricsType: string
}

/** Health, statistics and metrics. They answer whatever else is refused. */
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
  operation('stats', 'GET /api/v1/stats', {
    summary: 'Counters of the worker that answers',
    vital: true,
    replies: { 200: { description: 'Exact counters since the worker started', schema: Stats } },
    handle: () => jsonReply(200, ports.stats(), [['Cache-Control', 'no-store']]),
  }),
  ...(ports.metrics === null ? [] : [metricsEndpoint(ports.metrics, ports.metricsType)]),
]

function metricsEndpoint(text: () => Promise<string>, mediaType: string): Endpoint {
  return operation('metrics', 'GET /metrics', {
    summary: 'Counters of all workers for Prometheus',
    dialect: gateway,
    vital: true,
    replies: { 200: { description: 'Prometheus text', mediaType: 'text/plain', schema: { type: 'string' } } },
    handle: async () => bytesReply(200, mediaType, await text()),
  })
}
