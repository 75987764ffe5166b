import { type Behaviour, behaviourSchema, FAULT_KINDS } from './behaviour.js'

/** Names that stand for a distribution; a header can give constants only. */
const CONSTANTS = new Set(['first_token_ms', 'gap_ms', 'reasoning_tokens'])
/** Names whose value is a word. */
const WORDS = new Set(['fault', 'stop_reason', 'thinking'])
/** Names that belong to the fault. */
const OF_FAULT = new Set(['after', 'retry_after', 'limit_ms', 'delay_ms', 'share'])

const NUMBER = /^-?\d{1,15}(\.\d{1,6})?$/

/** What a header asks for, or the sentence that says what is wrong with it. */
type SimulateHeaderResult = { readonly behaviour: Behaviour } | { readonly wrong: string }

/**
 * Reads the text of X-Service-Simulate: `fault=cut; after=5`, `first_token_ms=200; gap_ms=10; tokens=64`, and for the
 * messages format `stop_reason=pause_turn` and `thinking=redacted`.
 *
 * Members as in the configuration, with constants where that has distributions; `tokens=request` as there. What is
 * not written keeps the behaviour of the endpoint. Unknown, repeated and misplaced names are refused by name.
 */
export function parseSimulateHeader(text: string): SimulateHeaderResult {
  const behaviour: Record<string, unknown> = {}
  const fault: Record<string, unknown> = {}
  for (const piece of text.split(';')) {
    const [name = '', value = '', ...rest] = piece.split('=').map((part) => part.trim())
    if (name === '' || value === '' || rest.length > 0)
      return rejectHeader(`"${piece.trim()}" is not of the form name=value`)
    const place = OF_FAULT.has(name) || name === 'fault' ? fault : behaviour
    const key = name === 'fault' ? 'kind' : name
    if (Object.hasOwn(place, key)) return rejectHeader(`"${name}" is given twice`)
    const said = parseMemberValue(name, value)
    if (said === undefined) return rejectHeader(`unknown name "${name}"`)
    place[key] = said
  }
  if (Object.keys(fault).length > 0) behaviour.fault = fault
  if (typeof fault.kind === 'string' && !FAULT_KINDS.has(fault.kind))
    return rejectHeader(`unknown fault "${fault.kind}"`)
  const result = behaviourSchema.safeParse(behaviour)
  if (result.success) return { behaviour: result.data }
  const issue = result.error.issues[0]!
  return rejectHeader(`${issue.path.join('.') || 'value'}: ${issue.message}`)
}

/** The value for the schema to judge; undefined for a name that nothing here knows. */
function parseMemberValue(name: string, text: string): unknown {
  if (WORDS.has(name)) return text
  const value = NUMBER.test(text) ? Number(text) : text
  if (CONSTANTS.has(name)) return { constant: value }
  if (name === 'tokens') return text === 'request' ? text : { constant: value }
  return OF_FAULT.has(name) || name === 'seed' ? value : undefined
}

function rejectHeader(reason: string): SimulateHeaderResult {
  return { wrong: `X-Service-Simulate: ${reason}` }
}
