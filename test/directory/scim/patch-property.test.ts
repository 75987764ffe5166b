/** Random patches, spelled as any directory might: the user is what a naive table of cells and rows says. */
import fc from 'fast-check'
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import type { Quirks } from '../../../src/directory/scim/quirks.js'
import { patchUser, type UserFields } from '../../../src/directory/scim/users.js'
import {
  CELLS,
  type Deed,
  LISTS,
  operationOf,
  type Spelling,
  UserModel,
} from '../../support/models/scim-user-model.js'
import { patchBody } from '../../support/schemas/scim-bodies.js'

const text = fc.constantFrom('a', 'b', 'ü', 'two words', 'x"]y')
const type = fc.constantFrom('work', 'home', 'other')
const cell = fc.constantFrom(...CELLS)
const list = fc.constantFrom(...LISTS)
const choice = fc.record({ type, not: fc.nat(4).map((n) => n === 0) })
const primary = fc.option(fc.boolean(), { nil: undefined, freq: 2 })
const row = fc
  .record({ value: text, type, primary })
  .map(({ primary: preferred, ...rest }) =>
    preferred === undefined ? rest : { ...rest, primary: preferred },
  )
const rows = fc.array(row, { minLength: 1, maxLength: 3 })

const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ do: fc.constant('set'), cell, text }),
  fc.record({ do: fc.constant('unset'), cell }),
  fc.record({ do: fc.constant('activate'), active: fc.boolean() }),
  fc.record({ do: fc.constant('fill'), list, rows }),
  fc.record({ do: fc.constant('append'), list, rows }),
  fc.record({ do: fc.constant('write'), list, choice, value: text }),
  fc.record({ do: fc.constant('prefer'), list, choice }),
  fc.record({ do: fc.constant('drop'), list, choice }),
  fc.record({ do: fc.constant('clear'), list }),
)
const spelling: fc.Arbitrary<Spelling> = fc.tuple(fc.nat(59), fc.nat(59), fc.nat(59))
const patch = fc.array(fc.tuple(deed, spelling), { minLength: 1, maxLength: 3 })

test('10,000 users after random patches are what the model says', async (t) => {
  let refusals = 0
  let patches = 0
  const quirks: Quirks = new Set()
  fc.assert(
    fc.property(fc.array(patch, { minLength: 1, maxLength: 6 }), (sequence) => {
      const model = new UserModel()
      let user: UserFields = { userName: 'ann', externalId: null, active: true, document: {} }
      for (const each of sequence) {
        patches++
        const done = model.perform(each.map(([one]) => one))
        const operations = each.map(([one, how]) => operationOf(one, how))
        const next = patchUser(user, patchBody(...operations), quirks)
        if (next instanceof ScimError === done) {
          throw new Error(`${done ? 'refused' : 'taken'}: ${JSON.stringify(operations)}`)
        }
        if (next instanceof ScimError) refusals++
        else user = next
        if (sorted(user) !== sorted(model.fields())) {
          throw new Error(
            `${JSON.stringify(operations)} gave ${sorted(user)} instead of ${sorted(model.fields())}`,
          )
        }
      }
    }),
    { numRuns: 10_000 },
  )
  t.ok(refusals > patches / 100, `${refusals} of ${patches} patches were refused`)
  t.ok(patches - refusals > patches / 2)
  t.strictSame(
    ['boolean-as-text', 'capitalized-op', 'dotted-key', 'name-in-another-case', 'value-path-creates'].filter(
      (quirk) => !quirks.has(quirk as never),
    ),
    [],
  )
})

/** JSON with the keys of every object in one order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
