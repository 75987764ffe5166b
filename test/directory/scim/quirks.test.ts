/** Every line of the table of quirks: a request that has it, what becomes of the request, and that it is reported. */
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseFilter } from '../../../src/directory/scim/filter.js'
import { patchGroup, readGroup } from '../../../src/directory/scim/groups.js'
import { parseProjection } from '../../../src/directory/scim/projection.js'
import { QUIRKS, type QuirkName, type Quirks } from '../../../src/directory/scim/quirks.js'
import { patchUser, readUser, replaceUser, type UserFields } from '../../../src/directory/scim/users.js'
import { ENTERPRISE, groupBody, patchBody, userBody } from '../../support/schemas/scim-bodies.js'

const ANN: UserFields = {
  userName: 'ann',
  externalId: 'e-1',
  active: true,
  document: { name: { familyName: 'Lee' }, emails: [{ type: 'home', value: 'ann@home.test' }] },
}
const STAFF = { displayName: 'Staff', externalId: null, document: {} }

/** A user after a PATCH of Ann. */
const patched =
  (...operations: readonly object[]) =>
  (quirks: Quirks) =>
    patchUser(ANN, patchBody(...operations), quirks)
const groupPatched =
  (...operations: readonly object[]) =>
  (quirks: Quirks) => {
    const change = patchGroup(STAFF, patchBody(...operations), quirks)
    return change instanceof ScimError ? change : change.members
  }
const read = (fields: object) => (quirks: Quirks) => readUser(userBody(fields), quirks)
/** Whether a filter finds a resource. */
const found = (filter: string, resource: object) => (quirks: Quirks) => {
  const parsed = parseFilter(filter, 'User', quirks)
  return parsed instanceof ScimError ? parsed : parsed.matches(resource as never)
}

interface Line {
  readonly quirk: QuirkName
  /** What is seen of it besides. */
  readonly also?: readonly QuirkName[]
  readonly ask: (quirks: Quirks) => unknown
  readonly answer: unknown
}

