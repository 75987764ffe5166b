/** Filters: what they find, what the store is asked for, what is refused. */
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseFilter, type ScimFilter } from '../../../src/directory/scim/filter.js'
import { renderGroup, renderUser } from '../../../src/directory/scim/rendering.js'
import type { ScimDocument } from '../../../src/store/directory-store.js'
import { ENTERPRISE } from '../../support/schemas/scim-bodies.js'

const BASE = 'https://sluice.test/api/v1/scim/v2'
const ANN = renderUser(
  {
    id: 'u-1',
    organizationId: 'o-1',
    connectionId: 'c-1',
    version: 3,
    userName: 'Ann@Straße.test',
    externalId: 'E-1',
    active: true,
    document: {
      name: { familyName: "O'Malley", givenName: 'Ann' },
      title: 'Say "hi"',
      emails: [
        { type: 'work', value: 'ann@work.test', primary: true },
        { type: 'home', value: 'ann@home.test' },
      ],
      x509Certificates: [{ value: 'AbC=' }],
      [ENTERPRISE]: { department: 'Sales', manager: { value: 'm-1' } },
    },
    createdAt: Date.UTC(2011, 7, 1, 18, 29, 49, 793),
    updatedAt: Date.UTC(2011, 7, 1, 18, 29, 49, 793),
    deletedAt: null,
  },
  BASE,
  [{ id: 'g-1', displayName: 'Staff' }],
)

const parse = (text: string, type: 'User' | 'Group' = 'User') =>
  parseFilter(text, type, new Set()) as ScimFilter
const finds = (text: string) => parse(text).matches(ANN)

const FINDS: readonly string[] = [
  'userName eq "ann@strasse.TEST"',
  'userName ne "bo"',
  'userName co "STRASS"',
  'userName sw "ann@"',
  'userName ew ".test"',
  'userName gt "ann"',
  'userName ge "ann@straße.test"',
  'userName lt "b"',
  'userName le "ANN@STRASSE.TEST"',
  'externalId eq "E-1"',
  'id eq "u-1"',
  'name.familyName co "O\'Malley"',
  'urn:ietf:params:scim:schemas:core:2.0:User:userName sw "A"',
  `${ENTERPRISE}:department eq "sales"`,
  `${ENTERPRISE}:manager eq "m-1"`,
  `${ENTERPRISE}:manager.value eq "m-1"`,
  'title pr',
  'title eq "say \\"HI\\""',
  'title eq "say \\u0022hi\\u0022"',
  'name pr',
  'emails pr',
  'active pr',
  'not (nickName pr)',
  'nickName eq null',
  'nickName ne "x"',
  'title ne null',
  'active eq true',
  'active ne false',
  'emails eq "ann@work.test"',
  'emails.type eq "HOME"',
  'emails[type eq "work" and value co "@work.test"]',
  'emails[not (type eq "work") and not (primary pr)]',
  'groups.value eq "g-1"',
  'groups[display eq "staff"]',
  'x509Certificates.value eq "AbC="',
  'schemas eq "urn:ietf:params:scim:schemas:core:2.0:User"',
  'meta.resourceType eq "User"',
  'meta.lastModified eq "2011-08-01T18:29:49.793Z"',
  'meta.lastModified eq "2011-08-01T20:29:49.793+02:00"',
  'meta.lastModified gt "2011-05-13T04:42:34Z"',
  'meta.lastModified ge "2011-08-01T18:29:49.7929999Z"',
  'meta.created lt "2011-08-01T18:29:49.7930001Z"',
  'title pr and userName sw "A" or userName eq "x"',
  'userName eq "x" or title pr and userName sw "A"',
  '(userName eq "x" or title pr) and (active eq true)',
  'USERNAME EQ "ann@straße.test" AND NOT (active eq false)',
]

const FINDS_NOT: readonly string[] = [
  'userName eq "ann"',
  'externalId eq "e-1"',
  'x509Certificates.value eq "abc="',
  'nickName pr',
  'nickName eq "x"',
  'nickName co ""',
  'nickName lt "x"',
  'emails[type eq "home" and primary eq true]',
  'emails[type eq "work" and value ew "home.test"]',
  'not (title pr)',
  'title pr and (userName eq "x" or active eq false)',
  'userName eq "x" and title pr or active eq false',
  'meta.lastModified gt "2011-08-01T18:29:49.793Z"',
  'meta.lastModified ge "2011-08-01T18:29:49.7930001Z"',
]

test('a filter finds by type, case rule and precedence', async (t) => {
  for (const text of FINDS) t.equal(finds(text), true, text)
  for (const text of FINDS_NOT) t.equal(finds(text), false, text)
})

