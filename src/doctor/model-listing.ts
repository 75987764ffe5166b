/** Which models a provider has, as it tells itself: a question that costs nothing. */

import { systemClock, unixMs } from '../base/clock.js'

/** What a clock elsewhere said, between two moments of ours; all in Unix milliseconds. */
export interface ToldTime {
  readonly there: number
  readonly before: number
  readonly after: number
}

export interface ModelListing {
  /** As the provider names them, in the order of the alphabet. */
  readonly ids: readonly string[]
  /** Why there are none to choose from, in words that may hold some of the provider's; null when there are. */
  readonly problem: string | null
  /** Of its answer; null where there was none. */
  readonly status: number | null
  /** Whether there are no further ones. */
  readonly isWhole: boolean
  /** When it answered, as it says; null where it does not. */
  readonly told: ToldTime | null
}

interface ListedServer {
  readonly kind: 'openai' | 'anthropic'
  readonly baseUrl: string
  /** Further fixed fields of requests. */
  readonly headers?: Readonly<Record<string, string>>
}

const TIMEOUT_MS = 10_000
const MOST_BYTES = 8 * 1024 * 1024
const MOST_MODELS = 10_000
const MOST_ID_CHARS = 200
/** By which lists say that there is another page. */
const MARKS_OF_MORE = ['has_more', 'next', 'next_page', 'next_page_token', 'nextPageToken']

/**
 * Asks the provider. Never rejects: a provider that does not answer has models all the same.
 * @param key `''` for one that is not known, null where none is needed
 */
export async function listProviderModels(server: ListedServer, key: string | null): Promise<ModelListing> {
  let status: number | null = null
  let told: ToldTime | null = null
  const failed = (problem: string): ModelListing => ({ ids: [], problem, status, isWhole: false, told })
  if (key === '') return failed('its variable is not set, so the provider was not asked')
  const before = unixMs(systemClock)
  try {
    // A redirect could lead the key elsewhere.
    const options = { headers: requestFields(server, key), redirect: 'error' as const }
    const response = await fetch(listUrl(server), { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) })
    status = response.status
    told = readToldTime(response.headers, before, unixMs(systemClock))
    const text = await readBounded(response)
    if (!response.ok) return failed(`it answered ${status}`)
    const { ids, isWhole } = readIds(text)
    return ids.length > 0 ? { ids, problem: null, status, isWhole, told } : failed('its answer names none')
  } catch (error) {
    const { cause, message } = error as Error
    const reason = cause instanceof Error ? cause.message || message : message
    // A key that no header can hold is quoted by whoever refuses it.
    return failed(key === null ? reason : reason.replaceAll(key, '(the key)'))
  }
}

/** The `Date` of an answer that came between `before` and `after`; null without one, and of an answer from a cache. */
export function readToldTime(headers: Headers, before: number, after: number): ToldTime | null {
  const there = Date.parse(headers.get('date') ?? '')
  const isKept = Number(headers.get('age') ?? 0) !== 0
  return Number.isNaN(there) || isKept ? null : { there, before, after }
}

function listUrl({ kind, baseUrl }: ListedServer): string {
  return kind === 'anthropic' ? `${baseUrl}/v1/models?limit=1000` : `${baseUrl}/models`
}

function requestFields({ kind, headers }: ListedServer, key: string | null): Record<string, string> {
  if (kind === 'anthropic') {
    return { ...headers, 'anthropic-version': '2023-06-01', ...(key && { 'x-api-key': key }) }
  }
  return { ...headers, ...(key !== null && { authorization: `Bearer ${key}` }) }
}

async function readBounded(response: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new Error(`its answer is longer than ${MOST_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function readIds(text: string): Pick<ModelListing, 'ids' | 'isWhole'> {
  const answer = Object(JSON.parse(text)) as Readonly<Record<string, unknown>>
  const { data } = answer
  if (!Array.isArray(data)) return { ids: [], isWhole: false }
  const named = data
    .slice(0, MOST_MODELS)
    .map((entry: { readonly id?: unknown } | null) => entry?.id)
    .filter((id) => typeof id === 'string')
  const ids = named.filter((id) => id !== '' && id.length <= MOST_ID_CHARS)
  const hasMore = MARKS_OF_MORE.some((mark) => Boolean(answer[mark]))
  return { ids: [...new Set(ids)].sort(), isWhole: !hasMore && ids.length === data.length }
}
