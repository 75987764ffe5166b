/** Ready-made request bytes: building them once keeps the generator cheap. */

const HOST = 'Host: 127.0.0.1'

/** A request without a body; `path` is sent as it is. */
export function bodylessRequest(method: 'GET' | 'DELETE' | 'PATCH', path: string): Buffer {
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${HOST}\r\n\r\n`)
}

/** A request with a JSON body; a string is sent as it is, anything else is serialised. */
export function jsonRequest(method: 'POST' | 'PUT', path: string, body: unknown): Buffer {
  const text = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const head = `${method} ${path} HTTP/1.1\r\n${HOST}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), text])
}

export const HEALTH = bodylessRequest('GET', '/api/v1/health')
export const STATS = bodylessRequest('GET', '/api/v1/stats')
export const REPORT = bodylessRequest('GET', '/api/v1/report')

/** `GET /items/{id}`. */
export function readItemRequest(id: number): Buffer {
  return bodylessRequest('GET', `/api/v1/items/${id}`)
}

/** `POST /hash` with the given number of PBKDF2 rounds. */
export function hashRequest(data: string, rounds: number): Buffer {
  return jsonRequest('POST', '/api/v1/hash', { data, rounds })
}
