/**
 * Two libraries that others wrote are asked the same: `scim-patch` what a PATCH makes of a user, `scim2-parse-filter`
 * which resources a filter finds. Where they are known to be wrong or to choose otherwise stands at the end, by name.
 */
import fc from 'fast-check'
import { type ScimPatchOperation, type ScimResource, scimPatch } from 'scim-patch'
import { filter, parse } from 'scim2-parse-filter'
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseFilter } from '../../../src/directory/scim/filter.js'
import { patchUser, type UserFields } from '../../../src/directory/scim/users.js'
import { CELLS, type Deed, LISTS, operationOf } from '../../support/models/scim-user-model.js'
import { patchBody } from '../../support/schemas/scim-bodies.js'

type Json = Record<string, unknown>

/** What scim-patch makes of a resource; null when it refuses. */
function theirs(resource: Json, operations: readonly object[]): Json | null {
  try {
    const copy = structuredClone(resource) as unknown as ScimResource
    return scimPatch(copy, structuredClone(operations) as ScimPatchOperation[]) as unknown as Json
  } catch {
    return null
  }
}

/** What we make of it. */
function ours(resource: Json, operations: readonly object[]): Json | null {
  const { userName, active, ...document } = resource
  const user = { userName, externalId: null, active, document } as unknown as UserFields
  const patched = patchUser(user, patchBody(...operations), new Set())
  return patched instanceof ScimError
    ? null
    : { userName: patched.userName, active: patched.active, ...patched.document }
}

/** Without what is empty, without values that stand twice in a list, and with keys in one order. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) {
    const values = value.map(tidy).filter((one) => one !== undefined)
    const distinct = values.filter((one, at) => values.findIndex((other) => same(other, one)) === at)
    return distinct.length === 0 ? undefined : distinct
  }
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const entries = Object.entries(value).map(([name, part]) => [name, tidy(part)] as const)
  const left = entries.filter(([, part]) => part !== undefined).sort(([a], [b]) => (a < b ? -1 : 1))
  return left.length === 0 ? undefined : Object.fromEntries(left)
}

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

const text = fc.constantFrom('a', 'b', 'ü', 'two words')
const type = fc.constantFrom('work', 'home', 'other')
const cell = fc.constantFrom(...CELLS.filter((name) => !name.startsWith('+')))
const list = fc.constantFrom(...LISTS)
const choice = fc.record({ type, not: fc.constant(false) })
const rows = fc.array(fc.record({ value: text, type }), { minLength: 1, maxLength: 3 })
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ do: fc.constant('set'), cell, text }),
  fc.record({ do: fc.constant('unset'), cell: cell.filter((name) => name !== 'userName') }),
  fc.record({ do: fc.constant('activate'), active: fc.boolean() }),
  fc.record({ do: fc.constant('fill'), list, rows }),
  fc.record({ do: fc.constant('append'), list, rows }),
  fc.record({ do: fc.constant('write'), list, choice, value: text }),
  fc.record({ do: fc.constant('drop'), list, choice }),
  fc.record({ do: fc.constant('clear'), list }),
)
/** Operations as the RFC writes them: lower case, with a path, `remove` to remove. */
const operation = fc.tuple(deed, fc.constantFrom(0, 2)).map(([one, op]) => {
  const written = operationOf(one, [op, 2, 0])
  return one.do === 'append' ? { ...written, value: one.rows } : written
})

test('scim-patch makes the same of 1,500 sequences of operations', async (t) => {
  let compared = 0
  fc.assert(
    fc.property(fc.array(operation, { minLength: 1, maxLength: 8 }), (operations) => {
      let resource: Json = {
        userName: 'ann',
        active: true,
        name: { givenName: 'Ann', familyName: 'Lee' },
        emails: [{ value: 'a', type: 'work' }],
        phoneNumbers: [{ value: '1', type: 'work' }],
      }
      for (const each of operations) {
        const they = theirs(resource, [each])
        // It refuses to remove what is not there; RFC 7644 3.5.2.2 does not.
        if (they === null) continue
        const we = ours(resource, [each])
        if (we === null || !same(tidy(we), tidy(they))) {
          throw new Error(
            `${JSON.stringify(each)} of ${JSON.stringify(resource)}: ${JSON.stringify({ we, they })}`,
          )
        }
        compared++
        resource = we
      }
    }),
    { numRuns: 1_500 },
  )
  t.ok(compared > 4_000, `${compared} operations were compared`)
})

const RESOURCES: readonly Json[] = [
  {
    userName: 'ann',
    title: 'dr',
    active: true,
    name: { givenName: 'ann' },
    emails: [{ type: 'work', value: 'a@x' }],
  },
  {
    userName: 'bo',
    title: 'mr',
    active: false,
    name: { givenName: 'bo' },
    emails: [
      { type: 'work', value: 'b@x' },
      { type: 'home', value: 'a@x' },
    ],
  },
  {
    userName: 'cy',
    title: 'prof',
    active: true,
    name: { givenName: 'ann' },
    emails: [{ type: 'home', value: 'c@y' }],
  },
]

