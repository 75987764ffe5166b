/** Removals of what much hangs on: more than goes in one transaction. */
import { BEGAN, hashOf, idOf } from '../../support/data/accounts.js'
import {
  ACTOR,
  addMembers,
  connectionOf,
  directoryGroupOf,
  doneOf,
  mappingOf,
  memberOf,
} from '../../support/data/directory.js'
import type { NamedDirectoryTest } from './place.js'

const ONE = { organizationId: idOf(1), connectionId: connectionOf(1).id }
const m = (n: number): string => memberOf(n).id
/** More than twice what one transaction takes away. */
const MANY = 1_100

export function removalTests(named: NamedDirectoryTest): void {
  named('a group goes with all its members', async (t, place) => {
    const { groups, connections } = place.directory
    await connections.addConnection(connectionOf(1, { heldFrom: 0, heldShare: 0 }), ACTOR)
    await addMembers(place, 3)
    const ids = [m(1), m(2), m(3), ...Array.from({ length: MANY }, (_, n) => `pending ${n}`)]
    const group = doneOf(await groups.addGroup(directoryGroupOf(1), ids, ACTOR))
    await place.scim.addMapping(mappingOf(1, group.id), ACTOR)
    await groups.changeGroup(
      group.id,
      (current) => ({ group: current, members: [{ op: 'remove', members: [m(1)] }] }),
      BEGAN,
      ACTOR,
    )
    t.equal(doneOf(await groups.removeGroup(group.id, () => null, BEGAN, ACTOR)).memberCount, MANY + 2)
    t.equal(groups.group(group.id), null)
    t.strictSame(groups.groupsOfMember(m(2)), [])
    t.strictSame(
      [m(1), m(2)].map((id) => place.scim.roleOf(idOf(2), id)),
      [null, null],
    )
    t.strictSame(await groups.removeGroup(group.id, () => null, BEGAN, ACTOR), { absent: true })
    doneOf(await groups.addGroup(directoryGroupOf(2), [m(2)], ACTOR))
    t.strictSame(groups.groupsOfMember(m(2)).length, 1)
  })

  named('a person leaves all the groups it is in', async (t, place) => {
    const { groups, members, connections } = place.directory
    await connections.addConnection(connectionOf(1), ACTOR)
    await addMembers(place, 2)
    await Promise.all(
      Array.from({ length: MANY }, (_, n) => groups.addGroup(directoryGroupOf(n), [m(1), m(2)], ACTOR)),
    )
    doneOf(await members.removeMember(m(1), () => null, BEGAN + 3, ACTOR))
    t.strictSame(groups.groupsOfMember(m(1)), [])
    const left = groups.groupsOf(ONE, { by: 'all' }, 0, MANY + 1)
    t.equal(left.total, MANY)
    t.ok(left.entries.every(({ memberCount, version }) => memberCount === 1 && version === 2))
    t.equal(groups.groupsOfMember(m(2)).length, MANY)
  })

  named('a connection goes with its people, who are nobody any more, and its groups', async (t, place) => {
    const { groups, connections, roles } = place.directory
    for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
    await addMembers(place, MANY)
    await addMembers(place, 2, 5_000, { connectionId: connectionOf(2).id })
    doneOf(
      await groups.addGroup(
        directoryGroupOf(1),
        Array.from({ length: MANY }, (_, n) => m(n + 1)),
        ACTOR,
      ),
    )
    doneOf(await groups.addGroup(directoryGroupOf(2), [m(1)], ACTOR))
    doneOf(
      await groups.addGroup(directoryGroupOf(3, { connectionId: connectionOf(2).id }), [m(5_000)], ACTOR),
    )
    for (const n of [1, 3]) await place.scim.addMapping(mappingOf(n, directoryGroupOf(n).id), ACTOR)
    await roles.putDirectRole(
      { organizationId: idOf(1), workspaceId: idOf(3), memberId: m(2), role: 'admin' },
      BEGAN,
      ACTOR,
    )
    t.equal((await roles.membersOf(idOf(2))).size, MANY + 1)
    t.equal(await connections.removeConnection(ONE.connectionId, BEGAN + 9, ACTOR), true)
    await place.reopen()
    const after = place.directory
    t.equal(after.connections.connection(ONE.connectionId), null)
    t.equal(after.connections.byToken(hashOf('token 1')), null)
    t.strictSame(
      after.connections.connectionsOf(idOf(1)).map(({ id }) => id),
      [connectionOf(2).id],
    )
    for (const n of [1, 2, MANY]) {
      const gone = { userName: '', document: {}, active: false, deletedAt: BEGAN + 9, version: 2 }
      t.match(after.members.member(m(n)), gone)
      t.match(after.members.factsOf(m(n)), { deleted: true })
    }
    t.equal(after.members.membersOf(ONE, { by: 'all' }, 0, 9).total, 0)
    t.equal(after.members.membersOfOrganization(idOf(1), 0, 9).total, 2)
    t.strictSame(
      [1, 2, 3].map((n) => after.groups.group(directoryGroupOf(n).id) === null),
      [true, true, false],
    )
    t.strictSame([...(await after.roles.membersOf(idOf(2)))], [[m(5_000), 'member']])
    t.strictSame(place.scim.directRolesOf(idOf(3)), [])
    t.equal(await after.connections.removeConnection(ONE.connectionId, BEGAN, ACTOR), false)
    t.strictSame(await after.members.addMember(memberOf(9_000), ACTOR), { absent: true })
    await after.connections.addConnection(connectionOf(3), ACTOR)
    const anew = memberOf(9_000, { connectionId: connectionOf(3).id, userName: memberOf(1).userName })
    doneOf(await after.members.addMember(anew, ACTOR))
  })
}
