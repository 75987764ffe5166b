/**
 * What directories send in the life of a user and a group: probe, creation, changes, deactivation. Written by hand after
 * what their makers publish; each ends with the user, the members, and the leniencies that this directory needs.
 */
import { test } from 'tap'
import { ScimError } from '../../../src/directory/scim/errors.js'
import { parseFilter } from '../../../src/directory/scim/filter.js'
import { type GroupFields, patchGroup, readGroup } from '../../../src/directory/scim/groups.js'
import type { QuirkName, Quirks } from '../../../src/directory/scim/quirks.js'
import { patchUser, readUser, replaceUser, type UserFields } from '../../../src/directory/scim/users.js'
import type { MembershipChange } from '../../../src/store/directory-store.js'
import { ENTERPRISE, GROUP, patchBody, USER } from '../../support/schemas/scim-bodies.js'

/** A directory's requests about one user and one group, carried out one after another. */
class Life {
  readonly quirks: Quirks = new Set()
  user: UserFields | null = null
  group: GroupFields | null = null
  members: readonly string[] = []

  /** Whether the user is found. */
  probe(filter: string): boolean {
    const parsed = taken(parseFilter(filter, 'User', this.quirks))
    return this.user !== null && parsed.matches({ id: 'u-1', ...this.user.document, ...this.user } as never)
  }
  postUser(body: object): this {
    this.user = taken(readUser(body, this.quirks))
    return this
  }
  putUser(body: object): this {
    this.user = taken(replaceUser(this.user!, body, this.quirks))
    return this
  }
  patchUser(...operations: readonly object[]): this {
    this.user = taken(patchUser(this.user!, patchBody(...operations), this.quirks))
    return this
  }
  postGroup(body: object): this {
    const { group, members } = taken(readGroup(body, this.quirks))
    this.group = group
    this.members = members.members
    return this
  }
  patchGroup(...operations: readonly object[]): this {
    const { group, members } = taken(patchGroup(this.group!, patchBody(...operations), this.quirks))
    this.group = group
    this.members = members.reduce(after, this.members)
    return this
  }
}

function taken<T>(read: T | ScimError): T {
  if (read instanceof ScimError) throw new Error(`refused: ${read.detail}`)
  return read
}

function after(present: readonly string[], { op, members }: MembershipChange): readonly string[] {
  if (op === 'remove') return present.filter((id) => !members.includes(id))
  return op === 'replace' ? members : [...new Set([...present, ...members])]
}

interface Recording {
  readonly play: (life: Life) => Life
  readonly user: object
  readonly group: object
  readonly members: readonly string[]
  readonly quirks: readonly QuirkName[]
}

const POSTED_BY_ENTRA = {
  schemas: [USER, ENTERPRISE],
  externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
  userName: 'Ann@contoso.test',
  active: true,
  emails: [{ primary: true, type: 'work', value: 'Ann@contoso.test' }],
  meta: { resourceType: 'User' },
  name: { formatted: 'Ann Lee', familyName: 'Lee', givenName: 'Ann' },
  roles: [],
}
const { schemas: _, active: __, userName, externalId, meta: ___, roles: ____, ...document } = POSTED_BY_ENTRA

