import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { restrictStoreAccess } from '../../src/process/store-privacy.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { API_KEY, runSluice, type ServerProcess, serve } from '../support/servers/server-process.js'

/** Paths that other users may reach, the folder itself as `.`. */
function openToOthers(folder: string): string[] {
  const entries = ['.', ...(readdirSync(folder, { recursive: true }) as string[])]
  const isOpen = (name: string): boolean => {
    const found = lstatSync(join(folder, name))
    // A link (the lock of the folder) has no rights of its own.
    return !found.isSymbolicLink() && (found.mode & 0o077) !== 0
  }
  return entries.filter(isOpen).sort()
}

/** A server that has written everything a store consists of, and has ended. */
async function usedServer(t: Test, env: Record<string, string>): Promise<ServerProcess> {
  const { server, url } = await serve(t, env)
  const headers = { Authorization: `Bearer ${API_KEY}` }
  const form = new FormData()
  form.append('file', new Blob(['kept']), 'a.txt')
  t.equal((await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body: form })).status, 200)
  const chat = await fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: 'sim/instant', messages: [{ role: 'user', content: 'hi' }] }),
  })
  t.equal(chat.status, 200)
  await chat.text()
  await server.stop()
  return server
}

test('other users reach nothing of a store, whatever made it: server, workers or command line', async (t) => {
  const dataDir = join(tempFolder(t), 'data')
  const env = { SLUICE_WORKERS: '2', SLUICE_DATA_DIR: dataDir }
  const server = await usedServer(t, env)
  t.strictSame(openToOthers(dataDir), [])
  t.match(readdirSync(dataDir).sort(), [
    'data.mdb',
    'files',
    'format.json',
    'ledger',
    'lock.mdb',
    'signing.key',
  ])
  t.notMatch(server.stderr, 'other users')
  const { code } = await runSluice(t, ['keys', 'create', '--name', 'x'], { env })
  t.equal(code, 0)
  t.strictSame(openToOthers(dataDir), [])
})

test('a store that was open to others is closed at the start, and the log says so', async (t) => {
  const dataDir = join(tempFolder(t), 'data')
  const env = { SLUICE_WORKERS: '1', SLUICE_DATA_DIR: dataDir }
  await usedServer(t, env)
  mkdirSync(join(dataDir, 'spool'), { recursive: true })
  const all = ['.', ...(readdirSync(dataDir, { recursive: true }) as string[])]
  for (const name of all.filter((name) => !/file_|signing/.test(name))) {
    const path = join(dataDir, name)
    chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644)
  }
  t.ok(openToOthers(dataDir).length > 6)
  const { server: again } = await serve(t, env)
  t.strictSame(openToOthers(dataDir), [])
  const [told, ...more] = again.log.filter(({ msg }) => msg.includes('other users'))
  t.match(told, { msg: 'took the store from the reach of other users of this machine' })
  t.strictSame(more, [])
})

test('what is not ours in the folder of the store stays as it is, and so does a folder that users share', (t) => {
  const folder = tempFolder(t)
  chmodSync(folder, 0o755)
  for (const name of ['notes.txt', 'data.mdb']) {
    writeFileSync(join(folder, name), '')
    chmodSync(join(folder, name), 0o644)
  }
  t.strictSame(restrictStoreAccess(folder), { closed: 2, open: [] })
  t.strictSame(openToOthers(folder), ['notes.txt'])
  t.strictSame(restrictStoreAccess(folder), { closed: 0, open: [] })
  chmodSync(folder, 0o1777)
  t.match(restrictStoreAccess(folder), { closed: 0, open: [{ path: folder, reason: /users share/ }] })
  t.equal(statSync(folder).mode & 0o7777, 0o1777)
  t.strictSame(restrictStoreAccess(join(folder, 'none')), { closed: 0, open: [] })
  t.end()
})
