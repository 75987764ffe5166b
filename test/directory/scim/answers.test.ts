/** What clients are shown: resources, parts of them, their order, and what the service tells of itself. */
import { test } from 'tap'
import { resourceTypes, schemas, serviceProviderConfig } from '../../../src/directory/scim/discovery.js'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseProjection } from '../../../src/directory/scim/projection.js'
import { etagOf, listResponse, renderGroup, renderUser } from '../../../src/directory/scim/rendering.js'
import { parseSort } from '../../../src/directory/scim/sorting.js'
import type { Member, ScimDocument } from '../../../src/store/directory-store.js'
import { ENTERPRISE, GROUP, USER } from '../../support/schemas/scim-bodies.js'

const BASE = 'https://sluice.test/api/v1/scim/v2'
const MEMBER: Member = {
  id: 'u-1',
  organizationId: 'o-1',
  connectionId: 'c-1',
  version: 3,
  userName: 'ann',
  externalId: null,
  active: false,
  document: {
    name: { givenName: 'Ann', familyName: 'Lee' },
    emails: [{ type: 'work', value: 'a@test' }, { type: 'home' }],
    [ENTERPRISE]: { department: 'Sales', division: 'D' },
  },
  createdAt: 0,
  updatedAt: 1_500,
  deletedAt: null,
}
const ANN = renderUser(MEMBER, BASE, [{ id: 'g-1', displayName: 'Staff' }])

test('a user is shown with its schemas, groups and meta', async (t) => {
  t.strictSame(ANN, {
    schemas: [USER, ENTERPRISE],
    id: 'u-1',
    userName: 'ann',
    ...MEMBER.document,
    active: false,
    groups: [{ value: 'g-1', $ref: `${BASE}/Groups/g-1`, display: 'Staff', type: 'direct' }],
    meta: {
      resourceType: 'User',
      created: '1970-01-01T00:00:00.000Z',
      lastModified: '1970-01-01T00:00:01.500Z',
      location: `${BASE}/Users/u-1`,
      version: 'W/"3"',
    },
  })
  const bare = renderUser({ ...MEMBER, externalId: 'e-1', document: {} }, BASE, [])
  t.strictSame(Object.keys(bare), ['schemas', 'id', 'externalId', 'userName', 'active', 'meta'])
  t.strictSame(bare.schemas, [USER])
})

test('a group is shown with its members, by the names the directory gave them', async (t) => {
  const group = { ...MEMBER, connectionId: 'c-1', displayName: 'Staff', document: {}, memberCount: 2 }
  const shown = renderGroup(group, BASE, [{ memberId: 'u-1', display: 'Ann' }, { memberId: 'u-2' }])
  t.match(shown, { schemas: [GROUP], displayName: 'Staff', meta: { resourceType: 'Group' } })
  t.strictSame(shown.members, [
    { value: 'u-1', $ref: `${BASE}/Users/u-1`, display: 'Ann', type: 'User' },
    { value: 'u-2', $ref: `${BASE}/Users/u-2`, type: 'User' },
  ])
  t.notOk('members' in renderGroup(group, BASE, []))
  t.equal(etagOf(7), 'W/"7"')
})

test('a page tells where it begins and how many there are, also when it is empty', async (t) => {
  t.match(listResponse([ANN], 12, 5), { totalResults: 12, startIndex: 5, itemsPerPage: 1, Resources: [ANN] })
  t.strictSame(listResponse([], 0, 1).Resources, [])
})

const shown = (attributes: string | undefined, excluded?: string) =>
  parseProjection(attributes, excluded, 'User', new Set()).of(ANN)
const keysOf = (document: ScimDocument) => Object.keys(document).sort()

test('`attributes` shows these, and what no resource can do without', async (t) => {
  t.strictSame(keysOf(shown('userName,emails')), ['emails', 'id', 'schemas', 'userName'])
  t.strictSame(shown(' name.givenName , name.FAMILYNAME').name, MEMBER.document.name)
  t.strictSame(shown('name.givenName').name, { givenName: 'Ann' })
  t.strictSame(shown('emails.value').emails, [{ value: 'a@test' }])
  t.strictSame(shown(`${ENTERPRISE}:department`)[ENTERPRISE], { department: 'Sales' })
  t.strictSame(shown(ENTERPRISE)[ENTERPRISE], MEMBER.document[ENTERPRISE])
  t.strictSame(shown('name,name.givenName').name, MEMBER.document.name)
  t.strictSame(keysOf(shown('shoeSize,,password')), ['id', 'schemas'])
})

