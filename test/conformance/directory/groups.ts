/** Groups and who is in them. */
import type { MembershipChange } from '../../../src/store/directory-store.js'
import { BEGAN, idOf } from '../../support/data/accounts.js'
import {
  ACTOR,
  addMembers,
  connectionOf,
  directoryGroupOf,
  doneOf,
  memberOf,
} from '../../support/data/directory.js'
import type { DirectoryPlace, NamedDirectoryTest } from './place.js'

const ONE = { organizationId: idOf(1), connectionId: connectionOf(1).id }
const GROUP = directoryGroupOf(1)
/** Ids that are nobody's: too long for a key, with what ends a key, and what begins as a long one. */
const STRANGERS = ['nobody', 'é'.repeat(3_000), 'a\0b', '#', idOf(5)]
const m = (n: number): string => memberOf(n).id

/** A group of connection 1 with these members, and a way to change them. */
async function groupWith({ directory }: DirectoryPlace, members: readonly string[]) {
  const { groups } = directory
  await directory.connections.addConnection(connectionOf(1), ACTOR)
  const added = doneOf(await groups.addGroup(GROUP, members, ACTOR))
  const change = async (at: number, ...changes: readonly MembershipChange[]) =>
    doneOf(await groups.changeGroup(GROUP.id, (group) => ({ group, members: changes }), at, ACTOR))
  const membersNow = () => groups.membershipsOf(GROUP.id, 0, 1_000).entries.map(({ memberId }) => memberId)
  return { added, change, membersNow }
}

