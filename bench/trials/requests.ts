/** Ready-made request bytes: building them once keeps the generator cheap. */
import { type RequestSpec, requestBytes } from '../harness/http/requests.js'

/** The bytes of a GET of any path. */
export const getRequest = (path: string): Buffer => requestBytes({ method: 'GET', route: path, path })

/** The bytes of one operation of the API. A body that is a string is sent as it is, any other is serialised. */
export function apiRequest(method: RequestSpec['method'], operation: string, body?: unknown, key?: string) {
  const path = `/api/v1${operation}`
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return requestBytes({
    method,
    route: path,
    path,
    ...(text !== undefined && { body: text }),
    ...(key !== undefined && { headers: { Authorization: `Bearer ${key}` } }),
  })
}

export const HEALTH = apiRequest('GET', '/health')
export const STATS = apiRequest('GET', '/stats')
export const REPORT = apiRequest('GET', '/report')

export const readItemRequest = (id: number): Buffer => apiRequest('GET', `/items/${id}`)

/** `POST /hash` with the given number of PBKDF2 rounds. */
export function hashRequest(data: string, rounds: number): Buffer {
  return apiRequest('POST', '/hash', { data, rounds })
}

const BOUNDARY = 'trial'

/** A form with one file, as bytes. */
export function formRequest(
  operation: string,
  key: string,
  fields: Readonly<Record<string, string>>,
  filename: string,
  content: Buffer,
): Buffer {
  const part = (head: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`
  const body = Buffer.concat([
    ...Object.entries(fields).map(([name, value]) => Buffer.from(`${part(`name="${name}"`)}${value}\r\n`)),
    Buffer.from(part(`name="file"; filename="${filename}"`)),
    content,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
  const head = [
    `POST /api/v1${operation} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Content-Length: ${body.byteLength}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}
