/**
 * Another process with the same accounts open. As a program it answers requests over IPC; imported, it starts that
 * program and sends them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { AccountStore, ApiKey } from '../../../src/store/account-store.js'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { idOf, keyOf, organizationOf, workspaceOf } from '../data/accounts.js'

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

/** The other process. */
export interface AccountPeer {
  readonly child: ChildProcess
  /** One request at a time. */
  ask(request: AccountRequest): Promise<unknown>
  /** Closes the store and waits for the end of the process. */
  end(): Promise<void>
}

export interface AccountPeerOptions {
  /** Largest size a file of the process may have, in KiB: for it, the disk is full beyond that. */
  readonly fileKiB?: number
}

/** Starts a process that opens the store at `path`; resolves when it has. */
export async function startAccountPeer(path: string, options: AccountPeerOptions = {}): Promise<AccountPeer> {
  // Node ignores SIGXFSZ, so that a write beyond the limit fails and does not kill. The test runner puts hooks into
  // the environment of all children, and one of them lets that signal kill.
  const limit = options.fileKiB === undefined ? '' : `ulimit -f ${options.fileKiB}; `
  const program = fileURLToPath(import.meta.url)
  const child = spawn(
    'bash',
    ['-c', `${limit}exec env -u NODE_OPTIONS "$0" "$@"`, process.execPath, program, path],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    },
  )
  await once(child, 'message')
  return {
    child,
    ask: (request) =>
      new Promise((resolve, reject) => {
        const died = (): void => reject(new Error('the other process has died'))
        child.once('exit', died)
        child.once('message', ({ answer }: { answer: unknown }) => {
          child.off('exit', died)
          resolve(answer)
        })
        child.send(request)
      }),
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
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

function serve(path: string): void {
  const store = openLmdbStore({ path, unixSeconds: () => 1_700_000_000 })
  process.on('message', (request: AccountRequest) => {
    void answerTo(store.accounts, request).then((answer) => process.send!({ answer }))
  })
  process.on('disconnect', () => void store.close().then(() => process.exit(0)))
  process.send!('open')
}

const path = process.argv[2]
if (process.argv[1] === fileURLToPath(import.meta.url) && path !== undefined) serve(path)
