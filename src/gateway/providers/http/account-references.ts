/** What reaches into the account at a provider: ids of files and containers, which belong to whoever made them there. */
import { Fault } from '../../../base/fault.js'

/**
 * Every caller shares the operator's account, and a provider hands out whatever is in it: an id that a caller has
 * guessed or found may be that of another caller's file.
 */
const REFERENCES: ReadonlySet<string> = new Set(['file_id', 'file_ids', 'container', 'container_id'])

/** JSON of the caller's own making, which a provider reads and does not follow. */
const CALLER_JSON: ReadonlySet<string> = new Set([
  'input',
  'input_schema',
  'input_examples',
  'parameters',
  'schema',
  'logit_bias',
  'metadata',
])

/**
 * The fault of a body with such a reference, wherever it stands, naming the place; null when there is none. Null as
 * a value refers to nothing. Depth is bounded by validation.
 */
export function refuseAccountReference(body: object): Fault | null {
  const path = findAccountReference(body)
  if (path === null) return null
  return new Fault('bad-request', {
    note: `${path.join('.')} is not supported: what lies in the account at the provider is no caller's to name`,
    metadata: { error_type: 'invalid_request' },
  })
}

type MemberPath = (string | number)[]

function findAccountReference(value: unknown): MemberPath | null {
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = findAccountReference(value[at])
      if (found !== null) return [at, ...found]
    }
    return null
  }
  const members = value as Readonly<Record<string, unknown>>
  for (const name in members) {
    const member = members[name]
    if (member === null || member === undefined || CALLER_JSON.has(name)) continue
    if (REFERENCES.has(name)) return [name]
    const found = findAccountReference(member)
    if (found !== null) return [name, ...found]
  }
  return null
}
