/** Requests as the driver sends them: a head that lacks its last line, and a body. */
import { lookup } from 'node:dns/promises'
import { UsageError } from '../option-values.js'
import type { OutgoingRequest } from './http-load.js'
import type { Destination } from './raw-connection.js'
import { headersOf, type RequestSpec } from './requests.js'

/** A request as text, once and for all; `kind` is its index among the kinds of a plan. */
export function renderRequest(spec: RequestSpec, kind: number, host = '127.0.0.1'): OutgoingRequest {
  const body = spec.body === undefined ? null : Buffer.from(spec.body)
  const needsLength = body !== null || spec.method !== 'GET'
  const headers = {
    Host: host,
    ...headersOf(spec),
    ...(needsLength && { 'Content-Length': String(body?.length ?? 0) }),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return { head: `${spec.method} ${spec.path} HTTP/1.1\r\n${lines.join('')}`, body, kind }
}

/** A request whose bytes are known, as the driver sends it; `kind` 0. */
export function splitRequestBytes(request: Buffer): OutgoingRequest {
  const headEnd = request.indexOf('\r\n\r\n') + 2
  const body = request.subarray(headEnd + 2)
  return { head: request.toString('latin1', 0, headEnd), body: body.length === 0 ? null : body, kind: 0 }
}

/** The parts of a URL that a plan needs. Throws `UsageError` for what this driver cannot load. */
export function parseTargetUrl(text: string | undefined): URL {
  if (text === undefined) throw new UsageError('--url is needed: what shall be loaded?')
  if (!URL.canParse(text)) throw new UsageError(`--url is no URL: '${text}'`)
  const url = new URL(text)
  if (url.protocol !== 'http:') {
    throw new UsageError(`--url: only http is spoken here, not '${url.protocol.slice(0, -1)}'`)
  }
  return url
}

/** Looked up once, before the load. Throws when there is no such host. */
export async function resolveDestination(url: URL): Promise<Destination> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const { address } = await lookup(host)
  return { address, port: Number(url.port || 80) }
}

/** `Name: value` texts as headers. Throws `UsageError` for a line that is none. */
export function parseHeaderLines(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const match = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\r\n]*)$/.exec(line)
      if (match === null) throw new UsageError(`--header needs 'Name: value', not '${line}'`)
      return [match[1]!, match[2]!]
    }),
  )
}