test('`excludedAttributes` leaves these out, but never the id', async (t) => {
  t.strictSame(keysOf(shown(undefined, 'id,schemas,emails,groups,meta,name,active')), [
    'id',
    'schemas',
    ENTERPRISE,
    'userName',
  ])
  t.strictSame(shown(undefined, 'emails.value,name.givenName').emails, [{ type: 'work' }, { type: 'home' }])
  t.strictSame(shown(undefined, `${ENTERPRISE}:division`)[ENTERPRISE], { department: 'Sales' })
  t.strictSame(keysOf(shown('userName,emails', 'emails')), ['id', 'schemas', 'userName'])
})

test('a projection says whether a list need be read, and whether it was asked for', async (t) => {
  const wants = (attributes?: string, excluded?: string) =>
    parseProjection(attributes, excluded, 'Group', new Set()).wants('members')
  t.equal(wants(), true)
  t.equal(wants('displayName'), false)
  t.equal(wants('members.value'), true)
  t.equal(wants(undefined, 'members'), false)
  t.equal(wants(undefined, 'members.display'), true)
  t.equal(parseProjection(undefined, undefined, 'User', new Set()).asked, false)
  t.equal(parseProjection('', undefined, 'User', new Set()).asked, true)
})

test('resources are sorted by an attribute, those without it last', async (t) => {
  const users: ScimDocument[] = [
    { id: '1', name: { familyName: 'b' }, emails: [{ value: 'z' }, { value: 'a', primary: true }] },
    { id: '2', name: { familyName: 'C' }, emails: [{ value: 'm' }], externalId: 'B' },
    { id: '3', externalId: 'a' },
    { id: '4', name: { familyName: 'A' }, [ENTERPRISE]: { department: 'x' } },
  ]
  const order = (sortBy: string, sortOrder?: string) => {
    const order = parseSort(sortBy, sortOrder, 'User', new Set())
    return order instanceof ScimError
      ? order
      : users
          .toSorted((a, b) => order.compare(order.keyOf(a), order.keyOf(b)))
          .map(({ id }) => id)
          .join('')
  }
  t.equal(order('name.familyName'), '4123')
  t.equal(order('name.familyName', 'descending'), '3214')
  t.equal(order('emails'), '1234')
  t.equal(order('emails.value', 'ascending'), '1234')
  t.equal(order('externalId'), '2314')
  t.equal(order(`${ENTERPRISE}:department`), '4123')
  t.match(order('shoeSize'), { scimType: 'invalidPath' })
  t.match(order('password'), { scimType: 'invalidPath' })
  t.match(order(ENTERPRISE), { scimType: 'invalidPath' })
})

test('the service tells what it supports', async (t) => {
  t.match(serviceProviderConfig(BASE), {
    patch: { supported: true },
    bulk: { supported: false },
    filter: { supported: true, maxResults: 200 },
    etag: { supported: true },
  })
  t.strictSame(
    resourceTypes(BASE).map(({ endpoint }) => endpoint),
    ['/Users', '/Groups'],
  )
})

interface Definition {
  readonly name: string
  readonly mutability: string
  readonly returned: string
  readonly caseExact?: boolean
  readonly subAttributes?: readonly Definition[]
}

test('Schemas has the attributes of RFC 7643 8.7, with their case and mutability', async (t) => {
  const all = schemas(BASE)
  t.strictSame(
    all.map(({ id }) => id),
    [USER, ENTERPRISE, GROUP],
  )
  t.equal(all[0]!.description, 'User Account')
  const attributesOf = (index: number) => all[index]!.attributes as unknown as readonly Definition[]
  const named = (list: readonly Definition[], name: string) => list.find((one) => one.name === name)!
  t.equal(attributesOf(0).length, 21)
  t.match(named(attributesOf(0), 'userName'), { required: true, caseExact: false, uniqueness: 'server' })
  t.match(named(attributesOf(0), 'password'), { mutability: 'writeOnly', returned: 'never' })
  t.match(named(attributesOf(0), 'groups'), { mutability: 'readOnly', multiValued: true })
  t.match(named(named(attributesOf(0), 'emails').subAttributes!, 'type'), {
    canonicalValues: ['work', 'home', 'other'],
  })
  t.notOk('caseExact' in named(attributesOf(0), 'active'))
  t.match(named(named(attributesOf(1), 'manager').subAttributes!, 'displayName'), { mutability: 'readOnly' })
  t.match(named(named(attributesOf(2), 'members').subAttributes!, 'value'), { mutability: 'immutable' })
})
