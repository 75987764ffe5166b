import { createServer } from 'node:http'
import { parseHostPort } from '../../base/host-port.js'
import type { MetricsSnapshot } from '../counters/fleet-figures.js'
import { formatMetrics } from './fleet-metrics.js'
import { PROMETHEUS_TYPE } from './text-format.js'

export interface MetricsServer {
  close(): void
}

/**
 * Serves /metrics on an address of its own, from the supervisor: it answers even while every worker is busy.
 * Null when `place` is `on` (the workers serve it) or `off`. Rejects when the address cannot be bound.
 */
export function serveMetrics(
  place: string,
  snapshot: () => Promise<MetricsSnapshot>,
): Promise<MetricsServer | null> {
  const address = parseHostPort(place)
  if (address === null) return Promise.resolve(null)
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      const path = request.url?.split('?', 1)[0]
      if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
        response.writeHead(404).end()
        return
      }
      snapshot()
        .then((all) => response.writeHead(200, { 'Content-Type': PROMETHEUS_TYPE }).end(formatMetrics(all)))
        .catch(() => response.writeHead(500).end())
    })
    server.on('error', (error) => reject(new Error(`cannot serve metrics on ${place}: ${error.message}`)))
    server.listen({ ...address, exclusive: true }, () => {
      resolve({ close: () => void server.close() })
    })
  })
}
