/**
 * Reasoning of other providers inside the messages format. It must come back unchanged with the next request of a
 * tool loop, and a thinking block has no place for its kind, its format or its id: so they travel, sealed, in the
 * two members of the format that callers hand back without looking, `signature` and the data of redacted thinking.
 */
import type { ReasoningDetail } from '../formats/canonical.js'
import {
  asObject,
  countJsonValues,
  type JsonObject,
  nonEmptyText,
  parseJson,
} from '../formats/json-values.js'
import type { ContentBlock } from '../formats/messages.js'

const SEAL = 'reasoning-detail.'

/** The format of signatures that mean something to a messages provider (contract/gateway 3.5). */
export const OWN_FORMAT = 'anthropic-claude-v1'

/** Details have half a dozen plain members. */
const MOST_SEALED_VALUES = 100

export function sealReasoning(members: JsonObject): string {
  return SEAL + Buffer.from(JSON.stringify(members)).toString('base64url')
}

/**
 * Null when the text was not sealed here. It comes from a caller, who may have written anything into it: only plain
 * members count, which is all that the details of contract/gateway 3.5 have.
 */
export function unsealReasoning(text: string): ReasoningDetail | null {
  if (!text.startsWith(SEAL)) return null
  const sealed = Buffer.from(text.slice(SEAL.length), 'base64url').toString()
  if (countJsonValues(sealed, MOST_SEALED_VALUES) > MOST_SEALED_VALUES) return null
  const members = asObject(parseJson(sealed))
  if (members === null || nonEmptyText(members.type) === undefined) return null
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => typeof value !== 'object'),
  ) as unknown as ReasoningDetail
}

/** Whether a block holds thinking that no messages provider has signed. */
export function isForeignThinking(block: ContentBlock): boolean {
  if (block.type === 'thinking') {
    const { signature } = block
    return typeof signature !== 'string' || signature === '' || signature.startsWith(SEAL)
  }
  return block.type === 'redacted_thinking' && typeof block.data === 'string' && block.data.startsWith(SEAL)
}