export function groupTests(named: NamedDirectoryTest): void {
  named('a group is read as it was added and changed', async (t, place) => {
    const { added } = await groupWith(place, [m(2), m(1), m(2)])
    const { groups } = place.directory
    t.strictSame(added, { ...GROUP, memberCount: 2 })
    t.strictSame(groups.group(GROUP.id), added)
    const changed = await groups.changeGroup(
      GROUP.id,
      (group) => ({
        group: {
          ...group,
          displayName: 'New',
          externalId: 'e',
          document: { a: 1 },
          id: 'x',
          memberCount: 77,
        },
        members: [],
      }),
      BEGAN + 9,
      ACTOR,
    )
    const expected = { ...added, displayName: 'New', externalId: 'e', document: { a: 1 } }
    t.strictSame(doneOf(changed), { ...expected, version: 2, updatedAt: BEGAN + 9 })
    const refused = await groups.changeGroup(GROUP.id, () => ({ refused: 1 }), BEGAN, ACTOR)
    t.strictSame(refused, { refused: 1 })
    await place.reopen()
    t.strictSame(place.directory.groups.group(GROUP.id), doneOf(changed))
    const nowhere = directoryGroupOf(2, { connectionId: idOf(9) })
    t.strictSame(await place.directory.groups.addGroup(nowhere, [], ACTOR), { absent: true })
    t.strictSame(
      await place.directory.groups.addGroup(GROUP, [], ACTOR),
      { conflict: true },
      'an id is given once',
    )
  })

  named('members come and go one by one, and the group counts them and its versions', async (t, place) => {
    const { change, membersNow } = await groupWith(place, [m(3)])
    const { groups } = place.directory
    const added = await change(BEGAN + 10, { op: 'add', members: [m(1), m(3)] })
    t.match(added, { memberCount: 2, version: 2, updatedAt: BEGAN + 10 })
    t.strictSame(groups.membershipsOf(GROUP.id, 0, 10).entries, [
      { groupId: GROUP.id, memberId: m(1), addedAt: BEGAN + 10 },
      { groupId: GROUP.id, memberId: m(3), addedAt: GROUP.createdAt },
    ])
    t.strictSame(
      [m(1), m(2)].map((id) => groups.isMember(GROUP.id, id)),
      [true, false],
    )
    t.equal((await change(BEGAN + 11, { op: 'add', members: [m(1)] })).version, 2, 'nothing has changed')
    t.equal((await change(BEGAN + 11, { op: 'remove', members: [m(2)] })).version, 2)
    t.match(await change(BEGAN + 12, { op: 'remove', members: [m(3), m(3)] }), { memberCount: 1, version: 3 })
    t.match(await change(BEGAN + 13, { op: 'replace', members: [m(2), m(1), m(2)] }), { memberCount: 2 })
    t.equal(
      groups.membershipsOf(GROUP.id, 0, 1).entries[0]?.addedAt,
      BEGAN + 10,
      'who stays came when it came',
    )
    await change(
      BEGAN + 14,
      { op: 'remove', members: [m(1)] },
      { op: 'replace', members: [m(4), m(5)] },
      { op: 'add', members: [m(6), m(1)] },
      { op: 'remove', members: [m(5)] },
    )
    t.strictSame(membersNow(), [m(1), m(4), m(6)], 'changes are done in order')
    t.equal(groups.membershipsOf(GROUP.id, 0, 1).entries[0]?.addedAt, BEGAN + 10)
    t.match(await change(BEGAN + 15, { op: 'replace', members: [] }), { memberCount: 0 })
    t.strictSame(membersNow(), [])
  })

  named('a page of members is told with how many there are', async (t, place) => {
    const all = Array.from({ length: 30 }, (_, n) => m(n))
    await groupWith(place, all)
    const { groups } = place.directory
    for (const [offset, limit] of [
      [0, 10],
      [25, 10],
      [30, 10],
      [3, 0],
    ] as const) {
      const { entries, total } = groups.membershipsOf(GROUP.id, offset, limit)
      t.equal(total, 30)
      t.strictSame(
        entries.map(({ memberId }) => memberId),
        all.slice(offset, offset + limit),
      )
    }
  })

  named(
    'ids that are nobody’s are kept, whatever they are, and are in no group for anybody',
    async (t, place) => {
      const { change, membersNow } = await groupWith(place, STRANGERS)
      const { groups } = place.directory
      t.strictSame(new Set(membersNow()), new Set(STRANGERS))
      for (const id of STRANGERS) {
        t.equal(groups.isMember(GROUP.id, id), true)
        t.strictSame(groups.groupsOfMember(id), [])
      }
      t.equal((await change(BEGAN, { op: 'remove', members: STRANGERS.slice(1) })).memberCount, 1)
      t.strictSame(membersNow(), ['nobody'])
    },
  )

  named('how a directory shows a member is kept with the membership', async (t, place) => {
    const { groups, connections } = place.directory
    await connections.addConnection(connectionOf(1), ACTOR)
    const displays = new Map([
      [m(1), 'Ann'],
      [m(9), 'not a member'],
    ])
    await groups.addGroup(GROUP, [m(1), m(2)], ACTOR, displays)
    const shown = () => groups.membershipsOf(GROUP.id, 0, 9).entries.map(({ display }) => display)
    t.strictSame(shown(), ['Ann', undefined])
    const show = (members: string[], names: ReadonlyMap<string, string>) =>
      groups.changeGroup(
        GROUP.id,
        (group) => ({ group, members: [{ op: 'add', members, displays: names }] }),
        BEGAN + 5,
        ACTOR,
      )
    t.equal(doneOf(await show([m(1)], displays)).version, 1)
    t.equal(
      doneOf(
        await show(
          [m(1), m(3)],
          new Map([
            [m(1), 'Anna'],
            [m(3), 'Cid'],
          ]),
        ),
      ).version,
      2,
    )
    t.strictSame(shown(), ['Anna', undefined, 'Cid'])
    t.equal(groups.membershipsOf(GROUP.id, 0, 1).entries[0]?.addedAt, GROUP.createdAt)
  })

  named('groups are listed and found within their connection', async (t, { directory }) => {
    const { groups, connections } = directory
    for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
    const all = Array.from({ length: 12 }, (_, n) =>
      directoryGroupOf(n, {
        displayName: n < 3 ? `Straße${n % 2}` : `G${n}`,
        externalId: n < 2 ? 'X' : null,
      }),
    )
    for (const group of all) doneOf(await groups.addGroup(group, [], ACTOR))
    const other = directoryGroupOf(50, { connectionId: connectionOf(2).id })
    doneOf(await groups.addGroup(other, [], ACTOR))
    t.strictSame(groups.groupsOf(ONE, { by: 'all' }, 10, 5), { entries: all.slice(10), total: 12 })
    t.strictSame(groups.groupsOf(ONE, { by: 'all', after: all[9]!.id }, 1, 5), {
      entries: all.slice(11),
      total: 12,
    })
    const find = (by: 'id' | 'displayName' | 'externalId' | 'userName', value: string) =>
      groups.groupsOf(ONE, { by, value }, 0, 9).entries
    t.strictSame(find('displayName', 'STRASSE0'), [all[0], all[2]])
    t.strictSame(find('externalId', 'X'), all.slice(0, 2))
    t.strictSame(find('externalId', 'x'), [])
    t.strictSame(find('id', all[5]!.id), [all[5]])
    t.strictSame(find('id', other.id), [])
    t.strictSame(groups.groupsOf({ ...ONE, organizationId: idOf(11) }, { by: 'all' }, 0, 9).total, 0)
    await groups.changeGroup(
      all[0]!.id,
      (group) => ({ group: { ...group, displayName: 'b', externalId: null }, members: [] }),
      BEGAN,
      ACTOR,
    )
    t.strictSame(find('displayName', 'strasse0'), [all[2]])
    t.strictSame(find('externalId', 'X'), [all[1]])
    doneOf(await groups.removeGroup(all[2]!.id, () => null, BEGAN, ACTOR))
    t.strictSame(find('displayName', 'strasse0'), [])
    t.equal(groups.groupsOf(ONE, { by: 'all' }, 0, 0).total, 11)
  })

  named(
    'a person knows the groups of its own connection that name it, until it is deleted',
    async (t, place) => {
      const { groups, members, connections } = place.directory
      for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
      await addMembers(place, 2)
      for (const n of [1, 2]) doneOf(await groups.addGroup(directoryGroupOf(n), [m(1), m(2)], ACTOR))
      const other = directoryGroupOf(3, { connectionId: connectionOf(2).id })
      doneOf(await groups.addGroup(other, [m(1)], ACTOR))
      t.strictSame(
        groups.groupsOfMember(m(1)).map(({ id }) => id),
        [directoryGroupOf(1).id, directoryGroupOf(2).id],
      )
      doneOf(await members.removeMember(m(1), () => null, BEGAN + 7, ACTOR))
      t.strictSame(groups.groupsOfMember(m(1)), [])
      t.match(groups.group(directoryGroupOf(1).id), { memberCount: 1, version: 2, updatedAt: BEGAN + 7 })
      t.strictSame(
        groups.membershipsOf(directoryGroupOf(2).id, 0, 9).entries.map(({ memberId }) => memberId),
        [m(2)],
      )
      t.equal(groups.group(other.id)?.memberCount, 1, 'of another connection it never was a member')
    },
  )

  named('every change of members is in the audit, with those it is about', async (t, place) => {
    const many = Array.from({ length: 250 }, (_, n) => m(n))
    const { change } = await groupWith(place, many)
    await change(BEGAN + 1, { op: 'remove', members: many.slice(0, 2) }, { op: 'add', members: ['x'] })
    const { rows } = await place.directory.connections.auditOf(idOf(1), ONE.connectionId, 0, 50)
    t.strictSame(
      rows.map(({ action, groupId, userIds }) => [action, groupId, userIds?.length ?? 0]),
      [
        ['membership.remove', GROUP.id, 2],
        ['membership.add', GROUP.id, 1],
        ['membership.add', GROUP.id, 50],
        ['membership.add', GROUP.id, 100],
        ['membership.add', GROUP.id, 100],
        ['group.create', GROUP.id, 0],
      ],
    )
  })
}
