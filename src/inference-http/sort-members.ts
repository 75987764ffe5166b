/** A body's members told apart: those of the request, those that were judged, and those that nobody here knows. */
import { Fault } from '../base/fault.js'
import type { ProviderPreferences } from '../gateway/formats/canonical.js'
import { namesPerson } from '../gateway/formats/extra-members.js'
import type { JsonObject } from '../gateway/formats/json-values.js'
import { openValueExcess } from '../http/fields.js'
import { bodyIssue } from './request-members.js'

/** Names of the members of a format. */
interface MemberNames {
  /** Of the request that the gateway works with. */
  readonly own: ReadonlySet<string>
  /** Of what has been judged and says nothing to a provider. */
  readonly spent: ReadonlySet<string>
}

export function memberNames<N extends string>(
  schema: { readonly shape: Readonly<Record<N, unknown>> },
  spent: readonly NoInfer<N>[],
): MemberNames {
  const others: readonly string[] = ['providers', ...spent]
  const own = Object.keys(schema.shape).filter((name) => !others.includes(name) && !namesPerson(name))
  return Object.freeze({ own: new Set([...own, 'user']), spent: new Set<string>(spent) })
}

/** What sorting adds to a body. */
interface Sorted {
  readonly user?: string
  readonly account?: string
  readonly provider?: ProviderPreferences | null
  readonly extra?: JsonObject
}

/**
 * The request in a body: the body itself where it holds nothing else. Names of persons and accounts become the user,
 * where there is none, and the account; members that the schema does not name become `extra`. Throws `invalid-input`
 * where there is too much of these.
 */
export function sortMembers<B extends object, S extends keyof B = never>(
  body: B,
  names: MemberNames,
): Omit<B, S | 'providers'> & Sorted {
  for (const name in body) if (!names.own.has(name)) return takeApart(body, names) as B & Sorted
  return body
}

/** Longest name of a person or an account. */
const LONGEST_NAME = 256
const MOST_EXTRAS = 64
const LONGEST_EXTRA = 64

function takeApart(body: object, { own, spent }: MemberNames): object {
  const request: Record<string, unknown> = {}
  // Without a prototype a member of that name is one like any other.
  const extra: Record<string, unknown> = Object.create(null)
  const persons: [string, string][] = []
  let further = 0
  for (const [name, value] of Object.entries(body)) {
    if (own.has(name)) request[name] = value
    else if (value === null || value === undefined || spent.has(name)) continue
    else if (name === 'providers') request.provider = value
    else {
      // Names of persons have any number of spellings, too.
      if (++further > MOST_EXTRAS || name.length > LONGEST_EXTRA) throw TOO_MANY
      if (namesPerson(name) && isName(value)) persons.push([name, String(value)])
      else extra[name] = value
    }
  }
  if (further > persons.length) {
    const excess = openValueExcess(extra)
    if (excess !== null) throw unknownMembers(excess)
    request.extra = extra
  }
  return persons.length === 0 ? request : { ...request, ...foldPersons(request.user, persons) }
}

function unknownMembers(note: string): Fault {
  return new Fault('invalid-input', {
    issues: [bodyIssue([], `has members that are not documented, and ${note}`)],
  })
}

const TOO_MANY = unknownMembers(
  `must not have more than ${MOST_EXTRAS} of them, or one whose name is longer than ${LONGEST_EXTRA} characters`,
)

function isName(value: unknown): boolean {
  return typeof value === 'string' ? value.length <= LONGEST_NAME : Number.isFinite(value)
}

/** The newer word for the user stands in for an absent one; everything else is told beside it. */
function foldPersons(user: unknown, persons: readonly (readonly [string, string])[]): Sorted {
  const stand = user === undefined ? persons.find(([name]) => name === 'safety_identifier') : undefined
  const others = persons.filter((person) => person !== stand).sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    ...(stand !== undefined && { user: stand[1] }),
    ...(others.length > 0 && { account: JSON.stringify(others) }),
  }
}
