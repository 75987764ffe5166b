/** One real reply of our server, in the shape a floor needs to answer the same bytes. */
import { request } from 'node:http'
import { headersOf, type IdPlan, IdSource, type RequestSpec } from '../harness/http/requests.js'

export interface SampledReply {
  readonly method: RequestSpec['method']
  readonly route: string
  /** Status code and reason, as they stand in the status line. */
  readonly status: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

/** Written by uWebSockets.js itself, by our server as by the floor. */
const NATIVE_HEADERS = new Set(['date', 'uwebsockets', 'content-length', 'connection', 'transfer-encoding'])
const REPLY_TIMEOUT_MS = 30_000

/**
 * Sends one request and keeps its reply. Placeholders are filled from `ids`, so the caller must begin its own
 * sequence one further. Throws when there is no reply within 30 s or its status is not 2xx.
 */
export function sampleReply(origin: string, spec: RequestSpec, ids: IdPlan): Promise<SampledReply> {
  const path = new IdSource(ids).fill(spec.path)
  return new Promise((resolve, reject) => {
    const options = { method: spec.method, headers: headersOf(spec), agent: false, timeout: REPLY_TIMEOUT_MS }
    const asked = request(origin + path, options, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.once('error', reject)
      reply.once('end', () => {
        const status = reply.statusCode ?? 0
        const body = Buffer.concat(chunks).toString('utf8')
        if (status < 200 || status > 299) {
          reject(new Error(`${spec.method} ${path} answered ${status}: ${body.slice(0, 300)}`))
          return
        }
        const headers = headerPairs(reply.rawHeaders)
        resolve({
          method: spec.method,
          route: spec.route,
          status: `${status} ${reply.statusMessage}`,
          headers,
          body,
        })
      })
    })
    asked.once('timeout', () => asked.destroy(new Error(`${spec.method} ${path}: no reply`)))
    asked.once('error', reject)
    asked.end(spec.body)
  })
}

function headerPairs(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at < raw.length; at += 2) {
    if (!NATIVE_HEADERS.has(raw[at]!.toLowerCase())) pairs.push([raw[at]!, raw[at + 1]!])
  }
  return pairs
}
