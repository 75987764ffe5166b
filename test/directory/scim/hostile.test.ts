/** Bodies, filters and parameters from an enemy: refused or ignored, never a crash, nothing of theirs becomes code. */
import fc from 'fast-check'
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseFilter } from '../../../src/directory/scim/filter.js'
import { patchGroup, readGroup } from '../../../src/directory/scim/groups.js'
import { parseProjection } from '../../../src/directory/scim/projection.js'
import { parseSort } from '../../../src/directory/scim/sorting.js'
import { patchUser, readUser, type UserFields } from '../../../src/directory/scim/users.js'
import { patchBody, userBody } from '../../support/schemas/scim-bodies.js'

const ANN: UserFields = { userName: 'ann', externalId: null, active: true, document: { title: 'Dr' } }
const GROUP = { displayName: 'Staff', externalId: null, document: {} }

/** As a parser of JSON makes it: `__proto__` is a key like any other. */
const parsed = (json: string): unknown => JSON.parse(json)

test('names of what every object inherits are unknown names', async (t) => {
  const body = parsed(`{"userName":"bo","__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},
    "name":{"__proto__":{"admin":true},"givenName":"Bo"},"emails":[{"__proto__":{"admin":true},"value":"x"}],
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"__proto__":{"department":"x"}}}`)
  const user = readUser(body, new Set()) as UserFields
  t.strictSame(user, {
    userName: 'bo',
    externalId: null,
    active: true,
    document: { name: { givenName: 'Bo' }, emails: [{ value: 'x' }] },
  })
  t.notOk('admin' in user.document)
  for (const path of [
    '__proto__',
    '__proto__.admin',
    'constructor.prototype',
    'name.__proto__',
    'hasOwnProperty',
  ]) {
    const patched = patchUser(ANN, patchBody({ op: 'add', path, value: { admin: true } }), new Set())
    t.ok(patched === ANN || patched instanceof ScimError, path)
    t.ok(parseFilter(`${path} eq "x"`, 'User', new Set()) instanceof ScimError)
    t.strictSame(parseProjection(path, undefined, 'User', new Set()).of({ id: 'u' }), { id: 'u' })
  }
  t.notOk('admin' in {})
})

test('what is nested deeply, repeated often or very long is refused', async (t) => {
  const deep = parsed(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  for (const name of ['userName', 'active', 'name', 'emails', 'title']) {
    t.ok(readUser(userBody({ userName: 'bo', [name]: deep }), new Set()) instanceof ScimError, name)
  }
  const operations = (count: number, operation: object) =>
    patchBody(...Array.from({ length: count }, () => operation))
  t.match(patchUser(ANN, operations(1_001, { op: 'remove', path: 'title' }), new Set()), {
    scimType: 'tooMany',
  })
  const filtered = { op: 'remove', path: `emails[${'value co "x" or '.repeat(20)}value co "x"]` }
  t.match(patchUser(ANN, operations(10, filtered), new Set()), { scimType: 'tooMany' })
  const keys = Object.fromEntries(Array.from({ length: 20_001 }, (_, i) => [`k${i}`, 1]))
  t.match(readUser(userBody({ userName: 'bo', ...keys }), new Set()), { scimType: 'tooMany' })
  const grown = { op: 'add', value: { title: 'x'.repeat(4_096), 'name.formatted': 'x'.repeat(4_096) } }
  t.notOk(patchUser(ANN, operations(100, grown), new Set()) instanceof ScimError)
})

test('members may be removed by 1,000 paths: their filters are matched against nothing', async (t) => {
  const removals = Array.from({ length: 1_000 }, (_, i) => ({
    op: 'remove',
    path: `members[value eq "user-${i}"]`,
  }))
  const change = patchGroup(GROUP, patchBody(...removals), new Set())
  t.equal(change instanceof ScimError ? change : change.members.length, 1_000)
})

/** Values that look like bodies, and paths that look like paths. */
const NAMES = [
  'userName',
  'active',
  'name',
  'emails',
  'value',
  'type',
  'primary',
  'members',
  'Operations',
  'op',
  'path',
]
const name = fc.oneof(
  fc.constantFrom(...NAMES, '__proto__', 'constructor', 'toString'),
  fc.string({ maxLength: 6 }),
)
const pathText = fc
  .array(
    fc.oneof(
      name,
      fc.constantFrom('[', ']', '.', ' eq ', '"', '"x"', ' and ', ' or ', 'not (', '(', ')', 'urn:'),
    ),
  )
  .map((parts) => parts.join(''))
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, 'False', 'add', 'Replace', 'remove'),
    pathText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(name, pathText), tie('value'), { maxKeys: 4 }),
  ),
})).value

test('whatever comes is read, or refused by a value', async (t) => {
  const operation = fc.record({
    op: fc.constantFrom('add', 'replace', 'Remove'),
    path: pathText,
    value: json,
  })
  const body = fc.oneof(
    json,
    fc.array(operation, { maxLength: 3 }).map((list) => patchBody(...list)),
  )
  fc.assert(
    fc.property(body, pathText, (given, text) => {
      for (const user of [readUser(given, new Set()), patchUser(ANN, given, new Set())]) {
        if (!(user instanceof ScimError)) {
          // What was read is read again as the same: it is nothing but a user.
          const again = readUser(userBody({ ...user.document, ...user, document: undefined }), new Set())
          if (JSON.stringify(again) !== JSON.stringify(user))
            throw new Error('a user that is read as another one')
        }
      }
      readGroup(given, new Set())
      patchGroup(GROUP, given, new Set())
      const filter = parseFilter(text, 'Group', new Set())
      if (!(filter instanceof ScimError)) filter.matches({ id: 'g', members: [{ value: 'u' }] })
      parseProjection(text, text, 'User', new Set()).of({ id: 'u', name: { givenName: 'x' } })
      parseSort(text, text, 'User', new Set())
    }),
    { numRuns: 3_000 },
  )
  t.pass()
})
