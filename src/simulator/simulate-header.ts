import { z } from 'zod'
import { MOST_STREAMS } from '../tape/tape.js'
import { behaviourSchema, FAULT_KINDS } from './behaviour.js'
import { UnsupportedRequest } from './faults.js'

/** Names that stand for a distribution; a header can give constants only. */
const CONSTANTS = new Set(['first_token_ms', 'gap_ms', 'reasoning_tokens'])
/** Names whose value is a word. */
const WORDS = new Set(['fault', 'stop_reason', 'thinking'])
/** Names that belong to the fault. */
const FAULT_MEMBERS = new Set(['after', 'retry_after', 'limit_ms', 'delay_ms', 'share'])

/** What one request may ask for: a behaviour, and the stream of a tape by its number, from 1 on. */
const askedSchema = behaviourSchema.extend({ tape_stream: z.int().min(1).max(MOST_STREAMS).optional() })
type AskedBehaviour = z.output<typeof askedSchema>

const NUMBER = /^-?\d{1,15}(\.\d{1,6})?$/

/**
 * Reads the text of X-Service-Simulate: `fault=cut; after=5`, `first_token_ms=200; gap_ms=10; tokens=64`, for the
 * messages format `stop_reason=pause_turn` and `thinking=redacted`, and `tape_stream=12` where a tape is replayed.
 *
 * Members as in the configuration, with constants where that has distributions; `tokens=request` as there. What is
 * not written keeps the behaviour of the endpoint. Unknown, repeated and misplaced names are refused by name, with
 * an `UnsupportedRequest`.
 */
export function parseSimulateHeader(text: string): AskedBehaviour {
  const behaviour: Record<string, unknown> = {}
  const fault: Record<string, unknown> = {}
  for (const piece of text.split(';')) {
    const [name = '', value = '', ...rest] = piece.split('=').map((part) => part.trim())
    if (name === '' || value === '' || rest.length > 0) {
      throw rejectHeader(`"${piece.trim()}" is not of the form name=value`)
    }
    const members = FAULT_MEMBERS.has(name) || name === 'fault' ? fault : behaviour
    const member = name === 'fault' ? 'kind' : name
    if (Object.hasOwn(members, member)) throw rejectHeader(`"${name}" is given twice`)
    members[member] = parseMemberValue(name, value)
  }
  if (Object.keys(fault).length > 0) behaviour.fault = fault
  if (typeof fault.kind === 'string' && !FAULT_KINDS.has(fault.kind)) {
    throw rejectHeader(`unknown fault "${fault.kind}"`)
  }
  const result = askedSchema.safeParse(behaviour)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw rejectHeader(`${issue.path.join('.') || 'value'}: ${issue.message}`)
}

/** The value for the schema to judge. */
function parseMemberValue(name: string, text: string): unknown {
  if (WORDS.has(name)) return text
  const value = NUMBER.test(text) ? Number(text) : text
  if (CONSTANTS.has(name)) return { constant: value }
  if (name === 'tokens') return text === 'request' ? text : { constant: value }
  if (FAULT_MEMBERS.has(name) || name === 'seed' || name === 'tape_stream') return value
  throw rejectHeader(`unknown name "${name}"`)
}

function rejectHeader(reason: string): UnsupportedRequest {
  return new UnsupportedRequest(`X-Service-Simulate: ${reason}`)
}
