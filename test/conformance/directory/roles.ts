/** Which roles follow from the facts, and why. */
import type { ScimRole } from '../../../src/store/scim-store.js'
import { BEGAN, idOf } from '../../support/data/accounts.js'
import {
  ACTOR,
  addMembers,
  connectionOf,
  directoryGroupOf,
  doneOf,
  mappingOf,
  memberOf,
} from '../../support/data/directory.js'
import type { DirectoryPlace, NamedDirectoryTest } from './place.js'

const GROUP = directoryGroupOf(1)
const m = (n: number): string => memberOf(n).id
const WORKSPACE = idOf(2)

/** Two connections with the members 1 to 3 and 11 to 13; a group of the first names one of each. */
async function twoConnections(place: DirectoryPlace): Promise<void> {
  const { connections, groups } = place.directory
  for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
  await addMembers(place, 3)
  await addMembers(place, 3, 11, { connectionId: connectionOf(2).id })
  doneOf(await groups.addGroup(GROUP, [m(1), m(11), 'free text'], ACTOR))
}

export function roleTests(named: NamedDirectoryTest): void {
  named('a group gives a role to people of its own connection, while they are active', async (t, place) => {
    await twoConnections(place)
    const { members } = place.directory
    await place.scim.addMapping(mappingOf(1, GROUP.id), ACTOR)
    const roleOf = (id: string): ScimRole | null => place.scim.roleOf(WORKSPACE, id)
    t.strictSame([m(1), m(2), m(11), 'free text'].map(roleOf), ['member', null, null, null])
    t.equal(place.scim.roleOf(idOf(3), m(1)), null, 'in that workspace alone')
    await place.scim.changeRole(mappingOf(1, GROUP.id).id, 'admin', BEGAN + 5, ACTOR)
    t.equal(roleOf(m(1)), 'admin')
    const setActive = (active: boolean) =>
      members.changeMember(m(1), (member) => ({ ...member, active }), ACTOR)
    await setActive(false)
    t.equal(roleOf(m(1)), null)
    await setActive(true)
    t.equal(roleOf(m(1)), 'admin', 'what was switched off comes back')
    await members.removeMember(m(1), () => null, BEGAN, ACTOR)
    t.equal(roleOf(m(1)), null)
  })

  named('a mapping of another organization gives nothing', async (t, place) => {
    await twoConnections(place)
    const foreign = mappingOf(1, GROUP.id, { organizationId: idOf(11), workspaceId: idOf(12) })
    await place.scim.addMapping(foreign, ACTOR)
    t.equal(place.scim.roleOf(idOf(12), m(1)), null)
    t.strictSame([...(await place.directory.roles.membersOf(idOf(12)))], [])
    const own = { ...directoryGroupOf(9), organizationId: idOf(11), members: [m(1), 'ann'] }
    await place.scim.putGroup(own, ACTOR)
    await place.scim.addMapping({ ...foreign, id: idOf(77), scimGroupId: own.id }, ACTOR)
    t.equal(place.scim.roleOf(idOf(12), m(1)), null, 'nor does a group there that names a member of this one')
    t.equal(place.scim.roleOf(idOf(12), 'ann'), 'member')
  })

  named('a direct role is given to members of the organization, in its workspaces', async (t, place) => {
    await twoConnections(place)
    doneOf(await place.directory.members.addMember(memberOf(21, { connectionId: null }), ACTOR))
    const { roles, members } = place.directory
    const give = (memberId: string, workspaceId = WORKSPACE, role: ScimRole = 'member', n = 1) =>
      roles.putDirectRole({ organizationId: idOf(n), workspaceId, memberId, role }, BEGAN + 4, ACTOR)
    t.equal(await give(m(21)), true)
    t.equal(await give(m(1), WORKSPACE, 'admin'), true)
    for (const [id, workspace, n] of [
      ['free text', WORKSPACE, 1],
      [m(1), idOf(12), 1],
      [m(1), idOf(12), 11],
      [m(1), WORKSPACE, 11],
      [m(1), 'none', 1],
    ] as const) {
      t.equal(await give(id, workspace, 'admin', n), false)
    }
    t.strictSame(
      [...(await roles.membersOf(WORKSPACE))],
      [
        [m(1), 'admin'],
        [m(21), 'member'],
      ],
    )
    t.strictSame([...roles.workspacesOf(idOf(1), m(1))], [[WORKSPACE, 'admin']])
    t.strictSame([...roles.workspacesOf(idOf(11), m(1))], [])
    t.strictSame(roles.reasons(WORKSPACE, m(1)), [
      {
        ...{ role: 'admin', by: 'direct', mappingId: null, groupId: null },
        ...{ since: BEGAN + 4, author: ACTOR.actor, held: false },
      },
    ])
    t.equal(await give(m(1)), true, 'another one than before')
    t.equal(place.scim.roleOf(WORKSPACE, m(1)), 'member')
    const before = (await place.scim.auditPage(idOf(1), 0, 1)).total
    t.equal(await give(m(1)), true)
    t.equal((await place.scim.auditPage(idOf(1), 0, 1)).total, before, 'the same again changes nothing')
    await members.changeMember(m(21), (member) => ({ ...member, active: false }), ACTOR)
    t.equal(place.scim.roleOf(WORKSPACE, m(21)), null)
    await members.removeMember(m(1), () => null, BEGAN, ACTOR)
    t.equal(await give(m(1)), false)
    t.strictSame(
      place.scim.directRolesOf(WORKSPACE).map(({ userId }) => userId),
      [m(21)],
      'direct roles go with who had them',
    )
  })

  named(
    'the strongest of all reasons counts, and each is told with its author and its time',
    async (t, place) => {
      await twoConnections(place)
      const { roles, groups } = place.directory
      const second = directoryGroupOf(2)
      doneOf(await groups.addGroup(second, [m(2)], ACTOR))
      await groups.changeGroup(
        second.id,
        (group) => ({ group, members: [{ op: 'add', members: [m(1)] }] }),
        BEGAN + 50,
        ACTOR,
      )
      await place.scim.addMapping(mappingOf(1, GROUP.id), { ...ACTOR, actor: 'maker' })
      await place.scim.addMapping(mappingOf(2, second.id, { role: 'admin' }), { ...ACTOR, actor: 'other' })
      const own = { ...directoryGroupOf(9), members: [m(1)] }
      await place.scim.putGroup(own, ACTOR)
      await place.scim.addMapping(mappingOf(3, own.id), ACTOR)
      t.equal(place.scim.roleOf(WORKSPACE, m(1)), 'admin')
      t.strictSame([...roles.workspacesOf(idOf(1), m(1))], [[WORKSPACE, 'admin']])
      const by = { by: 'group', held: false }
      t.strictSame(roles.reasons(WORKSPACE, m(1)), [
        {
          ...{ ...by, role: 'admin', mappingId: mappingOf(2, '').id, groupId: second.id },
          ...{ author: 'other', since: BEGAN + 50 },
        },
        {
          ...{ ...by, role: 'member', mappingId: mappingOf(1, '').id, groupId: GROUP.id },
          ...{ author: 'maker', since: GROUP.createdAt },
        },
        {
          ...{ ...by, role: 'member', mappingId: mappingOf(3, '').id, groupId: own.id },
          ...{ author: ACTOR.actor, since: null },
        },
      ])
      await place.scim.changeRole(mappingOf(1, '').id, 'admin', BEGAN + 70, { ...ACTOR, actor: 'raiser' })
      t.match(roles.reasons(WORKSPACE, m(1))[0], { author: 'raiser', since: BEGAN + 70 })
    },
  )

  named('a mapping that goes leaves its members their role, if it shall', async (t, place) => {
    await twoConnections(place)
    const { groups, members, roles } = place.directory
    await groups.changeGroup(
      GROUP.id,
      (group) => ({ group, members: [{ op: 'add', members: [m(2), m(3)] }] }),
      BEGAN,
      ACTOR,
    )
    await members.changeMember(m(2), (member) => ({ ...member, active: false }), ACTOR)
    await place.directory.connections.changeConnection(
      connectionOf(1).id,
      (connection) => ({ ...connection, heldFrom: 0, heldShare: 0 }),
      ACTOR,
    )
    await place.scim.addMapping(mappingOf(1, GROUP.id), ACTOR)
    await groups.changeGroup(
      GROUP.id,
      (group) => ({ group, members: [{ op: 'remove', members: [m(3)] }] }),
      BEGAN,
      ACTOR,
    )
    t.equal(place.scim.roleOf(WORKSPACE, m(3)), 'member', 'its removal is held')
    await place.scim.removeMapping(mappingOf(1, '').id, true, BEGAN + 8, ACTOR)
    t.strictSame(
      place.scim
        .directRolesOf(WORKSPACE)
        .map(({ userId }) => userId)
        .sort(),
      [m(1), m(2)],
      'those who are in the group: not whose removal waits, not who is nobody of the connection',
    )
    t.match(roles.reasons(WORKSPACE, m(1)), [
      { by: 'direct', mappingId: mappingOf(1, '').id, since: BEGAN + 8 },
    ])
    t.equal(place.scim.roleOf(WORKSPACE, m(2)), null, 'while inactive')
    t.equal(place.scim.roleOf(WORKSPACE, m(3)), null)
    await place.scim.addMapping(mappingOf(2, GROUP.id), ACTOR)
    await place.scim.removeMapping(mappingOf(2, '').id, false, BEGAN + 9, ACTOR)
    t.strictSame(place.scim.directRolesOf(WORKSPACE), [], 'and without, they lose what they had kept')
  })

  named(
    'groups of connections are seen among those delivered whole, and changed by their directory alone',
    async (t, place) => {
      await twoConnections(place)
      const whole = { ...directoryGroupOf(9), members: ['ann'] }
      await place.scim.putGroup(whole, ACTOR)
      const { id, organizationId, displayName, externalId, createdAt, updatedAt } = GROUP
      const head = { id, organizationId, displayName, externalId, createdAt, updatedAt }
      const listed = { ...head, connectionId: GROUP.connectionId, memberCount: 3 }
      t.match(place.scim.groupsOf(idOf(1)), [listed, { id: whole.id, connectionId: null, memberCount: 1 }])
      const groupsOf = (user: string, of = idOf(1)): string[] =>
        place.scim.groupsOfUser(of, user).map(({ id }) => id)
      t.strictSame(groupsOf(m(1)), [GROUP.id])
      t.strictSame(groupsOf('ann'), [whole.id])
      t.strictSame(groupsOf(m(11)), [], 'a group of another connection gives it nothing')
      t.strictSame(groupsOf(m(1), idOf(11)), [], 'another organization')
      t.ok(place.scim.groupsOf(idOf(1)).every((group) => !('members' in group)))
      t.strictSame(place.scim.group(idOf(1), GROUP.id), { ...head, members: [m(1), m(11), 'free text'] })
      t.equal(place.scim.group(idOf(11), GROUP.id), null)
      t.equal(await place.scim.putGroup({ ...head, members: ['ann'] }, ACTOR), null)
      t.equal(await place.scim.removeGroup(idOf(1), GROUP.id, BEGAN, ACTOR), 'of-connection')
      t.equal(place.directory.groups.group(GROUP.id)?.memberCount, 3)
      t.ok(
        await place.scim.putGroup({ ...head, organizationId: idOf(11), members: [] }, ACTOR),
        'another’s own',
      )
      t.equal(await place.scim.removeGroup(idOf(1), whole.id, BEGAN, ACTOR), 'removed')
      t.equal(await place.scim.removeGroup(idOf(1), whole.id, BEGAN, ACTOR), 'absent')
    },
  )
}
