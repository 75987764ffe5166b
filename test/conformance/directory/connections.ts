/** Connections, their tokens, their request log and their audit. */
import { BEGAN, hashOf, idOf } from '../../support/data/accounts.js'
import { ACTOR, connectionOf, memberOf, requestOf } from '../../support/data/directory.js'
import type { NamedDirectoryTest } from './place.js'

const NO_ONES = [idOf(9), '', '\0', 'é'.repeat(5_000)]

export function connectionTests(named: NamedDirectoryTest): void {
  named('an empty store has nothing, whatever it is asked', async (t, { directory, scim }) => {
    const { connections, members, groups, roles } = directory
    for (const id of NO_ONES) {
      t.equal(connections.connection(id), null)
      t.equal(connections.byToken(id), null)
      t.strictSame(connections.connectionsOf(id), [])
      t.equal(await connections.changeConnection(id, (current) => current, ACTOR), null)
      t.equal(await connections.removeConnection(id, BEGAN, ACTOR), false)
      t.strictSame(await connections.requestsOf(id, 0, 10), { entries: [], total: 0 })
      t.strictSame({ ...(await connections.quirksOf(id)) }, {})
      t.equal(members.member(id), null)
      t.equal(members.factsOf(id), null)
      const scope = { organizationId: idOf(1), connectionId: id }
      for (const by of ['id', 'userName', 'externalId', 'displayName'] as const) {
        t.strictSame(members.membersOf(scope, { by, value: id }, 0, 10), { entries: [], total: 0 })
        t.strictSame(groups.groupsOf(scope, { by, value: id }, 0, 10), { entries: [], total: 0 })
      }
      t.strictSame(members.membersOf({ ...scope, connectionId: null }, { by: 'all' }, 0, 10).total, 0)
      t.strictSame(await members.changeMember(id, (current) => current, ACTOR), { absent: true })
      t.strictSame(await members.removeMember(id, () => null, BEGAN, ACTOR), { absent: true })
      t.equal(groups.group(id), null)
      t.equal(groups.isMember(id, id), false)
      t.strictSame(groups.groupsOfMember(id), [])
      t.strictSame(groups.membershipsOf(id, 0, 10), { entries: [], total: 0 })
      t.strictSame(await groups.removeGroup(id, () => null, BEGAN, ACTOR), { absent: true })
      t.strictSame(roles.reasons(id, id), [])
      t.strictSame([...(await roles.membersOf(id))], [])
      t.strictSame([...roles.workspacesOf(id, id)], [])
      t.strictSame(roles.heldOf(id), [])
      t.equal(await roles.approveHeld(id, BEGAN, ACTOR), 0)
      t.equal(scim.roleOf(id, id), null)
    }
    t.equal((await scim.auditPage(idOf(1), 0, 10)).total, 0, 'what changed nothing leaves no row')
  })

  named('a connection is read as it was added and changed, by its id and by its tokens', async (t, place) => {
    const { connections } = place.directory
    const [one, two] = [connectionOf(1), connectionOf(2)]
    const foreign = connectionOf(3, { organizationId: idOf(11) })
    for (const connection of [two, one, foreign]) await connections.addConnection(connection, ACTOR)
    t.strictSame(connections.connection(one.id), one)
    t.strictSame(connections.byToken(hashOf('token 2')), two)
    t.strictSame(connections.connectionsOf(idOf(1)), [one, two], 'oldest first')
    const fresh = { ...one.tokens[0]!, id: idOf(160), hash: hashOf('rotated') }
    const both = await connections.changeConnection(
      one.id,
      (current) => ({
        ...current,
        tokens: [...current.tokens, fresh],
        id: 'another',
        organizationId: idOf(11),
      }),
      ACTOR,
    )
    t.strictSame(both, { ...one, tokens: [...one.tokens, fresh] }, 'whose it is stays')
    t.strictSame(connections.byToken(hashOf('token 1')), both)
    t.strictSame(connections.byToken(hashOf('rotated')), both)
    await connections.changeConnection(one.id, (current) => ({ ...current, tokens: [fresh] }), ACTOR)
    await place.reopen()
    const again = place.directory.connections
    t.equal(again.byToken(hashOf('token 1')), null, 'a token that was taken away opens nothing')
    t.strictSame(again.byToken(hashOf('rotated')), { ...one, tokens: [fresh] })
    t.equal(again.byToken(hashOf('rotated').toUpperCase()), null)
  })

  named('changes are in two trails: what people do, and what a directory tells', async (t, place) => {
    const { connections, members } = place.directory
    await connections.addConnection(connectionOf(1), ACTOR)
    await connections.changeConnection(connectionOf(1).id, (current) => current, ACTOR)
    await connections.changeConnection(connectionOf(1).id, (current) => ({ ...current, name: 'b' }), ACTOR)
    await members.addMember(memberOf(1), { ...ACTOR, actor: idOf(151) })
    await members.addMember(memberOf(2, { connectionId: null }), ACTOR)
    const ofPeople = await place.scim.auditPage(idOf(1), 0, 10)
    t.strictSame(
      ofPeople.rows.map(({ action }) => action),
      ['member.create', 'connection.update', 'connection.create'],
    )
    const told = await connections.auditOf(idOf(1), connectionOf(1).id, 0, 10)
    t.match(told.rows, [
      {
        ...{ action: 'member.create', actor: idOf(151), requestId: ACTOR.requestId, at: BEGAN + 1 },
        ...{ connectionId: connectionOf(1).id, userIds: [memberOf(1).id] },
      },
    ])
    t.equal(JSON.stringify(told).includes('example.test'), false, 'ids, and nothing that tells who it is')
    t.equal((await connections.auditOf(idOf(11), connectionOf(1).id, 0, 10)).total, 0)
  })

  named(
    'the newest thousand requests of a connection are kept, and what was counted in all',
    async (t, place) => {
      const { connections } = place.directory
      await connections.addConnection(connectionOf(1), ACTOR)
      const ROWS = 1_010
      for (let n = 1; n <= ROWS; n++) {
        connections.logRequest(requestOf(n, { quirks: n % 2 === 0 ? ['capital-op', 'text-boolean'] : [] }))
      }
      connections.logRequest(requestOf(1, { connectionId: connectionOf(2).id, quirks: ['of nobody'] }))
      await place.reopen()
      const again = place.directory.connections
      const page = await again.requestsOf(connectionOf(1).id, 0, 2)
      // Three machines have logged a part each: only within one is the order that of the calls.
      t.equal(page.total <= 1_000, true)
      t.ok(page.total >= 1_000 - ROWS / 100, `${page.total} rows`)
      t.equal(page.entries.length, 2)
      t.strictSame(
        { ...(await again.quirksOf(connectionOf(1).id)) },
        {
          'capital-op': ROWS / 2,
          'text-boolean': ROWS / 2,
        },
      )
      t.strictSame({ ...(await again.quirksOf(connectionOf(2).id)) }, {}, 'there is no such connection')
      const uses = await again.tokenUsesOf(connectionOf(1).id)
      t.strictSame(Object.keys(uses), [idOf(151)])
      t.ok(uses[idOf(151)]! > BEGAN && uses[idOf(151)]! <= BEGAN + ROWS)
    },
  )
}
