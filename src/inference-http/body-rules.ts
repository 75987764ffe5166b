/** Rules that join several fields of a body. */
import { Fault, ValidationIssue } from '../base/fault.js'
import { countCodePoints } from '../http/params.js'
import { SESSION_HEADER } from './inference-headers.js'

/** Most characters of an end-user or session identifier, in the body and in the header (contract/decisions 7). */
export const LONGEST_IDENTIFIER = 256

/** What is wrong with a body whose fields are valid one by one, or null. */
export type BodyRule<B> = (body: B) => ValidationIssue | null

export function bodyIssue(path: readonly (string | number)[], note: string): ValidationIssue {
  return new ValidationIssue(['body', ...path], 'other', undefined, note)
}

/** Throws `invalid-input` for the first rule that the body breaks, then for the session header, then for a thread. */
export function requireRules<B extends { readonly thread?: unknown }>(
  body: B,
  rules: readonly BodyRule<B>[],
  sessionId: string,
): void {
  for (const rule of rules) {
    const issue = rule(body)
    if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  }
  const issue = sessionIdIssue(sessionId)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  refuseThread(body.thread)
}

/** Throws for a thread. The newest public helpers read `details`, and go on without one by themselves. */
function refuseThread(thread: unknown): void {
  if (thread === undefined || thread === null) return
  throw new Fault('invalid-input', {
    issues: [bodyIssue(['thread'], 'is not supported: send the whole conversation in messages')],
    details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  })
}

/** What is wrong with a session id in the header, or null. */
export function sessionIdIssue(sessionId: string): ValidationIssue | null {
  if (sessionId.length <= LONGEST_IDENTIFIER || countCodePoints(sessionId) <= LONGEST_IDENTIFIER) return null
  return new ValidationIssue(['header', SESSION_HEADER], 'string-too-long', LONGEST_IDENTIFIER)
}