const LINES: readonly Line[] = [
  {
    quirk: 'boolean-as-text',
    ask: patched({ op: 'replace', path: 'active', value: 'False' }),
    answer: { ...ANN, active: false },
  },
  {
    quirk: 'boolean-as-text',
    ask: read({ userName: 'bo', active: 'True' }),
    answer: { userName: 'bo', externalId: null, active: true, document: {} },
  },
  { quirk: 'boolean-as-text', ask: found('active eq "True"', { active: true }), answer: true },
  {
    quirk: 'capitalized-op',
    ask: patched({ op: 'Replace', path: 'title', value: 'Dr' }),
    answer: { ...ANN, document: { ...ANN.document, title: 'Dr' } },
  },
  {
    quirk: 'colon-key',
    also: ['pathless-patch'],
    ask: patched({ op: 'add', value: { [`${ENTERPRISE}:department`]: 'Sales' } }),
    answer: { ...ANN, document: { ...ANN.document, [ENTERPRISE]: { department: 'Sales' } } },
  },
  {
    quirk: 'colon-path',
    ask: patched({ op: 'add', path: `${ENTERPRISE}:manager.value`, value: 'm-1' }),
    answer: { ...ANN, document: { ...ANN.document, [ENTERPRISE]: { manager: { value: 'm-1' } } } },
  },
  {
    quirk: 'dot-after-urn',
    ask: patched({ op: 'add', path: `${ENTERPRISE}.department`, value: 'Sales' }),
    answer: { ...ANN, document: { ...ANN.document, [ENTERPRISE]: { department: 'Sales' } } },
  },
  {
    quirk: 'dotted-key',
    also: ['pathless-patch'],
    ask: patched({ op: 'replace', value: { 'name.givenName': 'Ann', 'name.familyName': 'Ray' } }),
    answer: { ...ANN, document: { ...ANN.document, name: { familyName: 'Ray', givenName: 'Ann' } } },
  },
  { quirk: 'empty-operations', ask: patched(), answer: ANN },
  {
    quirk: 'list-for-single',
    ask: patched({ op: 'replace', path: 'displayName', value: [{ $ref: null, value: 'Ann Lee' }] }),
    answer: { ...ANN, document: { ...ANN.document, displayName: 'Ann Lee' } },
  },
  {
    quirk: 'long-fraction',
    ask: found('meta.lastModified ge "2021-09-23T19:35:41.8420572Z"', {
      meta: { lastModified: '2021-09-23T19:35:41.842Z' },
    }),
    answer: false,
  },
  {
    quirk: 'manager-as-text',
    also: ['colon-path'],
    ask: patched({ op: 'replace', path: `${ENTERPRISE}:manager`, value: 'm-1' }),
    answer: { ...ANN, document: { ...ANN.document, [ENTERPRISE]: { manager: { value: 'm-1' } } } },
  },
  {
    quirk: 'member-display-name',
    ask: groupPatched({ op: 'add', path: 'members', value: [{ displayName: 'New User', value: 'u-1' }] }),
    answer: [{ op: 'add', members: ['u-1'], displays: new Map([['u-1', 'New User']]) }],
  },
  {
    quirk: 'name-in-another-case',
    ask: read({ UserName: 'bo', emails: [{ Primary: true, value: 'bo@test' }] }),
    answer: {
      userName: 'bo',
      externalId: null,
      active: true,
      document: { emails: [{ primary: true, value: 'bo@test' }] },
    },
  },
  { quirk: 'name-in-another-case', ask: found('DisplayName eq "bo"', { displayName: 'Bo' }), answer: true },
  {
    quirk: 'number-for-text',
    ask: read({ userName: 'bo', [ENTERPRISE]: { employeeNumber: 701984 } }),
    answer: {
      userName: 'bo',
      externalId: null,
      active: true,
      document: { [ENTERPRISE]: { employeeNumber: '701984' } },
    },
  },
  {
    quirk: 'pathless-patch',
    ask: patched({ op: 'replace', value: { active: false } }),
    answer: { ...ANN, active: false },
  },
  {
    quirk: 'put-without-active',
    ask: (quirks) => replaceUser({ ...ANN, active: false }, userBody({ userName: 'ann' }), quirks),
    answer: { userName: 'ann', externalId: null, active: false, document: {} },
  },
  {
    quirk: 'remove-with-value',
    ask: groupPatched({ op: 'remove', path: 'members', value: [{ value: 'u-1' }, { value: 'u-2' }] }),
    answer: [{ op: 'remove', members: ['u-1', 'u-2'] }],
  },
  {
    quirk: 'remove-with-value',
    ask: patched({ op: 'remove', path: 'emails', value: [{ value: 'ann@work.test' }] }),
    answer: ANN,
  },
  {
    quirk: 'schemas-omitted',
    ask: (quirks) => readUser({ userName: 'bo' }, quirks),
    answer: { userName: 'bo', externalId: null, active: true, document: {} },
  },
  {
    quirk: 'single-for-list',
    ask: read({ userName: 'bo', emails: { value: 'bo@test' } }),
    answer: { userName: 'bo', externalId: null, active: true, document: { emails: [{ value: 'bo@test' }] } },
  },
  { quirk: 'unknown-path', ask: patched({ op: 'replace', path: 'shoeSize', value: '43' }), answer: ANN },
  { quirk: 'unquoted-word', ask: found('userName sw O', { userName: 'omalley' }), answer: true },
  {
    quirk: 'unquoted-word',
    also: ['long-fraction'],
    ask: found('meta.created gt 2015-10-10T14:38:21.8617979-07:00', {
      meta: { created: '2015-10-10T21:38:21.862Z' },
    }),
    answer: true,
  },
  {
    quirk: 'value-path-creates',
    ask: patched({ op: 'replace', path: 'emails[type eq "work"].value', value: 'ann@work.test' }),
    answer: {
      ...ANN,
      document: {
        ...ANN.document,
        emails: [
          { type: 'home', value: 'ann@home.test' },
          { type: 'work', value: 'ann@work.test' },
        ],
      },
    },
  },
  ...[
    ['emails[type eq "work"].value eq "ann@test"', true],
    ['emails[type eq "home"].value eq "ann@test"', false],
    ['not (emails[type eq "work"].value sw "bo")', true],
  ].map(([filter, answer]): Line => {
    const emails = [
      { type: 'work', value: 'ann@test' },
      { type: 'home', value: 'ann@home.test' },
    ]
    return { quirk: 'value-path-goes-on', ask: found(String(filter), { emails }), answer }
  }),
  {
    quirk: 'value-path-in-attributes',
    ask: (quirks) =>
      parseProjection('emails[type eq "work"]', undefined, 'User', quirks).of({
        id: 'u-1',
        userName: 'bo',
        emails: [{ type: 'home' }],
      }),
    answer: { id: 'u-1', emails: [{ type: 'home' }] },
  },
  {
    quirk: 'value-path-key',
    also: ['pathless-patch'],
    ask: patched({ op: 'replace', value: { 'emails[type eq "home"].value': 'ann@new.test' } }),
    answer: { ...ANN, document: { ...ANN.document, emails: [{ type: 'home', value: 'ann@new.test' }] } },
  },
  {
    quirk: 'values-as-text',
    ask: groupPatched({ op: 'add', path: 'members', value: 'string id 1' }),
    answer: [{ op: 'add', members: ['string id 1'] }],
  },
  {
    quirk: 'values-as-text',
    ask: (quirks) => {
      const group = readGroup(groupBody({ displayName: 'Staff', members: ['u-1', 'u-2'] }), quirks)
      return group instanceof ScimError ? group : group.members
    },
    answer: { members: ['u-1', 'u-2'] },
  },
]

/** Those of addresses and of unknown members, which only the operations see. */
const OF_OPERATIONS: readonly QuirkName[] = [
  'lower-case-endpoint',
  'service-configuration',
  'trailing-slash',
  'unknown-member',
]

for (const { quirk, also = [], ask, answer } of LINES) {
  test(`${quirk}: ${QUIRKS[quirk].done}`, async (t) => {
    const quirks: Quirks = new Set()
    t.strictSame(ask(quirks), answer)
    t.strictSame(
      [...quirks].sort(),
      [quirk, ...also].sort(),
      'it is reported by its name, and nothing else is',
    )
  })
}

test('every quirk of the table has a request that shows it', async (t) => {
  const shown = new Set([...LINES.map(({ quirk }) => quirk), ...OF_OPERATIONS])
  t.strictSame([...shown].sort(), Object.keys(QUIRKS).sort())
})

test('requests by the RFCs have no quirk', async (t) => {
  const quirks: Quirks = new Set()
  const user = readUser(userBody({ userName: 'bo', active: false, name: { givenName: 'Bo' } }), quirks)
  t.notOk(user instanceof ScimError)
  patched(
    { op: 'add', path: 'emails', value: [{ type: 'work', value: 'ann@work.test', primary: true }] },
    { op: 'add', path: 'phoneNumbers', value: { type: 'mobile', value: '1' } },
    { op: 'replace', path: 'emails[type eq "work"].value', value: 'a@work.test' },
    { op: 'remove', path: 'name.familyName' },
  )(quirks)
  groupPatched({ op: 'remove', path: 'members[value eq "u-1"]' }, { op: 'remove', path: 'members' })(quirks)
  found('userName eq "bo" and not (active eq true)', {})(quirks)
  t.strictSame([...quirks], [])
})
