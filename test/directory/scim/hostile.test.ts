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

test('one body has no more gone through than a user can need, wherever it stands', async (t) => {
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]))
  const refused = (outcome: unknown, name: string) => t.match(outcome, { scimType: 'tooMany' }, name)
  refused(readUser(userBody({ userName: 'bo', name: keys(6_001) }), new Set()), 'unknown names in a value')
  const emails = Array.from({ length: 100 }, () => keys(61))
  refused(readUser(userBody({ userName: 'bo', emails }), new Set()), 'unknown names in values of a list')
  const work = { ...ANN, document: { addresses: Array.from({ length: 100 }, (_, i) => ({ type: `t${i}` })) } }
  const patched = (count: number, operation: object) =>
    patchUser(work, patchBody(...Array.from({ length: count }, () => operation)), new Set())
  const one = { op: 'add', path: 'addresses', value: { type: 't1' } }
  t.notOk(patched(50, one) instanceof ScimError)
  refused(patched(60, one), 'a long list, written again and again')
  const others = Array.from({ length: 100 }, (_, i) => ({ type: `u${i}` }))
  refused(patched(10, { op: 'remove', path: 'addresses', value: others }), 'long lists, compared')
  const text = 'é'.repeat(600)
  const long = {
    ...ANN,
    document: { emails: Array.from({ length: 100 }, (_, i) => ({ value: text + i })) },
  }
  const filter = `emails[${Array.from({ length: 60 }, () => 'value co zß').join(' or ')}]`
  refused(
    patchUser(long, patchBody({ op: 'remove', path: filter }), new Set()),
    'a long filter over long values',
  )
  refused(
    patchUser(ANN, patchBody({ op: 'add', path: 'title', value: 'x', ...keys(6_000) }), new Set()),
    'of an operation',
  )
})

test('a user with a hundred values in every list is read', async (t) => {
  const values = Array.from({ length: 100 }, (_, i) => ({
    value: `v${i}`,
    type: 'work',
    display: `d${i}`,
    primary: i === 0,
  }))
  const lists = ['emails', 'phoneNumbers', 'ims', 'photos', 'entitlements', 'roles', 'x509Certificates']
  const body = userBody({ userName: 'bo', ...Object.fromEntries(lists.map((name) => [name, values])) })
  const user = readUser(body, new Set())
  t.notOk(user instanceof ScimError, user instanceof ScimError ? user.detail : 'read')
})

test('a body names 20,000 members of a group and no more', async (t) => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ value: `u${i}`, type: 'User', $ref: null }))
  const read = readGroup({ displayName: 'g', members: members(20_000) }, new Set())
  t.equal(read instanceof ScimError ? read : read.members.members.length, 20_000)
  t.match(readGroup({ displayName: 'g', members: members(20_001) }, new Set()), { scimType: 'tooMany' })
  const half = { op: 'add', path: 'members', value: members(10_001) }
  t.match(patchGroup(GROUP, patchBody(half, half), new Set()), { scimType: 'tooMany' })
  const strange = members(3_000).map((member) => ({ ...member, a: 1, b: 2 }))
  t.match(readGroup({ displayName: 'g', members: strange }, new Set()), { scimType: 'tooMany' })
})