const word = fc.constantFrom('ann', 'bo', 'a', 'dr', 'work', 'home', 'a@x', '@', 'say \\"x\\"')
const relation = fc.constantFrom('eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le')
const compared = (names: readonly string[]) =>
  fc.tuple(fc.constantFrom(...names), relation, word).map(([name, op, value]) => `${name} ${op} "${value}"`)
const anyFilter = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    compared(['userName', 'title', 'name.givenName', 'emails.type', 'emails.value']),
    fc.constantFrom(
      'active eq true',
      'active ne true',
      'active eq false',
      'title pr',
      'name pr',
      'nickName pr',
    ),
    compared(['type', 'value']).map((part) => `emails[${part}]`),
    fc.tuple(tie('any'), fc.constantFrom('and', 'or'), tie('any')).map((parts) => parts.join(' ')),
    tie('any').map((part) => `(${part})`),
    tie('any').map((part) => `not (${part})`),
  ),
})).any

test('scim2-parse-filter finds the same by 4,000 filters', async (t) => {
  fc.assert(
    fc.property(anyFilter, (one) => {
      const we = parseFilter(one, 'User', new Set())
      if (we instanceof ScimError) return we.detail.includes('nested') || we.detail.includes('terms')
      const they = filter(parse(one))
      return RESOURCES.every((resource) => we.matches(resource as never) === they(resource))
    }),
    { numRuns: 4_000 },
  )
  t.pass()
})

test('what scim-patch does otherwise', async (t) => {
  const ann = { userName: 'ann', active: true, emails: [{ value: 'a', type: 'work', primary: true }] }
  const both = (operation: object) => ({ we: ours(ann, [operation]), they: theirs(ann, [operation]) })

  t.match(both({ op: 'Replace', path: 'active', value: 'False' }), {
    we: { active: false },
    they: { active: 'False' },
  })

  const otherCase = both({ op: 'replace', path: 'UserName', value: 'bo' })
  t.match(otherCase, { we: { userName: 'bo' }, they: { userName: 'ann', UserName: 'bo' } })

  const secondPrimary = both({ op: 'add', path: 'emails', value: [{ value: 'b', primary: true }] })
  t.match(secondPrimary.we!.emails, [{ primary: false }, { primary: true }])
  t.match(secondPrimary.they!.emails, [{ primary: true }, { primary: true }])

  const sameAgain = both({ op: 'add', path: 'emails', value: [{ value: 'a', type: 'work', display: 'A' }] })
  t.equal((sameAgain.we!.emails as unknown[]).length, 1)
  t.equal((sameAgain.they!.emails as unknown[]).length, 2)

  const wholeValue = both({ op: 'replace', path: 'emails[type eq "work"]', value: { value: 'b' } })
  t.strictSame(wholeValue.we!.emails, [{ value: 'b' }])
  t.strictSame(wholeValue.they!.emails, [{ value: 'b', type: 'work', primary: true }])

  t.match(both({ op: 'add', path: 'shoeSize', value: '43' }), { we: ann, they: { shoeSize: '43' } })

  const firstOfList = both({ op: 'add', path: 'phoneNumbers', value: { value: '1' } })
  t.strictSame(firstOfList.we!.phoneNumbers, [{ value: '1' }])
  t.strictSame(firstOfList.they!.phoneNumbers, { value: '1' })
})

test('what scim2-parse-filter does otherwise', async (t) => {
  const resource = {
    userName: 'Ann',
    active: true,
    emails: [
      { type: 'work', value: 'a' },
      { type: 'home', value: 'b' },
    ],
    meta: { created: '2011-08-01T18:29:49.793Z' },
  }
  const both = (one: string) => {
    const we = parseFilter(one, 'User', new Set())
    let they: boolean | null = null
    try {
      they = filter(parse(one))(resource)
    } catch {}
    return { we: we instanceof ScimError ? null : we.matches(resource as never), they }
  }
  t.strictSame(both('userName eq "ANN"'), { we: true, they: false }, 'case rules of the schema')
  t.strictSame(both('nickName ne "x"'), { we: true, they: false }, 'what has no value is not equal')
  t.strictSame(both('title eq null'), { we: true, they: false }, 'null is what has no value')
  t.strictSame(
    both('meta.created eq "2011-08-01T20:29:49.793+02:00"'),
    { we: true, they: false },
    'times are instants',
  )
  t.strictSame(both('userName sw A'), { we: true, they: null }, 'unquoted words')
  t.strictSame(both('active gt false'), { we: null, they: true }, 'booleans have no order')
  t.strictSame(both('shoeSize eq "43"'), { we: null, they: false }, 'unknown attributes')
  t.strictSame(
    both('emails[type eq "home"].value eq "a"'),
    { we: false, they: true },
    'a name behind a filter is of the same value',
  )
  t.strictSame(
    both('emails[type eq "home" and value eq "a"]'),
    { we: false, they: true },
    'one value satisfies all of it',
  )
  t.strictSame(both('not active eq true'), { we: null, they: false }, 'parentheses after not')
})
