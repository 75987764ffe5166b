/** A directory whose process is killed in the middle of changes: each of them is there whole, or not at all. */
import { once } from 'node:events'
import { test } from 'tap'
import { BEGAN, idOf } from '../support/data/accounts.js'
import {
  ACTOR,
  addMembers,
  addTwoOrganizations,
  connectionOf,
  directoryGroupOf,
  mappingOf,
  memberOf,
} from '../support/data/directory.js'
import { breachesOf, contentsOfDirectory, removalsUnderWay } from '../support/data/directory-contents.js'
import { openStore } from '../support/data/open-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type DirectoryPeer, startDirectoryPeer } from '../support/peers/directory-peer.js'

const KILLS = 5
/** People of a round, who are acknowledged before the kill. */
const ADDED = 25

/** Kills the process as soon as it has told so often that something is done; resolves with what it told. */
async function killAfter({ child }: DirectoryPeer, count: number): Promise<number[]> {
  const told: number[] = []
  child.on('message', ({ done }: { done: number }) => {
    told.push(done)
    if (told.length >= count) child.kill('SIGKILL')
  })
  await once(child, 'exit')
  return told
}

test('a sync that is killed over and over has lost nothing it was told, and half of nothing is there', async (t) => {
  const path = tempFolder(t)
  const store = openStore(t, path)
  await addTwoOrganizations(store)
  await store.directory.connections.addConnection(connectionOf(1), ACTOR)
  await store.directory.groups.addGroup(directoryGroupOf(1), [], ACTOR)
  const added: number[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const peer = await startDirectoryPeer(path)
    peer.child.send({ do: 'sync', from: kill * 1_000 + 10 })
    added.push(...(await killAfter(peer, ADDED)))
    t.strictSame(breachesOf(await contentsOfDirectory(path)), [], `after kill ${kill + 1}`)
  }
  t.ok(added.length >= KILLS * ADDED)
  t.ok(added.every((n) => store.directory.members.member(memberOf(n).id) !== null))
  const scope = { organizationId: idOf(1), connectionId: connectionOf(1).id }
  const { entries, total } = store.directory.members.membersOf(scope, { by: 'all' }, 0, 10_000)
  t.equal(entries.length, total)
  t.equal(new Set(entries.map(({ userName }) => userName)).size, total, 'nobody is there twice')
})

test('a connection whose removal is killed is gone at once, and what is left of it goes with later changes', async (t) => {
  const path = tempFolder(t)
  const store = openStore(t, path)
  const { directory, scim } = store
  await addTwoOrganizations(store)
  for (const n of [1, 2]) await directory.connections.addConnection(connectionOf(n), ACTOR)
  const members = await addMembers(store, 1_000)
  const ids = members.map(({ id }) => id)
  await directory.groups.addGroup(directoryGroupOf(1), ids, ACTOR)
  await scim.addMapping(mappingOf(1, directoryGroupOf(1).id), ACTOR)
  t.equal(scim.roleOf(idOf(2), ids[999]!), 'member')
  const peer = await startDirectoryPeer(path)
  peer.child.send({ do: 'remove-connection' })
  await killAfter(peer, 1)
  t.ok(removalsUnderWay(await contentsOfDirectory(path)) > 0, 'it was killed in the middle')
  t.equal(directory.connections.connection(connectionOf(1).id), null)
  for (const id of [ids[0]!, ids[500]!, ids[999]!]) {
    t.equal(scim.roleOf(idOf(2), id), null)
    t.match(directory.members.member(id), { deletedAt: BEGAN, userName: '', document: {} })
    t.match(directory.members.factsOf(id), { deleted: true, active: false })
  }
  t.equal(directory.groups.group(directoryGroupOf(1).id), null)
  for (let changes = 0; changes < 500; changes += 10) {
    const change = () =>
      directory.connections.changeConnection(connectionOf(2).id, (current) => current, ACTOR)
    await Promise.all(Array.from({ length: 10 }, change))
    if (removalsUnderWay(await contentsOfDirectory(path)) === 0) break
  }
  const contents = await contentsOfDirectory(path)
  t.equal(removalsUnderWay(contents), 0)
  t.strictSame(breachesOf(contents), [])
  t.notOk(
    [...contents.values()].some((value) => value.includes('example.test')),
    'nothing tells who they were',
  )
})
