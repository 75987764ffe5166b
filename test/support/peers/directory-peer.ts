/** Another process that changes the directory of a store until it is killed. */
import type { DirectoryStore } from '../../../src/store/directory-store.js'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { ACTOR, connectionOf, directoryGroupOf, memberOf } from '../data/directory.js'
import { type PeerProcess, servePeer, startPeer } from './peer-process.js'

export type DirectoryRequest =
  /** Adds people from a number on, without end: into a group, renamed, deleted. `{ done }` for each that was acknowledged. */
  | { readonly do: 'sync'; readonly from: number }
  /** Removes connection 1; `{ done }` as soon as it is not there any more; then it stands still. */
  | { readonly do: 'remove-connection' }

export type DirectoryPeer = PeerProcess<DirectoryRequest, unknown>

/** Starts a process that opens the store at `path`; resolves when it has. */
export function startDirectoryPeer(path: string): Promise<DirectoryPeer> {
  return startPeer(import.meta.url, path)
}

const GROUP = directoryGroupOf(1)

async function sync({ members, groups }: DirectoryStore, from: number): Promise<never> {
  const change = (op: 'add' | 'remove', n: number) =>
    groups.changeGroup(
      GROUP.id,
      (group) => ({ group, members: [{ op, members: [memberOf(n).id] }] }),
      GROUP.createdAt + n,
      ACTOR,
    )
  for (let n = from; ; n++) {
    const { id, createdAt } = memberOf(n)
    await members.addMember(memberOf(n), ACTOR)
    process.send!({ done: n })
    // What goes on at the same time shares a transaction, or follows in the next.
    await Promise.all([
      change('add', n),
      n % 3 === 0 && change('remove', n - 1),
      n % 4 === 0 && members.removeMember(memberOf(n - 2).id, () => null, createdAt, ACTOR),
      members.changeMember(
        id,
        (member) => ({ ...member, userName: `renamed ${n}`, externalId: `e${n % 5}` }),
        ACTOR,
      ),
    ])
  }
}

/** Comes no further: it is killed where it is, however late. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

async function removeConnection({ connections }: DirectoryStore): Promise<boolean> {
  const { id } = connectionOf(1)
  const tellWhenGone = (): void => {
    if (connections.connection(id) === null) process.send!({ done: 0 }, standStill)
    else setImmediate(tellWhenGone)
  }
  tellWhenGone()
  return connections.removeConnection(id, connectionOf(1).createdAt, ACTOR)
}

void servePeer<DirectoryRequest>(import.meta.url, (path) => {
  const store = openLmdbStore({ path, unixSeconds: () => 0 })
  return {
    answer: (request) =>
      request.do === 'sync' ? sync(store.directory, request.from) : removeConnection(store.directory),
    close: () => store.close(),
  }
})
