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