const REFUSED: readonly string[] = [
  '',
  ' ',
  'userName',
  'userName eq',
  'eq "x"',
  'userName is "x"',
  'userName eq "x',
  'userName eq "x" and',
  'userName eq "x" "y"',
  'userName eq "x" title pr',
  '(userName eq "x"',
  'userName eq "x")',
  'emails[type eq "work"',
  'emails[type eq "work"].',
  'emails[type eq "work"].value',
  'emails[type eq "work"].shoeSize eq "x"',
  'emails[type eq "work"].value eq "x" "y"',
  'emails[type eq "work"]value eq "x"',
  'emails[emails[type eq "work"]]',
  'userName[value eq "x"]',
  'not userName eq "x"',
  'userName eq "\\q"',
  'userName eq ("x")',
  'shoeSize eq "43"',
  'name.nick eq "x"',
  'name eq "x"',
  'password sw "a"',
  'active gt false',
  'active eq "perhaps"',
  'active co "t"',
  'meta.created co "2011"',
  'meta.created gt "yesterday"',
  'meta.created gt "2011-13-01T00:00:00Z"',
  'x509Certificates.value gt "A"',
  'title gt null',
  `${'('.repeat(17)}title pr${')'.repeat(17)}`,
  Array.from({ length: 101 }, () => 'title pr').join(' or '),
  `title eq "${'x'.repeat(4_096)}"`,
]

test('a filter that is malformed, or names what cannot be compared so, is 400 invalidFilter', async (t) => {
  for (const text of REFUSED) {
    const refused = parseFilter(text, 'User', new Set())
    t.match(refused, { status: 400, scimType: 'invalidFilter' }, text.slice(0, 60))
    t.ok(refused instanceof ScimError)
  }
})

test('a filter as deep and as long as allowed is taken', async (t) => {
  t.equal(finds(`${'('.repeat(15)}title pr${')'.repeat(15)}`), true)
  t.equal(finds(Array.from({ length: 100 }, () => 'title pr').join(' and ')), true)
})

const LOOKUPS: readonly (readonly [type: 'User' | 'Group', text: string, lookup: object, exact: boolean])[] =
  [
    ['User', 'userName eq "Ann"', { by: 'userName', value: 'Ann' }, true],
    ['User', 'externalId eq "E-1"', { by: 'externalId', value: 'E-1' }, true],
    ['User', 'id eq "u-1"', { by: 'id', value: 'u-1' }, true],
    ['User', '(userName eq Ann)', { by: 'userName', value: 'Ann' }, true],
    ['User', 'active eq true and userName eq "Ann"', { by: 'userName', value: 'Ann' }, false],
    ['User', 'displayName eq "Ann"', { by: 'all' }, false],
    ['User', 'userName eq "a" or userName eq "b"', { by: 'all' }, false],
    ['User', 'not (userName eq "a")', { by: 'all' }, false],
    ['User', 'userName eq null', { by: 'all' }, false],
    ['User', `${ENTERPRISE}:department eq "a"`, { by: 'all' }, false],
    ['Group', 'displayName eq "Staff"', { by: 'displayName', value: 'Staff' }, true],
    ['Group', 'id eq "g-1" and members eq "u-1"', { by: 'id', value: 'g-1' }, false],
  ]

test('the store is asked by an index where one answers', async (t) => {
  for (const [type, text, lookup, exact] of LOOKUPS) {
    t.match(parse(text, type), { lookup, exact }, text)
    t.equal(Object.keys(parse(text, type).lookup).length, Object.keys(lookup).length)
  }
})

test('the membership of one user is asked of the store, not of a list of all', async (t) => {
  const group: ScimDocument = renderGroup(
    {
      id: 'g-1',
      organizationId: 'o-1',
      connectionId: 'c-1',
      version: 1,
      displayName: 'Staff',
      externalId: null,
      document: {},
      memberCount: 5_000,
      createdAt: 0,
      updatedAt: 0,
    },
    BASE,
    [],
  )
  for (const text of [
    'members eq "u-1"',
    'members.value eq "u-1"',
    'members[value eq "u-1"]',
    'Members[Value eq "u-1"]',
  ]) {
    const filter = parse(`displayName eq "staff" and ${text}`, 'Group')
    t.equal(filter.reads('members'), false, text)
    const asked: string[] = []
    t.equal(
      filter.matches(group, (id) => asked.push(id) > 0),
      true,
    )
    t.equal(
      filter.matches(group, () => false),
      false,
    )
    t.strictSame(asked, ['u-1'])
  }
  t.equal(parse('members.display sw "A"', 'Group').reads('members'), true)
  t.equal(parse('groups.value eq "g-1"').reads('groups'), true)
  t.equal(parse('userName eq "x"').reads('groups'), false)
})
