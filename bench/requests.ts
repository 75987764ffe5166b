/**
 * The requests a scenario sends, as data both generators understand: a cycle of templates in which an item id
 * may be filled in at the moment of sending.
 */

/** One request of a cycle. `path` may hold `{next}` or `{spread}`, see `IdPlan`. */
export interface RequestSpec {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The uWebSockets.js pattern this request matches; requests of one method and route share a floor reply. */
  readonly route: string
  readonly path: string
  /** JSON text, sent with `Content-Type: application/json`. */
  readonly body?: string
}

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
export function isDynamic(request: RequestSpec): boolean {
  return request.path.includes('{')
}

/** The headers a request carries besides those every generator adds itself (Host, Content-Length). */
export function headersOf(request: RequestSpec): Record<string, string> {
  return request.body === undefined ? {} : { 'Content-Type': 'application/json' }
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
