/** Log probabilities, every member present (contract/gateway 3.2). */
import type { Logprobs, TokenLogprob } from '../../formats/canonical.js'
import { listOf, type Members, objectOf } from '../../formats/shape.js'

/** Null when the server sent none. */
export function logprobsOf(value: unknown): Logprobs | null {
  const members = objectOf(value)
  if (members === null) return null
  const content = tokensOf(members.content)
  const refusal = tokensOf(members.refusal)
  return content === null && refusal === null ? null : { content, refusal }
}

function tokensOf(value: unknown): readonly TokenLogprob[] | null {
  return Array.isArray(value) ? value.flatMap((token) => tokenOf(objectOf(token)) ?? []) : null
}

function tokenOf(members: Members | null): TokenLogprob | null {
  const one = alternativeOf(members)
  if (one === null) return null
  return {
    ...one,
    top_logprobs: listOf(members?.top_logprobs).flatMap((top) => alternativeOf(objectOf(top)) ?? []),
  }
}

function alternativeOf(members: Members | null): Omit<TokenLogprob, 'top_logprobs'> | null {
  if (members === null || typeof members.token !== 'string' || typeof members.logprob !== 'number')
    return null
  return { token: members.token, logprob: members.logprob, bytes: bytesOf(members.bytes) }
}

function bytesOf(value: unknown): readonly number[] | null {
  return Array.isArray(value) && value.every(Number.isInteger) ? value : null
}
