/** Calls as programs make them: what people copy. */
import { ROOT } from '../api/call.ts'
import { session } from '../shell/session.ts'

/** The address by which programs reach what lies below `api`, as `/v1`: that of the browser where the server knows none. */
export function apiUrl(path: string): string {
  return `${session.value!.api_url ?? new URL(`${ROOT}api`, window.location.href).href}${path}`
}

/**
 * A command that posts to what lies below `/api/v1`, and shows a stream as it comes; the key stands in a variable of the
 * environment.
 */
export function postCommand(
  path: string,
  body: object,
  key = 'SLUICE_MANAGEMENT_KEY',
  indent?: number,
): string {
  // In a shell’s quotes: names come from callers.
  const text = JSON.stringify(body, null, indent).replaceAll("'", "'\\''")
  return `curl -N --fail-with-body ${apiUrl(`/v1/${path}`)} -H "Authorization: Bearer $${key}" \\
  -H 'Content-Type: application/json' -d '${text}'`
}