const RECORDINGS: Readonly<Record<string, Recording>> = {
  'Entra, as it sends by default': {
    play: (life) =>
      life
        .postUser(POSTED_BY_ENTRA)
        .patchUser(
          { op: 'Replace', path: 'emails[type eq "work"].value', value: 'ann.lee@contoso.test' },
          { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555 0100' },
          { op: 'Replace', path: 'name.familyName', value: 'Ray' },
          { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Sales' },
          { op: 'Add', path: `${ENTERPRISE}:manager`, value: 'u-9' },
          { op: 'Replace', path: 'urn:contoso:2.0:User:badge', value: '7' },
        )
        .patchUser({ op: 'Remove', path: `${ENTERPRISE}:manager` })
        .patchUser({ op: 'Replace', path: 'active', value: 'False' })
        .postGroup({
          schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
          externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
          displayName: 'Staff',
          meta: { resourceType: 'Group' },
        })
        .patchGroup({
          op: 'Add',
          path: 'members',
          value: [
            { $ref: null, value: 'u-1' },
            { $ref: null, value: 'u-2' },
          ],
        })
        .patchGroup({ op: 'Remove', path: 'members', value: [{ $ref: null, value: 'u-1' }] })
        .patchGroup({ op: 'Replace', path: 'displayName', value: 'All staff' }),
    user: {
      userName,
      externalId,
      active: false,
      document: {
        ...document,
        emails: [{ primary: true, type: 'work', value: 'ann.lee@contoso.test' }],
        phoneNumbers: [{ type: 'mobile', value: '+1 555 0100' }],
        name: { formatted: 'Ann Lee', familyName: 'Ray', givenName: 'Ann' },
        [ENTERPRISE]: { department: 'Sales' },
      },
    },
    group: { displayName: 'All staff', externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159', document: {} },
    members: ['u-2'],
    quirks: [
      'boolean-as-text',
      'capitalized-op',
      'colon-path',
      'manager-as-text',
      'remove-with-value',
      'unknown-path',
      'value-path-creates',
    ],
  },
  'Entra, with the flag aadOptscim062020': {
    play: (life) =>
      life
        .postUser(POSTED_BY_ENTRA)
        .patchUser({
          op: 'replace',
          value: {
            displayName: 'Ann Ray',
            'name.familyName': 'Ray',
            [`${ENTERPRISE}:employeeNumber`]: '701984',
            'emails[type eq "work"].value': 'ann.ray@contoso.test',
          },
        })
        .patchUser({ op: 'replace', path: 'active', value: false })
        .postGroup({ schemas: [GROUP], externalId: 'g-ext', displayName: 'Staff', members: [] })
        .patchGroup({ op: 'add', path: 'members', value: [{ value: 'u-1' }, { value: 'u-2' }] })
        .patchGroup({ op: 'remove', path: 'members[value eq "u-1"]' }),
    user: {
      userName,
      externalId,
      active: false,
      document: {
        ...document,
        displayName: 'Ann Ray',
        name: { formatted: 'Ann Lee', familyName: 'Ray', givenName: 'Ann' },
        emails: [{ primary: true, type: 'work', value: 'ann.ray@contoso.test' }],
        [ENTERPRISE]: { employeeNumber: '701984' },
      },
    },
    group: { displayName: 'Staff', externalId: 'g-ext', document: {} },
    members: ['u-2'],
    quirks: ['colon-key', 'dotted-key', 'pathless-patch', 'value-path-key'],
  },
  Okta: {
    play: (life) =>
      life
        .postUser({
          schemas: [USER],
          userName: 'ann@okta.test',
          name: { givenName: 'Ann', familyName: 'Lee' },
          emails: [{ primary: true, value: 'ann@okta.test', type: 'work' }],
          displayName: 'Ann Lee',
          locale: 'en-US',
          externalId: '00ujl29u0le5T6Aj10h7',
          groups: [],
          password: '1mz050nq',
          active: true,
        })
        .putUser({
          schemas: [USER],
          id: 'u-1',
          userName: 'ann@okta.test',
          name: { givenName: 'Ann', familyName: 'Ray' },
          emails: [{ primary: true, value: 'ann@okta.test', type: 'work' }],
          locale: 'en-US',
          externalId: '00ujl29u0le5T6Aj10h7',
          groups: [],
          active: true,
          meta: { resourceType: 'User' },
        })
        .patchUser({ op: 'replace', value: { active: false } })
        .postGroup({ schemas: [GROUP], displayName: 'Staff', members: [] })
        .patchGroup({
          op: 'replace',
          path: 'members',
          value: [{ value: 'u-1', display: 'ann@okta.test' }, { value: 'u-2' }],
        })
        .patchGroup(
          { op: 'remove', path: 'members[value eq "u-1"]' },
          { op: 'add', path: 'members', value: [{ value: 'u-3', display: 'cy@okta.test' }] },
        )
        .patchGroup({ op: 'replace', value: { id: 'g-1', displayName: 'Crew' } }),
    user: {
      userName: 'ann@okta.test',
      externalId: '00ujl29u0le5T6Aj10h7',
      active: false,
      document: {
        name: { givenName: 'Ann', familyName: 'Ray' },
        emails: [{ primary: true, value: 'ann@okta.test', type: 'work' }],
        locale: 'en-US',
      },
    },
    group: { displayName: 'Crew', externalId: null, document: {} },
    members: ['u-2', 'u-3'],
    quirks: ['pathless-patch'],
  },
  'Okta, pushing a group that has become empty': {
    play: (life) =>
      life
        .postUser({ schemas: [USER], userName: 'ann@okta.test', active: true })
        .postGroup({ schemas: [GROUP], displayName: 'Staff', members: [{ value: 'u-1' }] })
        .patchGroup({ op: 'replace', path: 'members', value: [] }),
    user: { userName: 'ann@okta.test', externalId: null, active: true, document: {} },
    group: { displayName: 'Staff', externalId: null, document: {} },
    members: [],
    quirks: [],
  },
  OneLogin: {
    play: (life) =>
      life
        .postUser({
          schemas: [USER],
          userName: 'ann@onelogin.test',
          name: { givenName: 'Ann', familyName: 'Lee' },
          emails: [{ value: 'ann@onelogin.test', type: 'work', primary: true }],
        })
        .patchUser({ op: 'replace', value: { active: false } })
        .postGroup({ schemas: [GROUP], displayName: 'Staff' })
        .patchGroup({ op: 'add', path: 'members', value: [{ value: 'u-1' }, { value: 'u-2' }] })
        .patchGroup({ op: 'remove', path: 'members', value: [{ value: 'u-1' }] }),
    user: {
      userName: 'ann@onelogin.test',
      externalId: null,
      active: false,
      document: {
        name: { givenName: 'Ann', familyName: 'Lee' },
        emails: [{ value: 'ann@onelogin.test', type: 'work', primary: true }],
      },
    },
    group: { displayName: 'Staff', externalId: null, document: {} },
    members: ['u-2'],
    quirks: ['pathless-patch', 'remove-with-value'],
  },
  JumpCloud: {
    play: (life) =>
      life
        .postUser({
          schemas: [USER],
          userName: 'ann@jumpcloud.test',
          externalId: '5f0a',
          name: { givenName: 'Ann', familyName: 'Lee' },
          emails: [{ value: 'ann@jumpcloud.test', type: 'work', primary: true }],
          active: true,
        })
        .putUser({ schemas: [USER], userName: 'ann@jumpcloud.test', externalId: '5f0a', active: false })
        .putUser({ schemas: [USER], userName: 'ann@jumpcloud.test', externalId: '5f0a', displayName: 'Ann' })
        .postGroup({ schemas: [GROUP], displayName: 'Staff', members: [{ value: 'u-1' }] })
        .patchGroup({ op: 'add', path: 'members', value: [{ value: 'u-2' }] })
        .patchGroup({ op: 'remove', path: 'members', value: [{ value: 'u-1' }] }),
    user: {
      userName: 'ann@jumpcloud.test',
      externalId: '5f0a',
      active: false,
      document: { displayName: 'Ann' },
    },
    group: { displayName: 'Staff', externalId: null, document: {} },
    members: ['u-2'],
    quirks: ['put-without-active', 'remove-with-value'],
  },
}

for (const [directory, recording] of Object.entries(RECORDINGS)) {
  test(`${directory}: a user and a group from their first probe to the end`, async (t) => {
    const life = new Life()
    const probe = `userName eq "${(recording.user as UserFields).userName.toUpperCase()}"`
    t.equal(life.probe(probe), false, 'nobody is found at first')
    recording.play(life)
    t.equal(life.probe(probe), true, 'the user is found, in whatever case')
    t.strictSame(life.user, recording.user)
    t.strictSame(life.group, recording.group)
    t.strictSame(life.members, recording.members)
    t.strictSame([...life.quirks].sort(), recording.quirks)
  })
}
