/** Log probabilities, every member present (contract/gateway 3.2). */
import type { Logprobs, TokenLogprob } from '../../formats/canonical.js'
import { asList, asObject, type Members } from '../../formats/json-values.js'

/** Null when the server sent none. */
export function parseLogprobs(value: unknown): Logprobs | null {
  const members = asObject(value)
  if (members === null) return null
  const content = parseTokens(members.content)
  const refusal = parseTokens(members.refusal)
  return content === null && refusal === null ? null : { content, refusal }
}

function parseTokens(value: unknown): readonly TokenLogprob[] | null {
  return Array.isArray(value) ? value.flatMap((token) => parseToken(asObject(token)) ?? []) : null
}

function parseToken(members: Members | null): TokenLogprob | null {
  const one = parseAlternative(members)
  if (one === null) return null
  return {
    ...one,
    top_logprobs: asList(members?.top_logprobs).flatMap((top) => parseAlternative(asObject(top)) ?? []),
  }
}

function parseAlternative(members: Members | null): Omit<TokenLogprob, 'top_logprobs'> | null {
  if (members === null || typeof members.token !== 'string' || typeof members.logprob !== 'number')
    return null
  return { token: members.token, logprob: members.logprob, bytes: parseBytes(members.bytes) }
}

function parseBytes(value: unknown): readonly number[] | null {
  return Array.isArray(value) && value.every(Number.isInteger) ? value : null
}
