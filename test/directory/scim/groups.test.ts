/** Groups: what a body says of the group, and what it does to the members, who are in no document. */
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { patchGroup, readGroup } from '../../../src/directory/scim/groups.js'
import { groupBody, patchBody } from '../../support/schemas/scim-bodies.js'

const STAFF = { displayName: 'Staff', externalId: 'g-1', document: {} }
const patch = (...operations: readonly object[]) => patchGroup(STAFF, patchBody(...operations), new Set())
const changesOf = (...operations: readonly object[]) => {
  const change = patch(...operations)
  return change instanceof ScimError ? change : change.members
}

test('a group is read apart from its members, each of whom counts once', async (t) => {
  const read = readGroup(
    groupBody({
      displayName: 'Staff',
      externalId: 'g-1',
      id: 'chosen',
      members: [
        { value: 'u-1', display: 'Ann', type: 'User', $ref: 'https://x.test/Users/u-1' },
        { value: 'u-2' },
        { value: 'u-1' },
      ],
    }),
    new Set(),
  )
  t.strictSame(read, {
    group: STAFF,
    members: { members: ['u-1', 'u-2'], displays: new Map([['u-1', 'Ann']]) },
  })
})

test('a group without members has none, also in a PUT', async (t) => {
  const read = readGroup(groupBody({ displayName: 'Staff' }), new Set())
  t.strictSame(read, {
    group: { displayName: 'Staff', externalId: null, document: {} },
    members: { members: [] },
  })
})

test('members may be many more than other values', async (t) => {
  const members = Array.from({ length: 20_000 }, (_, i) => ({ value: `u-${i}` }))
  const read = readGroup(groupBody({ displayName: 'All', members }), new Set())
  t.equal(read instanceof ScimError ? read : read.members.members.length, 20_000)
})

const CHANGES: Readonly<Record<string, readonly [operations: readonly object[], changes: unknown]>> = {
  'add adds those of its value': [
    [{ op: 'add', path: 'members', value: [{ value: 'a' }, { value: 'b' }] }],
    [{ op: 'add', members: ['a', 'b'] }],
  ],
  'add may have one member': [
    [{ op: 'add', path: 'members', value: { value: 'a' } }],
    [{ op: 'add', members: ['a'] }],
  ],
  'add of nobody is nothing': [[{ op: 'add', path: 'members', value: [] }], []],
  'replace puts its value in place of all': [
    [{ op: 'replace', path: 'members', value: [{ value: 'a' }] }],
    [{ op: 'replace', members: ['a'] }],
  ],
  'replace with an empty list clears': [
    [{ op: 'replace', path: 'members', value: [] }],
    [{ op: 'replace', members: [] }],
  ],
  'replace with null clears': [
    [{ op: 'replace', path: 'members', value: null }],
    [{ op: 'replace', members: [] }],
  ],
  'remove without a value clears': [[{ op: 'remove', path: 'members' }], [{ op: 'replace', members: [] }]],
  'remove with a list removes only these': [
    [{ op: 'remove', path: 'members', value: [{ value: 'a' }] }],
    [{ op: 'remove', members: ['a'] }],
  ],
  'remove with an empty list removes nobody': [[{ op: 'remove', path: 'members', value: [] }], []],
  'remove by a filter removes whom it names': [
    [{ op: 'remove', path: 'members[value eq "a"]' }],
    [{ op: 'remove', members: ['a'] }],
  ],
  'a filter may name several': [
    [{ op: 'remove', path: 'members[value eq "a" or (value eq "b" and type eq "User") or value eq "a"]' }],
    [{ op: 'remove', members: ['a', 'b'] }],
  ],
  'a path may begin with the URN of the schema': [
    [{ op: 'remove', path: 'urn:ietf:params:scim:schemas:core:2.0:Group:members[value eq "a]b"]' }],
    [{ op: 'remove', members: ['a]b'] }],
  ],
  'operations without path are read by their keys': [
    [
      { op: 'add', value: { members: [{ value: 'a' }] } },
      { op: 'replace', value: { id: 'x', members: [{ value: 'b' }] } },
    ],
    [
      { op: 'add', members: ['a'] },
      { op: 'replace', members: ['b'] },
    ],
  ],
  'changes stay in their order': [
    [
      { op: 'add', path: 'members', value: [{ value: 'a' }] },
      { op: 'remove', path: 'members[value eq "a"]' },
      { op: 'add', path: 'members', value: [{ value: 'b' }] },
    ],
    [
      { op: 'add', members: ['a'] },
      { op: 'remove', members: ['a'] },
      { op: 'add', members: ['b'] },
    ],
  ],
}

for (const [says, [operations, changes]] of Object.entries(CHANGES)) {
  test(`members: ${says}`, async (t) => {
    t.strictSame(changesOf(...operations), changes)
    const change = patch(...operations)
    t.equal((change as { group: unknown }).group, STAFF, 'the group itself is the very same')
  })
}

test('a group is renamed, with its members untouched', async (t) => {
  const change = patch(
    { op: 'replace', path: 'displayName', value: 'Crew' },
    { op: 'remove', path: 'externalId' },
  )
  t.strictSame(change, { group: { displayName: 'Crew', externalId: null, document: {} }, members: [] })
})

const REFUSED: Readonly<Record<string, readonly [operation: object, scimType: string]>> = {
  'a group as a member, by its type': [
    { op: 'add', path: 'members', value: [{ value: 'g-2', type: 'Group' }] },
    'invalidValue',
  ],
  'a group as a member, by its address': [
    { op: 'add', path: 'members', value: [{ value: 'g-2', $ref: 'https://x.test/scim/v2/Groups/g-2' }] },
    'invalidValue',
  ],
  'a member without an id': [{ op: 'add', path: 'members', value: [{ display: 'Ann' }] }, 'invalidValue'],
  'an id of more than 256 characters': [
    { op: 'add', path: 'members', value: [{ value: 'u'.repeat(257) }] },
    'invalidValue',
  ],
  'a list of numbers in objects': [{ op: 'add', path: 'members', value: [[1]] }, 'invalidValue'],
  'a removal by anything but ids': [{ op: 'remove', path: 'members[display eq "Ann"]' }, 'invalidFilter'],
  'a removal of all but one': [{ op: 'remove', path: 'members[not (value eq "a")]' }, 'invalidFilter'],
  'a change of a member': [
    { op: 'replace', path: 'members[value eq "a"].display', value: 'B' },
    'mutability',
  ],
  'an exchange of a member': [
    { op: 'replace', path: 'members[value eq "a"]', value: { value: 'b' } },
    'mutability',
  ],
  'members without a value': [{ op: 'add', path: 'members' }, 'invalidValue'],
  'the removal of the name': [{ op: 'remove', path: 'displayName' }, 'mutability'],
}

for (const [what, [operation, scimType]] of Object.entries(REFUSED)) {
  test(`a PATCH of a group with ${what} is 400 ${scimType}`, async (t) => {
    t.match(patch(operation), { status: 400, scimType })
  })
}

test('a group needs a name, and no groups inside', async (t) => {
  t.match(readGroup(groupBody({ members: [] }), new Set()), { scimType: 'invalidValue' })
  const nested = groupBody({ displayName: 'Staff', members: [{ value: 'g-2', type: 'group' }] })
  t.match(readGroup(nested, new Set()), { scimType: 'invalidValue' })
})
