/** People: lists, lookups, names that are unique, tombstones. */
import type { Member } from '../../../src/store/directory-store.js'
import { BEGAN, idOf } from '../../support/data/accounts.js'
import { ACTOR, addMembers, connectionOf, doneOf, memberOf } from '../../support/data/directory.js'
import type { NamedDirectoryTest } from './place.js'

const ONE = { organizationId: idOf(1), connectionId: connectionOf(1).id }
const TWO = { organizationId: idOf(1), connectionId: connectionOf(2).id }
const BY_HAND = { organizationId: idOf(1), connectionId: null }
const ids = (members: readonly { readonly id: string }[]): string[] => members.map(({ id }) => id)

export function memberTests(named: NamedDirectoryTest): void {
  named('a person is read as it was added and changed', async (t, place) => {
    await place.directory.connections.addConnection(connectionOf(1), ACTOR)
    const { members } = place.directory
    const ann = memberOf(1, { version: 9, deletedAt: BEGAN, document: { 'urn:x': { a: [1, null, '\0é'] } } })
    const added = doneOf(await members.addMember(ann, ACTOR))
    t.strictSame(added, { ...ann, version: 1, deletedAt: null }, 'it begins with its first version')
    t.strictSame(members.member(ann.id), added)
    t.strictSame(members.factsOf(ann.id), { ...ONE, active: true, deleted: false })
    const same = await members.changeMember(ann.id, (current) => current, ACTOR)
    t.equal(doneOf(same).version, 1, 'what is not changed keeps its version')
    const refused = await members.changeMember(ann.id, () => ({ refused: 'version' as const }), ACTOR)
    t.strictSame(refused, { refused: 'version' })
    const changed = doneOf(
      await members.changeMember(
        ann.id,
        (current) => ({
          ...current,
          active: false,
          id: 'x',
          organizationId: 'x',
          connectionId: null,
          version: 77,
        }),
        ACTOR,
      ),
    )
    t.strictSame(changed, { ...added, active: false, version: 2 }, 'what it is stays')
    await place.reopen()
    t.strictSame(place.directory.members.member(ann.id), changed)
    t.strictSame(place.directory.members.factsOf(ann.id), { ...ONE, active: false, deleted: false })
    const { rows } = await place.directory.connections.auditOf(idOf(1), ONE.connectionId, 0, 9)
    t.strictSame(
      rows.map(({ action }) => action),
      ['member.deactivate', 'member.create'],
    )
  })

  named(
    'nobody is added to a connection that is not there, or is another organization’s',
    async (t, place) => {
      const { members, connections } = place.directory
      await connections.addConnection(connectionOf(1), ACTOR)
      const absent = { absent: true }
      t.strictSame(await members.addMember(memberOf(1, { connectionId: idOf(999) }), ACTOR), absent)
      t.strictSame(await members.addMember(memberOf(1, { organizationId: idOf(11) }), ACTOR), absent)
      t.equal(members.membersOfOrganization(idOf(11), 0, 10).total, 0)
    },
  )

  named('a user name is one person’s in its connection, however it is written', async (t, { directory }) => {
    const { members, connections } = directory
    for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
    const add = (n: number, userName: string, more: Partial<Member> = {}) =>
      members.addMember(memberOf(n, { userName, ...more }), ACTOR)
    const conflict = { conflict: true }
    doneOf(await add(1, 'Ann@Example.test'))
    doneOf(await add(2, 'Straße\u00e9'))
    for (const name of ['ann@example.test', 'ANN@EXAMPLE.TEST'])
      t.strictSame(await add(3, name), conflict, name)
    for (const name of ['STRASSEÉ', 'strasse\u0065\u0301', 'STRAẞE\u00c9'])
      t.strictSame(await add(3, name), conflict, name)
    doneOf(await add(3, 'ann@example.test', { connectionId: TWO.connectionId }))
    doneOf(await add(4, 'ann@example.test', { connectionId: null }))
    t.strictSame(await add(5, 'ANN@example.test', { connectionId: null }), conflict)
    doneOf(await add(6, 'ann'))
    const rename = (n: number, userName: string) =>
      members.changeMember(memberOf(n).id, (current) => ({ ...current, userName }), ACTOR)
    t.strictSame(await rename(6, 'ANN@example.test'), conflict)
    t.equal(members.member(memberOf(6).id)?.userName, 'ann')
    t.equal(
      doneOf(await rename(1, 'ANN@EXAMPLE.TEST')).userName,
      'ANN@EXAMPLE.TEST',
      'its own may be rewritten',
    )
    doneOf(await rename(1, 'somebody else'))
    doneOf(await rename(6, 'ann@example.test'))
    t.strictSame(ids(members.membersOf(ONE, { by: 'userName', value: 'ann@EXAMPLE.test' }, 0, 10).entries), [
      memberOf(6).id,
    ])
  })

  named('two who want the same name at once: one has it', async (t, { directory }) => {
    await directory.connections.addConnection(connectionOf(1), ACTOR)
    const writes = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        directory.members.addMember(memberOf(n, { userName: n % 2 ? 'SAME' : 'same' }), ACTOR),
      ),
    )
    t.equal(writes.filter((write) => 'done' in write).length, 1)
    t.equal(directory.members.membersOf(ONE, { by: 'all' }, 0, 50).total, 1)
  })

  named('lists tell a page, oldest first, and how many there are', async (t, place) => {
    const { members, connections } = place.directory
    for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
    const all = await addMembers(place, 25)
    const others = await addMembers(place, 3, 50, { connectionId: TWO.connectionId })
    const byHand = await addMembers(place, 2, 70, { connectionId: null, externalId: null })
    await addMembers(place, 2, 90, { organizationId: idOf(11), connectionId: null })
    const page = (offset: number, limit: number, after?: string) => {
      const { entries, total } = members.membersOf(
        ONE,
        { by: 'all', ...(after !== undefined && { after }) },
        offset,
        limit,
      )
      t.equal(total, 25)
      return ids(entries)
    }
    t.strictSame(page(0, 10), ids(all.slice(0, 10)))
    t.strictSame(page(20, 10), ids(all.slice(20)))
    t.strictSame(page(25, 10), [])
    t.strictSame(page(1e9, 10), [])
    t.strictSame(page(0, 0), [])
    t.strictSame(page(0, 3, all[4]!.id), ids(all.slice(5, 8)), 'behind one that was seen')
    t.strictSame(page(2, 3, all[4]!.id), ids(all.slice(7, 10)))
    t.strictSame(page(0, 10, all[24]!.id), [])
    t.strictSame(page(0, 2, ''), ids(all.slice(0, 2)))
    t.strictSame(ids(members.membersOf(TWO, { by: 'all' }, 0, 9).entries), ids(others))
    t.strictSame(ids(members.membersOf(BY_HAND, { by: 'all' }, 0, 9).entries), ids(byHand))
    const foreign = { ...ONE, organizationId: idOf(11) }
    t.strictSame(members.membersOf(foreign, { by: 'all' }, 0, 9), { entries: [], total: 0 })
    const organization = members.membersOfOrganization(idOf(1), 24, 3)
    t.strictSame(ids(organization.entries), ids([all[24]!, ...others.slice(0, 2)]))
    t.equal(organization.total, 30)
  })

  named('people are found by what has an index, within their connection', async (t, place) => {
    const { members, connections } = place.directory
    for (const n of [1, 2]) await connections.addConnection(connectionOf(n), ACTOR)
    const all = await addMembers(place, 4)
    const twins = await addMembers(place, 3, 10, { externalId: 'Same' })
    const find = (by: 'id' | 'userName' | 'externalId' | 'displayName', value: string, scope = ONE) => {
      const { entries, total } = members.membersOf(scope, { by, value }, 0, 10)
      t.equal(total, entries.length)
      return ids(entries)
    }
    t.strictSame(find('id', all[2]!.id), [all[2]!.id])
    t.strictSame(find('id', all[2]!.id, TWO), [])
    t.strictSame(find('userName', all[1]!.userName.toUpperCase()), [all[1]!.id])
    t.strictSame(find('userName', all[1]!.userName, TWO), [])
    t.strictSame(find('externalId', all[1]!.externalId!), [all[1]!.id])
    t.strictSame(find('externalId', 'Same'), ids(twins))
    t.strictSame(find('externalId', 'same'), [], 'its case counts')
    t.strictSame(find('displayName', 'User 1'), [], 'a person has none that is looked up')
    t.strictSame(members.membersOf(ONE, { by: 'externalId', value: 'Same' }, 1, 1), {
      entries: [twins[1]],
      total: 3,
    })
    const move = (n: number, externalId: string | null) =>
      members.changeMember(memberOf(n).id, (current) => ({ ...current, externalId }), ACTOR)
    doneOf(await move(11, null))
    doneOf(await move(2, 'Same'))
    t.strictSame(find('externalId', 'Same'), ids([all[1]!, twins[0]!, twins[2]!]))
    t.strictSame(find('externalId', 'external-2'), [])
  })

  named('who is deleted leaves an id, and the name to others', async (t, place) => {
    const { members, connections } = place.directory
    await connections.addConnection(connectionOf(1), ACTOR)
    await addMembers(place, 3)
    const refused = await members.removeMember(memberOf(2).id, () => ({ refused: 412 }), BEGAN + 5, ACTOR)
    t.strictSame(refused, { refused: 412 })
    const tombstone: Member = {
      ...memberOf(2),
      ...{ version: 2, userName: '', externalId: null, active: false, document: {} },
      ...{ updatedAt: BEGAN + 5, deletedAt: BEGAN + 5 },
    }
    const removed = doneOf(await members.removeMember(memberOf(2).id, () => null, BEGAN + 5, ACTOR))
    t.strictSame(removed, tombstone)
    t.strictSame(members.member(memberOf(2).id), tombstone)
    t.strictSame(members.factsOf(memberOf(2).id), { ...ONE, active: false, deleted: true })
    t.strictSame(await members.removeMember(memberOf(2).id, () => null, BEGAN + 6, ACTOR), { absent: true })
    t.strictSame(await members.changeMember(memberOf(2).id, (current) => current, ACTOR), { absent: true })
    for (const [by, value] of [
      ['id', memberOf(2).id],
      ['userName', memberOf(2).userName],
      ['externalId', memberOf(2).externalId!],
    ] as const) {
      t.equal(members.membersOf(ONE, { by, value }, 0, 10).total, 0, by)
    }
    t.equal(members.membersOf(ONE, { by: 'all' }, 0, 10).total, 2)
    t.equal(members.membersOfOrganization(idOf(1), 0, 10).total, 2)
    t.strictSame(await members.addMember(memberOf(2), ACTOR), { conflict: true }, 'an id is given once')
    doneOf(await members.addMember(memberOf(20, { userName: memberOf(2).userName }), ACTOR))
    await place.reopen()
    t.strictSame(place.directory.members.member(memberOf(2).id), tombstone)
    t.equal(place.directory.members.membersOf(ONE, { by: 'all' }, 0, 10).total, 3)
  })
}
