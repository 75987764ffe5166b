/** Another process with the same accounts open. */
import type { AccountStore, ApiKey } from '../../../src/store/account-store.js'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { idOf, keyOf, organizationOf, workspaceOf } from '../data/accounts.js'
import { type PeerOptions, type PeerProcess, servePeer, startPeer } from './peer-process.js'

export type AccountRequest =
  | { readonly do: 'key'; readonly hash: string }
  | { readonly do: 'keys' }
  | { readonly do: 'set'; readonly hash: string; readonly to: Partial<ApiKey> }
  /** Raises the limit by one, `times` times at once. */
  | { readonly do: 'raise'; readonly hash: string; readonly times: number }
  /** Founds organization `n`. */
  | { readonly do: 'found'; readonly n: number }
  /** Adds keys until the store refuses one; answers with how many were acknowledged and the fault's kind. */
  | { readonly do: 'fill' }

export type AccountPeer = PeerProcess<AccountRequest, unknown>

/** Starts a process that opens the store at `path`; resolves when it has. */
export function startAccountPeer(path: string, options?: PeerOptions): Promise<AccountPeer> {
  return startPeer(import.meta.url, path, options)
}

async function answerTo(accounts: AccountStore, request: AccountRequest): Promise<unknown> {
  switch (request.do) {
    case 'key':
      return accounts.key(request.hash)
    case 'keys':
      return accounts.keys()
    case 'set':
      return accounts.changeKey(request.hash, (key) => ({ ...key, ...request.to }))
    case 'raise':
      return Promise.all(
        Array.from({ length: request.times }, () =>
          accounts.changeKey(request.hash, (key) => ({ ...key, limit: key.limit! + 1 })),
        ),
      ).then(() => true)
    case 'found':
      return accounts.bootstrap({
        organization: organizationOf(request.n),
        workspaces: [workspaceOf(request.n, idOf(request.n))],
        keys: [keyOf(request.n, { organizationId: idOf(request.n) })],
      })
    case 'fill':
      return fill(accounts)
  }
}

async function fill(accounts: AccountStore): Promise<{ acknowledged: number; kind: string }> {
  const first = accounts.keys().length
  for (let n = first; ; n++) {
    try {
      await accounts.addKey(keyOf(`filling ${n}`, { name: 'x'.repeat(3_000) }))
    } catch (error) {
      return { acknowledged: n - first, kind: (error as { kind: string }).kind }
    }
  }
}

await servePeer(import.meta.url, (path) => {
  const store = openLmdbStore({ path, unixSeconds: () => 1_700_000_000 })
  return {
    answer: (request: AccountRequest) => answerTo(store.accounts, request),
    close: () => store.close(),
  }
})
