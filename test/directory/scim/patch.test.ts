/** PATCH of a user, sentence by sentence of RFC 7644 3.5.2. */
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { patchUser, type UserFields } from '../../../src/directory/scim/users.js'
import { ENTERPRISE, patchBody } from '../../support/schemas/scim-bodies.js'

const WORK = { type: 'work', value: 'ann@work.test', primary: true }
const HOME = { type: 'home', value: 'ann@home.test' }
const ANN: UserFields = {
  userName: 'ann',
  externalId: 'e-1',
  active: true,
  document: {
    name: { familyName: 'Lee', givenName: 'Ann' },
    emails: [WORK, HOME],
    addresses: [{ type: 'work', locality: 'Town', country: 'US' }],
    [ENTERPRISE]: { department: 'Sales', manager: { value: 'm-1' } },
  },
}
const { name, emails, addresses, [ENTERPRISE]: enterprise } = ANN.document

interface Case {
  readonly says: string
  readonly operations: readonly object[]
  /** Fields of the document that are other than before; undefined for what is gone. */
  readonly document?: object
  readonly fields?: Partial<UserFields>
}

const CASES: readonly Case[] = [
  {
    says: 'add sets an attribute that was not there',
    operations: [{ op: 'add', path: 'title', value: 'Dr' }],
    document: { title: 'Dr' },
  },
  {
    says: 'add replaces the value of a single-valued attribute',
    operations: [{ op: 'add', path: 'userName', value: 'bo' }],
    fields: { userName: 'bo' },
  },
  {
    says: 'add to a complex attribute adds sub-attributes',
    operations: [{ op: 'add', path: 'name', value: { middleName: 'M', givenName: 'Bo' } }],
    document: { name: { familyName: 'Lee', givenName: 'Bo', middleName: 'M' } },
  },
  {
    says: 'add to a list appends, and adds nothing twice',
    operations: [{ op: 'add', path: 'emails', value: [HOME, { type: 'other', value: 'o' }] }],
    document: { emails: [WORK, HOME, { type: 'other', value: 'o' }] },
  },
  {
    says: 'a value added as primary takes that from the others',
    operations: [{ op: 'add', path: 'emails', value: [{ type: 'other', value: 'o', primary: true }] }],
    document: { emails: [{ ...WORK, primary: false }, HOME, { type: 'other', value: 'o', primary: true }] },
  },
  {
    says: 'a sub-attribute that makes a value primary takes that from the others',
    operations: [{ op: 'replace', path: 'emails[type eq "home"].primary', value: true }],
    document: {
      emails: [
        { ...WORK, primary: false },
        { ...HOME, primary: true },
      ],
    },
  },
  {
    says: 'add without path adds every attribute of its value',
    operations: [
      { op: 'add', value: { title: 'Dr', emails: [{ value: 'o' }], groups: [{ value: 'g' }], id: 'x' } },
    ],
    document: { title: 'Dr', emails: [WORK, HOME, { value: 'o' }] },
  },
  {
    says: 'replace of a list puts the new values in its place',
    operations: [{ op: 'replace', path: 'emails', value: [{ value: 'o' }] }],
    document: { emails: [{ value: 'o' }] },
  },
  {
    says: 'replace of a complex attribute leaves the sub-attributes that it does not name',
    operations: [{ op: 'replace', path: 'name', value: { familyName: 'Ray' } }],
    document: { name: { familyName: 'Ray', givenName: 'Ann' } },
  },
  {
    says: 'replace of the values that a filter selects replaces them whole',
    operations: [{ op: 'replace', path: 'emails[type eq "work"]', value: { type: 'other', value: 'o' } }],
    document: { emails: [{ type: 'other', value: 'o' }, HOME] },
  },
  {
    says: 'replace of a sub-attribute of selected values replaces no more',
    operations: [
      { op: 'replace', path: 'emails[value ew "WORK.TEST" and primary eq true].value', value: 'o' },
    ],
    document: { emails: [{ ...WORK, value: 'o' }, HOME] },
  },
  {
    says: 'replace of a sub-attribute of a list replaces it in all values',
    operations: [{ op: 'replace', path: 'emails.type', value: 'other' }],
    document: {
      emails: [
        { ...WORK, type: 'other' },
        { ...HOME, type: 'other' },
      ],
    },
  },
  {
    says: 'replace of what is not there adds it',
    operations: [{ op: 'replace', path: 'phoneNumbers', value: [{ value: '1' }] }],
    document: { phoneNumbers: [{ value: '1' }] },
  },
  {
    says: 'replace with null or an empty list removes',
    operations: [
      { op: 'replace', path: 'emails', value: [] },
      { op: 'replace', path: 'name.givenName', value: null },
      { op: 'replace', path: 'externalId', value: null },
    ],
    document: { emails: undefined, name: { familyName: 'Lee' } },
    fields: { externalId: null },
  },
  {
    says: 'remove takes an attribute, a sub-attribute, or the last one with what held it',
    operations: [
      { op: 'remove', path: 'emails' },
      { op: 'remove', path: 'name.givenName' },
      { op: 'remove', path: `${ENTERPRISE}:manager.value` },
    ],
    document: { emails: undefined, name: { familyName: 'Lee' }, [ENTERPRISE]: { department: 'Sales' } },
  },
  {
    says: 'remove with a filter takes the selected values, or a part of them',
    operations: [
      { op: 'remove', path: 'emails[type eq "work"]' },
      { op: 'remove', path: 'addresses[country eq "us"].locality' },
    ],
    document: { emails: [HOME], addresses: [{ type: 'work', country: 'US' }] },
  },
  {
    says: 'remove of what a filter does not find, or is not there, changes nothing',
    operations: [
      { op: 'remove', path: 'emails[type eq "other"]' },
      { op: 'remove', path: 'title' },
    ],
  },
  {
    says: 'an extension is changed and removed as a whole by its URN',
    operations: [
      { op: 'replace', path: ENTERPRISE, value: { department: 'Ops', costCenter: '7' } },
      { op: 'remove', path: ENTERPRISE },
      { op: 'add', path: ENTERPRISE, value: { division: 'D' } },
    ],
    document: { [ENTERPRISE]: { division: 'D' } },
  },
  {
    says: 'the URN of the core schema may stand before a name',
    operations: [
      { op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:name.givenName', value: 'Bo' },
    ],
    document: { name: { familyName: 'Lee', givenName: 'Bo' } },
  },
  {
    says: 'operations follow one another',
    operations: [
      { op: 'remove', path: 'emails[type eq "work"]' },
      { op: 'add', path: 'emails', value: [WORK] },
    ],
    document: { emails: [HOME, WORK] },
  },
  {
    says: 'a password is taken and forgotten',
    operations: [{ op: 'replace', path: 'password', value: 'secret' }],
  },
  {
    says: 'removing `active` lets nobody in and nobody out',
    operations: [{ op: 'remove', path: 'active' }],
  },
]

for (const { says, operations, document = {}, fields = {} } of CASES) {
  test(says, async (t) => {
    const before = structuredClone(ANN)
    const after = patchUser(ANN, patchBody(...operations), new Set())
    const entries = Object.entries({ ...ANN.document, ...document }).filter(
      ([, value]) => value !== undefined,
    )
    t.same(after, { ...ANN, ...fields, document: Object.fromEntries(entries) })
    t.strictSame(ANN, before, 'what was given is not changed')
  })
}

test('a PATCH that changes nothing gives back the very user', async (t) => {
  const same = patchBody(
    { op: 'add', path: 'emails', value: [HOME] },
    { op: 'replace', path: 'name', value: name },
    { op: 'replace', path: 'addresses', value: addresses },
    { op: 'replace', path: ENTERPRISE, value: enterprise },
  )
  t.equal(patchUser(ANN, same, new Set()), ANN)
  t.equal((ANN.document.emails as object[]).length, (emails as object[]).length)
})

const REFUSED: Readonly<Record<string, readonly [operation: unknown, scimType: string]>> = {
  'an operation that is none': [7, 'invalidSyntax'],
  'an unknown op': [{ op: 'move', path: 'title', value: 'x' }, 'invalidSyntax'],
  'a missing op': [{ path: 'title', value: 'x' }, 'invalidSyntax'],
  'a path that is no text': [{ op: 'add', path: ['title'], value: 'x' }, 'invalidPath'],
  'a path with blanks': [{ op: 'add', path: 'job title', value: 'x' }, 'invalidPath'],
  'a path of three levels': [{ op: 'add', path: 'name.given.name', value: 'x' }, 'invalidPath'],
  'a path without its bracket': [
    { op: 'add', path: 'emails[type eq "work".value', value: 'x' },
    'invalidPath',
  ],
  'a path with something behind its filter': [
    { op: 'add', path: 'emails[type eq "work"]value', value: 'x' },
    'invalidPath',
  ],
  'a filter on an attribute of one value': [
    { op: 'add', path: 'name[givenName eq "x"]', value: {} },
    'invalidPath',
  ],
  'a path longer than 1,000 characters': [{ op: 'add', path: 'a'.repeat(1_001), value: 'x' }, 'invalidPath'],
  'a filter that is none': [{ op: 'remove', path: 'emails[type work]' }, 'invalidFilter'],
  'a filter by an unknown sub-attribute': [{ op: 'remove', path: 'emails[kind eq "work"]' }, 'invalidFilter'],
  'a removal without path': [{ op: 'remove', value: { title: 'x' } }, 'noTarget'],
  'a filter that finds nothing and describes nothing': [
    { op: 'replace', path: 'emails[type ne "work" and type ne "home"].value', value: 'x' },
    'noTarget',
  ],
  'an id': [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
  'a part of meta': [{ op: 'add', path: 'meta.created', value: '2020-01-01T00:00:00Z' }, 'mutability'],
  'groups of a user': [{ op: 'add', path: 'groups', value: [{ value: 'g' }] }, 'mutability'],
  "a manager's displayName": [
    { op: 'add', path: `${ENTERPRISE}:manager.displayName`, value: 'x' },
    'mutability',
  ],
  'the removal of the userName': [{ op: 'remove', path: 'userName' }, 'mutability'],
  'a value of another type': [{ op: 'replace', path: 'active', value: 1 }, 'invalidValue'],
  'an object for a text': [{ op: 'replace', path: 'title', value: { a: 1 } }, 'invalidValue'],
  'no value': [{ op: 'add', path: 'title' }, 'invalidValue'],
  'neither path nor an object': [{ op: 'add', value: 'x' }, 'invalidValue'],
  'two primary values': [{ op: 'replace', path: 'emails.primary', value: true }, 'invalidValue'],
}

for (const [what, [operation, scimType]] of Object.entries(REFUSED)) {
  test(`a PATCH of ${what} is 400 ${scimType}`, async (t) => {
    const first = { op: 'replace', path: 'title', value: 'x' }
    const refused = patchUser(ANN, patchBody(first, operation as object), new Set())
    t.match(refused, { status: 400, scimType })
    t.ok(refused instanceof ScimError)
  })
}

test('a body without a list of operations is refused', async (t) => {
  for (const body of [null, 'x', [], {}, { Operations: {} }, { Operations: 'add' }]) {
    t.match(patchUser(ANN, body, new Set()), { status: 400, scimType: 'invalidSyntax' })
  }
})
