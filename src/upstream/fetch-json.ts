/** Small JSON documents of other servers, with GET: discovery documents and key sets. */
import { type JsonObject, strictJsonObject } from '../base/strict-json.js'
import { declaredLength } from './body-text.js'
import type { PhaseTimeouts, PoolLimits, Upstream, UpstreamFailure } from './port.js'

/** Why there is no document: a sentence for log and tester, without a word of the answer. */
export interface NoDocument {
  readonly ok: false
  readonly reason: string
}
export type FetchedJson = { readonly ok: true; readonly value: JsonObject } | NoDocument

/** Fetches an absolute URL. Never rejects; settles at most a tenth of a second after `timeoutMs`. */
export type FetchJson = (url: string, timeoutMs: number) => Promise<FetchedJson>

/** Most bytes of a document (contract/decisions 15). */
const LARGEST_DOCUMENT = 1024 * 1024

/** Fetches are rare, so connections are hardly worth keeping. */
const LIMITS: PoolLimits = { connections: 4, keepAliveMs: 1_000 }
const HEADERS = ['Accept', 'application/json', 'Accept-Encoding', 'identity', 'User-Agent', 'sluice']

/** Takes 200 only: redirects are not followed. `upstream` should be a client of its own, with an address guard. */
export function jsonFetcher(upstream: Upstream): FetchJson {
  return (url, timeoutMs) => {
    if (timeoutMs <= 0) return Promise.resolve(none('the time is up'))
    const { origin, pathname, search } = new URL(url)
    const request = {
      method: 'GET',
      origin,
      path: pathname + search,
      headers: HEADERS,
      body: null,
      timeouts: withinAll(timeoutMs),
      limits: LIMITS,
      deadlineAt: Number.POSITIVE_INFINITY,
    } as const
    return new Promise((resolve) => {
      const document = new Document(resolve, () => call.cancel())
      const call = upstream.call(request, document)
    })
  }
}

function withinAll(ms: number): PhaseTimeouts {
  return { connectMs: ms, headersMs: ms, firstTokenMs: ms, idleMs: ms, totalMs: ms }
}

function none(reason: string): NoDocument {
  return { ok: false, reason }
}

/** Gathers one answer. */
class Document {
  private readonly pieces: Buffer[] = []
  private size = 0

  constructor(
    private readonly settle: (outcome: FetchedJson) => void,
    private readonly cancel: () => void,
  ) {}

  head(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const encoding = headers['content-encoding'] ?? 'identity'
    if (status !== 200) this.refuse(`the answer has status ${status}`)
    else if (encoding !== 'identity') this.refuse('the answer is compressed')
    else if (declaredLength(headers) > LARGEST_DOCUMENT) this.refuse('the answer is larger than 1 MiB')
  }

  data(chunk: Uint8Array): void {
    this.size += chunk.byteLength
    if (this.size > LARGEST_DOCUMENT) this.refuse('the answer is larger than 1 MiB')
    else this.pieces.push(Buffer.from(chunk))
  }

  ended(): void {
    const value = strictJsonObject(Buffer.concat(this.pieces, this.size))
    if (value === null) this.settle(none('the answer is no JSON object with every member named once'))
    else this.settle({ ok: true, value })
  }

  failed({ reason, phase, cause }: UpstreamFailure): void {
    const refused = (cause as { readonly code?: unknown } | undefined)?.code === 'SLUICE_ADDRESS_REFUSED'
    if (refused) this.settle(none('the address of the host may not be dialled'))
    else this.settle(none(reason === 'timeout' ? 'no answer in time' : `${reason} (${phase})`))
  }

  private refuse(reason: string): void {
    this.cancel()
    this.settle(none(reason))
  }
}
