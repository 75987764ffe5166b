/**
 * Requests: as data that every generator understands (templates in which an item id may be filled in at the moment of
 * sending), and as the text and bytes that the driver of our own sends.
 */
import { lookup } from 'node:dns/promises'
import { UsageError } from '../option-values.js'
import type { OutgoingRequest } from './http-load.js'
import type { Destination } from './raw-connection.js'

/** One request of a cycle. `path` may hold `{next}` or `{spread}`, see `IdPlan`. */
export interface RequestSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The uWebSockets.js pattern this request matches; requests of one method and route share a floor reply. */
  readonly route: string
  readonly path: string
  /** JSON text, sent with `Content-Type: application/json`. */
  readonly body?: string
  /** Headers besides those. */
  readonly headers?: Readonly<Record<string, string>>
  /** What a complete answer holds, where a good status is not proof enough. */
  readonly answer?: BodyCheck
}

/**
 * `text`: a body of a least size with certain parts in it. `stream`: so many tokens of the mock upstream, in order and
 * terminated, as chunks of chat unless another format is named.
 */
export type BodyCheck =
  | { readonly kind: 'text'; readonly includes: readonly string[]; readonly leastBytes: number }
  | { readonly kind: 'stream'; readonly tokens: number; readonly format?: 'messages' }

/**
 * Where the ids of `{next}` and `{spread}` come from. `next` counts up by one and is never used twice, so every
 * DELETE meets an item that exists; `spread` walks over 1..`spread` in large steps, so updates do not stay on
 * one page of the store. Neither needs a look at the replies, which keeps the sequence the same in every run.
 */
export interface IdPlan {
  readonly next: number
  readonly spread: number
}

/** Step of the `{spread}` walk: a prime, so the walk meets every id before it repeats. */
export const SPREAD_STEP = 7919

/** Hands out the ids of one load run. */
export class IdSource {
  #next: number
  #at = 0
  readonly #spread: number

  constructor(plan: IdPlan) {
    this.#next = plan.next
    this.#spread = plan.spread
  }

  /** The path with its placeholder replaced; a path without one is returned as it is. */
  fill(path: string): string {
    if (path.includes('{next}')) return path.replace('{next}', String(this.#next++))
    if (!path.includes('{spread}')) return path
    this.#at = (this.#at + SPREAD_STEP) % this.#spread
    return path.replace('{spread}', String(this.#at + 1))
  }
}

/** Whether a request has to be built at the moment of sending. */
export const hasPlaceholder = (request: RequestSpec): boolean => request.path.includes('{')

/** The headers a request carries besides those every generator adds itself (Host, Content-Length). */
export function headersOf(request: RequestSpec): Record<string, string> {
  const type = request.body === undefined ? {} : { 'Content-Type': 'application/json' }
  return { ...type, ...request.headers }
}

/** The request as bytes for a raw connection, without placeholders filled. */
export function requestBytes(request: RequestSpec): Buffer {
  const { head, body } = renderRequest(request, 0)
  return Buffer.concat([Buffer.from(`${head}\r\n`), ...(body === null ? [] : [body])])
}

/** Whether a body that came with a good status is whole. */
export function isCompleteBody(check: BodyCheck, body: string): boolean {
  if (check.kind === 'stream') {
    const last = check.format === 'messages' ? /data: \{"type":"message_stop"[^\n]*\}$/ : /data: \[DONE\]$/
    return last.test(body.trimEnd())
  }
  return body.length >= check.leastBytes && check.includes.every((part) => body.includes(part))
}

/** The first request of each method and route in a cycle: one reply of each is what a floor has to copy. */
export function distinctRoutes(requests: readonly RequestSpec[]): RequestSpec[] {
  const seen = new Map<string, RequestSpec>()
  for (const request of requests) {
    const key = `${request.method} ${request.route}`
    if (!seen.has(key)) seen.set(key, request)
  }
  return [...seen.values()]
}

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
