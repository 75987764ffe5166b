/** A request that a test sends so many times, what it counts as, and how it has to end. */
export interface SentRequest {
  readonly operation: string
  readonly status: number
  readonly method: string
  readonly path: string
  readonly times: number
  readonly body?: string
}

/** A row of a table of such requests; `route` as in a request line. */
export function sent(
  operation: string,
  status: number,
  route: `${string} /${string}`,
  times: number,
  body?: string,
): SentRequest {
  const [method = '', path = ''] = route.split(' ')
  return { operation, status, method, path, times, ...(body !== undefined && { body }) }
}
