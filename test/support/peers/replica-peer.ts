/** A process of a machine of a fleet, as far as its managed records go. */
import { systemClock } from '../../../src/base/clock.js'
import type { ApiKey } from '../../../src/store/account-store.js'
import { openDatabase } from '../../../src/store/postgres/database.js'
import { openReplicatedStore } from '../../../src/store/replicated/open.js'
import { idOf, keyOf, organizationOf, workspaceOf } from '../data/accounts.js'
import { type PeerProcess, servePeer, startPeer } from './peer-process.js'

export type ReplicaRequest =
  /** Raises the limit of a key until it is told to stop by being killed, or has done it so often. */
  | { readonly do: 'raise'; readonly hash: string; readonly times: number }
  | { readonly do: 'key'; readonly hash: string }
  | { readonly do: 'found'; readonly n: number }
  | { readonly do: 'catch-up' }

export type ReplicaPeer = PeerProcess<ReplicaRequest, unknown>

/** Starts a process on the replica of a data folder; resolves when its records are loaded. */
export const startReplicaPeer = (dataDir: string, url: string): Promise<ReplicaPeer> =>
  startPeer(import.meta.url, `${dataDir}\n${url}`)

await servePeer(import.meta.url, async (place) => {
  const [dataDir = '', url = ''] = place.split('\n')
  const database = openDatabase({ url, connections: 2, clock: systemClock, name: 'peer' })
  const barrier = { pass: () => Promise.resolve([]) }
  const { records, accounts } = openReplicatedStore({
    ...{ dataDir, database, barrier },
    machine: 'peer',
    clock: systemClock,
  })
  await records.catchUp()
  const raised = (key: ApiKey): ApiKey => ({ ...key, limit: key.limit! + 1 })
  const answer = async (request: ReplicaRequest): Promise<unknown> => {
    switch (request.do) {
      case 'key':
        return accounts.key(request.hash)
      case 'catch-up':
        return records.catchUp()
      case 'raise':
        for (let n = 0; n < request.times; n++) await accounts.changeKey(request.hash, raised)
        return true
      case 'found':
        return accounts.bootstrap({
          organization: organizationOf(request.n),
          workspaces: [workspaceOf(request.n, idOf(request.n))],
          keys: [keyOf(request.n, { organizationId: idOf(request.n) })],
        })
    }
  }
  const close = async (): Promise<void> => {
    await records.close()
    await database.close()
  }
  return { answer, close }
})
