/** Removals beyond a share of a group within an hour: they are facts, and take no role away until they are approved. */
import type { DirectoryConnection, MembershipChange } from '../../../src/store/directory-store.js'
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
const HOUR = 3_600_000
const m = (n: number): string => memberOf(n).id
const range = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, i) => m(first + i))

/** A group with the members 1 to `count`, which makes them members of workspace 2. */
async function mappedGroup(place: DirectoryPlace, count: number, more: Partial<DirectoryConnection> = {}) {
  const { connections, groups } = place.directory
  await connections.addConnection(connectionOf(1, more), ACTOR)
  await addMembers(place, count)
  doneOf(await groups.addGroup(GROUP, range(1, count), ACTOR))
  await place.scim.addMapping(mappingOf(1, GROUP.id), ACTOR)
  return {
    change: async (minutes: number, ...members: readonly MembershipChange[]) =>
      doneOf(
        await place.directory.groups.changeGroup(
          GROUP.id,
          (group) => ({ group, members }),
          BEGAN + minutes * 60_000,
          ACTOR,
        ),
      ),
    held: () =>
      place.directory.roles
        .heldOf(idOf(1))
        .map(({ memberId }) => memberId)
        .sort(),
    withRole: () => range(1, count).filter((id) => place.scim.roleOf(idOf(2), id) !== null),
  }
}

export function heldTests(named: NamedDirectoryTest): void {
  named('what goes beyond the share waits, as far as roles go, and is a fact at once', async (t, place) => {
    const { change, held, withRole } = await mappedGroup(place, 100)
    t.match(await change(1, { op: 'remove', members: range(1, 30) }), { memberCount: 70 })
    t.strictSame(held(), [], 'thirty of a hundred may go')
    t.match(await change(2, { op: 'remove', members: range(31, 5) }), { memberCount: 65 })
    t.strictSame(held(), range(31, 5))
    t.strictSame(withRole(), range(31, 70))
    t.equal(place.directory.groups.isMember(GROUP.id, m(31)), false, 'the directory reads what it wrote')
    t.match(place.directory.roles.heldOf(idOf(1))[0], {
      ...{ groupId: GROUP.id, connectionId: connectionOf(1).id, removedAt: BEGAN + 120_000 },
    })
    t.match(place.directory.roles.reasons(idOf(2), m(31)), [{ by: 'group', held: true, groupId: GROUP.id }])
    t.match(place.directory.roles.reasons(idOf(2), m(40)), [{ held: false }])
    t.strictSame(place.directory.roles.heldOf(idOf(11)), [])
    await place.reopen()
    t.strictSame(held(), range(31, 5))
    t.equal(await place.directory.roles.approveHeld(GROUP.id, BEGAN + HOUR, ACTOR), 5)
    t.strictSame(held(), [])
    t.strictSame(withRole(), range(36, 65))
    t.equal(await place.directory.roles.approveHeld(GROUP.id, BEGAN + HOUR, ACTOR), 0)
    const { rows } = await place.scim.auditPage(idOf(1), 0, 1)
    t.match(rows, [{ action: 'membership.approve', groupId: GROUP.id, userIds: range(31, 5) }])
  })

  named('of a small group so many may always go', async (t, place) => {
    const { change, held } = await mappedGroup(place, 20)
    await change(1, { op: 'replace', members: range(11, 10) })
    t.strictSame(held(), [], 'ten of twenty, which is the least that is held beyond')
    await change(2, { op: 'remove', members: [m(20)] })
    t.strictSame(held(), [m(20)])
  })

  named('removals add up over an hour, one by one as well as at once', async (t, place) => {
    const { change, held } = await mappedGroup(place, 10, { heldFrom: 0, heldShare: 0.3 })
    for (const n of [1, 2, 3]) await change(n, { op: 'remove', members: [m(n)] })
    t.strictSame(held(), [], 'a share of those who were in it when the hour began')
    await change(59, { op: 'remove', members: [m(4)] })
    t.strictSame(held(), [m(4)])
    await change(121, { op: 'remove', members: [m(5)] })
    t.strictSame(held(), [m(4)], 'another hour, and one of six may go')
    await change(121, { op: 'remove', members: [m(6)] })
    t.strictSame(held(), [m(4), m(6)])
  })

  named('who is added again is removed by nobody', async (t, place) => {
    const { change, held, withRole } = await mappedGroup(place, 10, { heldFrom: 0, heldShare: 0 })
    await change(1, { op: 'remove', members: [m(1), m(2)] })
    t.strictSame(held(), [m(1), m(2)])
    await change(2, { op: 'add', members: [m(1)] })
    t.strictSame(held(), [m(2)])
    await place.directory.roles.approveHeld(GROUP.id, BEGAN, ACTOR)
    t.strictSame(withRole(), [m(1), ...range(3, 8)])
    await change(3, { op: 'remove', members: [m(1)] }, { op: 'add', members: [m(1)] })
    t.strictSame(held(), [], 'what comes back in the same change was never away')
  })

  named('deactivation and deletion are never held, nor who is nobody', async (t, place) => {
    const { change, held, withRole } = await mappedGroup(place, 6, { heldFrom: 0, heldShare: 0 })
    const { members, groups } = place.directory
    doneOf(await members.changeMember(m(1), (member) => ({ ...member, active: false }), ACTOR))
    doneOf(await members.removeMember(m(2), () => null, BEGAN, ACTOR))
    t.strictSame(held(), [])
    t.strictSame(withRole(), range(3, 4))
    await change(1, { op: 'add', members: ['nobody'] })
    await change(1, { op: 'remove', members: ['nobody', m(3), m(4)] })
    t.strictSame(held(), [m(3), m(4)])
    doneOf(await members.changeMember(m(3), (member) => ({ ...member, active: false }), ACTOR))
    doneOf(await members.removeMember(m(4), () => null, BEGAN, ACTOR))
    t.strictSame(withRole(), range(5, 2), 'a held removal keeps no role alive that other facts have ended')
    t.strictSame(held(), [m(3)])
    doneOf(await groups.removeGroup(GROUP.id, () => null, BEGAN, ACTOR))
    t.strictSame(held(), [])
    t.strictSame(withRole(), [], 'a group that is deleted is gone')
  })
}
