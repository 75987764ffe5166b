/** Which models a provider has, as it tells itself: a question that costs nothing. */

export interface ModelListing {
  /** As the provider names them, in the order of the alphabet. */
  readonly ids: readonly string[]
  /** Why there are none to choose from, in words that may hold some of the provider's; null when there are. */
  readonly problem: string | null
  /** Of its answer; null where there was none. */
  readonly status: number | null
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

/**
 * Asks the provider. Never rejects: a provider that does not answer has models all the same.
 * @param key `''` for one that is not known, null where none is needed
 */
export async function listProviderModels(server: ListedServer, key: string | null): Promise<ModelListing> {
  if (key === '') return failed('its variable is not set, so the provider was not asked', null)
  let status: number | null = null
  try {
    // A redirect could lead the key elsewhere.
    const options = { headers: requestFields(server, key), redirect: 'error' as const }
    const response = await fetch(listUrl(server), { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) })
    status = response.status
    const text = await readBounded(response)
    if (!response.ok) return failed(`it answered ${status}`, status)
    const ids = readIds(text)
    return ids.length > 0 ? { ids, problem: null, status } : failed('its answer names none', status)
  } catch (error) {
    const { cause, message } = error as Error
    const reason = cause instanceof Error ? cause.message || message : message
    // A key that no header can hold is quoted by whoever refuses it.
    return failed(key === null ? reason : reason.replaceAll(key, '(the key)'), status)
  }
}

function failed(problem: string, status: number | null): ModelListing {
  return { ids: [], problem, status }
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

function readIds(text: string): string[] {
  const { data } = JSON.parse(text) as { readonly data?: unknown }
  if (!Array.isArray(data)) return []
  const ids = data
    .slice(0, MOST_MODELS)
    .map((entry: { readonly id?: unknown } | null) => entry?.id)
    .filter((id) => typeof id === 'string')
    .filter((id) => id !== '' && id.length <= MOST_ID_CHARS)
  return [...new Set(ids)].sort()
}
