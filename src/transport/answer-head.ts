/** Writes the head of an answer, and whole answers that must not end for uWS. Part of the native edge. */

import type { HttpResponse } from 'uWebSockets.js'
import { STATUS_CODES } from 'node:http'
import { isSizedBody, type Reply, type ResponseBody } from './exchange.js'

/** Status code to status line. 524 and 529 are not registered but part of the gateway's contract. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  ...Object.fromEntries(Object.entries(STATUS_CODES).map(([code, text]) => [code, `${code} ${text}`])),
  524: '524 A Timeout Occurred',
  529: '529 Site is overloaded',
})

/** Status line and the reply's own headers. */
export function writeHead(res: HttpResponse, { status, headers }: Reply): void {
  if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? `${status} Unknown`)
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i]!
    res.writeHeader(header[0], header[1])
  }
}

/** Rule 9: the length that is announced where no body follows; null where none may be. */
export function lengthWithoutBody(body: ResponseBody, status: number): string | null {
  if (typeof body === 'string' || body instanceof Uint8Array) return String(byteLength(body))
  // Without one the caller would take everything up to the close for the body.
  if (body === null) return status === 204 || status === 304 ? null : '0'
  return isSizedBody(body) ? String(body.size) : null
}

/**
 * Puts a whole answer on the wire while the body of the call is still coming, and returns the bytes of its body. uWS
 * closes in the same breath in which it ends an answer, so this one does not end for uWS: the blank line and the body
 * travel in the value of the last field. The line end that uWS adds to a field counts as the last two bytes of the
 * body.
 */
export function writeUnendedAnswer(res: HttpResponse, reply: Reply): number {
  const { body } = reply
  const whole = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : Buffer.alloc(0)
  writeHead(res, reply)
  res.writeHeader('Connection', 'close')
  const total = whole.byteLength + 2
  res.writeHeader('Content-Length', Buffer.concat([Buffer.from(`${total}\r\n\r\n`), whole]))
  return total
}

export function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}
