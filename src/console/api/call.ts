/** Calls of the API. What fails is a value with the server's own sentence, never an exception. */

/** The server's root, as a path with a slash at its end: this module lies two folders below it, also behind a prefix. */
export const ROOT = new URL('../../', import.meta.url).pathname

/** Why a call failed. */
export interface Problem {
  /** 0 when no answer came. */
  readonly status: number
  /** One sentence of the server. */
  readonly message: string
  /** Names the call in the server's log; `''` when no answer came. */
  readonly requestId: string
}

export type Outcome<T> =
  | { readonly ok: true; readonly data: T; readonly etag: string | null }
  | { readonly ok: false; readonly problem: Problem }

interface CallOptions {
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** The version that a change is meant for. */
  readonly ifMatch?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What others want to know of every answer: that a session has ended, that machines have not confirmed a change. */
export const observers = {
  unauthenticated: (): void => {},
  unconfirmed: (_machines: readonly string[]): void => {},
}

/**
 * Calls an operation; `path` begins behind the root, as in `api/v1/keys`. A call that was aborted never resolves: who
 * has left does not wait for it.
 */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<Outcome<T>> {
  const response = await send(method, path, options)
  if (response === null) return { ok: false, problem: UNREACHABLE }
  const answer = await jsonOf(response, options.signal)
  if (!response.ok) {
    if (response.status === 401) observers.unauthenticated()
    return { ok: false, problem: problemOf(response, answer) }
  }
  if (response.status === 202) observers.unconfirmed(namesIn(answer))
  return { ok: true, data: answer as T, etag: response.headers.get('ETag') }
}

/** Sends a call and leaves the answer to the caller, who may read it as a stream; null when none came. */
export async function send(
  method: Method,
  path: string,
  { body, signal, ifMatch, headers }: CallOptions,
): Promise<Response | null> {
  const isForm = body instanceof FormData
  try {
    return await fetch(ROOT + path, {
      method,
      ...(signal && { signal }),
      headers: {
        Accept: 'application/json',
        // No form and no link of another site can send it.
        'X-Sluice-Request': '1',
        ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
        ...(ifMatch && { 'If-Match': ifMatch }),
        ...headers,
      },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    })
  } catch {
    return signal?.aborted ? never() : null
  }
}

/** Reads why a call failed, of an answer that was not read yet. */
export async function problemIn(response: Response): Promise<Problem> {
  return problemOf(response, await jsonOf(response))
}

/** The values that are there, as a query with its question mark; `''` when there are none. */
export function queryOf(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const there = Object.entries(values).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  )
  return there.length === 0
    ? ''
    : `?${new URLSearchParams(there.map(([name, value]) => [name, String(value)]))}`
}

export const UNREACHABLE: Problem = { status: 0, message: 'The server cannot be reached', requestId: '' }

function never(): Promise<never> {
  return new Promise(() => {})
}

async function jsonOf(response: Response, signal?: AbortSignal): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return signal?.aborted ? never() : null
  }
}

/** The gateway, the messages format and SCIM each have their own member for the sentence. */
function problemOf(response: Response, answer: unknown): Problem {
  const error = memberOf(answer, 'error')
  const candidates = [
    memberOf(error, 'message'),
    memberOf(answer, 'detail'),
    memberOf(answer, 'error_description'),
  ]
  const sentence = candidates.find((each): each is string => typeof each === 'string' && each !== '')
  return {
    status: response.status,
    message: sentence ?? `The server answered with ${response.status}`,
    requestId: response.headers.get('X-Request-Id') ?? '',
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

function namesIn(answer: unknown): string[] {
  const names = memberOf(answer, 'unconfirmed_machines')
  return Array.isArray(names) ? names.map(String) : []
}
