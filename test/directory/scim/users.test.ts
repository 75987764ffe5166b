/** What a POST and a PUT of a user are read as. */
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import type { Quirks } from '../../../src/directory/scim/quirks.js'
import { readUser, replaceUser, type UserFields } from '../../../src/directory/scim/users.js'
import { ENTERPRISE, userBody } from '../../support/schemas/scim-bodies.js'

const read = (fields: object, quirks: Quirks = new Set()) => readUser(userBody(fields), quirks)
const scimTypeOf = (read: unknown) => (read instanceof ScimError ? read.scimType : read)

const WHOLE = {
  name: { formatted: 'Dr Ann Lee', familyName: 'Lee', givenName: 'Ann' },
  displayName: 'Ann',
  profileUrl: 'https://ann.test/',
  preferredLanguage: 'de-CH, en;q=0.5',
  emails: [
    { value: 'ann@work.test', type: 'work', primary: true },
    { value: 'ann@home.test', type: 'home', primary: false },
  ],
  addresses: [
    { type: 'work', streetAddress: '1 Road', locality: 'Town', postalCode: '04711', country: 'US' },
  ],
  x509Certificates: [{ value: 'MIIDQzCCAqygAwIBAgICEAAwDQYJKoZIhvcNAQEFBQAwTjELMAkGA1UEBhMCVVMx' }],
  [ENTERPRISE]: { employeeNumber: '701984', manager: { value: 'm-1', $ref: '../Users/m-1' } },
}

test('a user keeps everything that the schemas know, apart from its three fields', async (t) => {
  const user = read({ userName: 'ann', externalId: 'e-1', active: false, ...WHOLE })
  t.strictSame(user, { userName: 'ann', externalId: 'e-1', active: false, document: WHOLE })
})

test('what the schemas do not know, what is read-only and the password are left out', async (t) => {
  const user = read({
    userName: 'ann',
    id: 'chosen',
    meta: { created: '2011-08-01T18:29:49.793Z' },
    groups: [{ value: 'g-1' }],
    password: 'secret',
    shoeSize: 43,
    'urn:example:params:scim:schemas:Pet': { name: 'Rex' },
    name: { nick: 'A', givenName: 'Ann' },
    [ENTERPRISE]: { manager: { value: 'm-1', displayName: 'Mo' }, salary: 1 },
  })
  t.strictSame(user, {
    userName: 'ann',
    externalId: null,
    active: true,
    document: { name: { givenName: 'Ann' }, [ENTERPRISE]: { manager: { value: 'm-1' } } },
  })
})

test('null, an empty list and an object of nothing are no values', async (t) => {
  const user = read({
    userName: 'ann',
    title: null,
    roles: [],
    name: { givenName: null },
    emails: [null, {}],
  })
  t.strictSame(user, { userName: 'ann', externalId: null, active: true, document: {} })
})

const REFUSED: Readonly<Record<string, readonly [body: unknown, scimType: string]>> = {
  'no object': [[userBody({ userName: 'ann' })], 'invalidSyntax'],
  'no userName': [userBody({ displayName: 'Ann' }), 'invalidValue'],
  'a userName of blanks': [userBody({ userName: ' ' }), 'invalidValue'],
  'a userName that is an object': [userBody({ userName: { value: 'ann' } }), 'invalidValue'],
  'a userName longer than keys may be': [userBody({ userName: 'a'.repeat(513) }), 'invalidValue'],
  'a name given in two spellings': [userBody({ userName: 'ann', USERNAME: 'bo' }), 'invalidSyntax'],
  'a sub-attribute given in two spellings': [
    userBody({ userName: 'ann', name: { givenName: 'A', GivenName: 'B' } }),
    'invalidSyntax',
  ],
  'a boolean that is none': [userBody({ userName: 'ann', active: 'yes' }), 'invalidValue'],
  'a text where an object belongs': [userBody({ userName: 'ann', name: 'Ann' }), 'invalidValue'],
  'two primary values': [
    userBody({
      userName: 'ann',
      emails: [
        { value: 'a', primary: true },
        { value: 'b', primary: true },
      ],
    }),
    'invalidValue',
  ],
  'half of a surrogate pair': [userBody({ userName: 'ann\ud800' }), 'invalidValue'],
  'a NUL': [userBody({ userName: 'an\0n' }), 'invalidValue'],
  'more than 100 values': [
    userBody({ userName: 'ann', emails: Array.from({ length: 101 }, (_, i) => ({ value: `${i}` })) }),
    'tooMany',
  ],
}

for (const [what, [body, scimType]] of Object.entries(REFUSED)) {
  test(`a user with ${what} is refused`, async (t) => {
    t.equal(scimTypeOf(readUser(body, new Set())), scimType)
  })
}

test('a user of more than 64 KiB is too large', async (t) => {
  const photos = Array.from({ length: 2 }, (_, i) => ({ value: `${i}${'x'.repeat(40_000)}` }))
  const refused = read({ userName: 'ann', photos })
  t.match(refused, { status: 413, scimType: null })
})

test('a list has no value twice: the later one of the same value and type adds to the earlier', async (t) => {
  const user = read({
    userName: 'ann',
    emails: [
      { value: 'a', type: 'work' },
      { value: 'a', type: 'home' },
      { value: 'a', type: 'work', display: 'A' },
    ],
  })
  t.strictSame((user as UserFields).document.emails, [
    { value: 'a', type: 'work', display: 'A' },
    { value: 'a', type: 'home' },
  ])
})

test('a PUT clears what it omits, and is the same record when it says the same', async (t) => {
  const current = read({ userName: 'ann', externalId: 'e-1', ...WHOLE }) as UserFields
  const quirks: Quirks = new Set()
  const same = userBody({ userName: 'ann', externalId: 'e-1', active: true, ...WHOLE })
  t.equal(replaceUser(current, same, quirks), current)
  t.strictSame(replaceUser(current, userBody({ userName: 'bo', active: false }), quirks), {
    userName: 'bo',
    externalId: null,
    active: false,
    document: {},
  })
  t.strictSame([...quirks], [])
})

test('a PUT without a userName is refused', async (t) => {
  const current = read({ userName: 'ann' }) as UserFields
  t.equal(scimTypeOf(replaceUser(current, userBody({ userame: 'bo' }), new Set())), 'invalidValue')
})
