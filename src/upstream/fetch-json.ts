/** Small JSON documents of other servers, with GET: discovery documents and key sets. */
import type { Clock } from '../base/clock.js'
import { type JsonObject, parseStrictJsonObject } from '../base/strict-json.js'
import { contentLengthOf } from './body-text.js'
import type { ConnectionPoolLimits, PhaseTimeouts, UpstreamClient, UpstreamFailure } from './port.js'

/** Why there is no document: sentences without a word of the answer. */
interface JsonFetchFailure {
  readonly ok: false
  /** For whoever named the URL: a host that may not be dialled is not told from one that is not there. */
  readonly reason: string
  /** For the log alone, where it knows more. */
  readonly detail?: string
}
export type JsonFetchResult = { readonly ok: true; readonly value: JsonObject } | JsonFetchFailure

/** Fetches an absolute URL. Never rejects; settles at most a tenth of a second after `timeoutMs`. */
export type FetchJson = (url: string, timeoutMs: number) => Promise<JsonFetchResult>

/** Most bytes of a document (contract/decisions 15). */
const LARGEST_DOCUMENT = 1024 * 1024
/** Most values of a document: a megabyte of brackets would hold the event loop for a fifth of a second. */
const MOST_VALUES = 10_000

const HEADERS = ['Accept', 'application/json', 'Accept-Encoding', 'identity', 'User-Agent', 'sluice']

/**
 * A host that could not be reached is told of after so many milliseconds, whatever was wrong with it: names resolve
 * quicker in the network of this server than elsewhere.
 */
export const UNREACHABLE_MS = 300

/**
 * Takes 200 only: redirects are not followed. `upstream` should be a client of its own, with an address guard.
 * @param connections most to one origin. Who fetches bounds the fetches under way by it, so that none waits for a
 * connection: the wait would count toward its time, and one document would keep another of its origin waiting.
 */
export function jsonFetcher(upstream: UpstreamClient, connections: number, clock: Clock): FetchJson {
  // Fetches are rare, so connections are hardly worth keeping.
  const limits: ConnectionPoolLimits = { connections, keepAliveMs: 1_000 }
  return (url, timeoutMs) => {
    if (timeoutMs <= 0) return Promise.resolve(fetchFailure('the time is up'))
    const { origin, pathname, search } = new URL(url)
    const request = {
      method: 'GET',
      origin,
      path: pathname + search,
      headers: HEADERS,
      body: null,
      timeouts: uniformTimeouts(timeoutMs),
      limits,
      caller: '',
      deadlineAt: Number.POSITIVE_INFINITY,
      repeatable: true,
    } as const
    const begun = clock.monotonicMs()
    return new Promise((resolve) => {
      const pieces: Buffer[] = []
      let size = 0
      const refuse = (reason: string): void => {
        call.cancel()
        resolve(fetchFailure(reason))
      }
      const call = upstream.call(request, {
        onHead: (status, headers) => {
          const encoding = headers['content-encoding'] ?? 'identity'
          if (status !== 200) refuse(`the answer has status ${status}`)
          else if (encoding !== 'identity') refuse('the answer is compressed')
          else if (contentLengthOf(headers) > LARGEST_DOCUMENT) refuse(TOO_LARGE)
        },
        onData: (chunk) => {
          size += chunk.byteLength
          if (size > LARGEST_DOCUMENT) refuse(TOO_LARGE)
          else pieces.push(Buffer.from(chunk))
        },
        onEnd: () => resolve(parseDocument(Buffer.concat(pieces, size))),
        onFailure: (failure) => {
          if (failure.requestSent || failure.reason === 'timeout') {
            resolve(fetchFailure(failureSentence(failure)))
            return
          }
          const outcome = { ...fetchFailure(UNREACHABLE), detail: failureSentence(failure) }
          const waited = clock.monotonicMs() - begun
          clock.runAfter(Math.max(0, Math.min(UNREACHABLE_MS, timeoutMs) - waited), () => resolve(outcome))
        },
      })
    })
  }
}

export const UNREACHABLE = 'the host could not be reached'
const TOO_LARGE = 'the answer is larger than 1 MiB'

function uniformTimeouts(ms: number): PhaseTimeouts {
  return { connectMs: ms, headersMs: ms, firstTokenMs: ms, idleMs: ms, totalMs: ms }
}

function fetchFailure(reason: string): JsonFetchFailure {
  return { ok: false, reason }
}

function parseDocument(bytes: Buffer): JsonFetchResult {
  if (hasManyValues(bytes)) return fetchFailure(`the answer has more than ${MOST_VALUES} values`)
  const value = parseStrictJsonObject(bytes)
  if (value === null) return fetchFailure('the answer is no JSON object with every member named once')
  return { ok: true, value }
}

const COMMA = 0x2c
const BEGIN_ARRAY = 0x5b
const BEGIN_OBJECT = 0x7b

/** Each value but the outermost follows a comma or stands first in an array or object; those in texts count as well. */
function hasManyValues(bytes: Buffer): boolean {
  let count = 0
  for (const byte of bytes) if (byte === COMMA || byte === BEGIN_ARRAY || byte === BEGIN_OBJECT) count++
  return count > MOST_VALUES
}

export function failureSentence({ reason, phase, cause }: UpstreamFailure): string {
  const { code } = (cause ?? {}) as { readonly code?: unknown }
  if (code === 'SLUICE_ADDRESS_REFUSED') return 'the address of the host may not be dialled'
  return reason === 'timeout' ? 'no answer in time' : `${reason} (${phase})`
}
