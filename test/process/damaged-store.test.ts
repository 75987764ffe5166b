/** A damaged database is named with what to do, before anything of the server dies of it. */
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { createLog } from '../../src/base/log.js'
import { checkStore } from '../../src/process/store-check.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { API_KEY, ServerProcess, serve } from '../support/servers/server-process.js'

const ENV = { SLUICE_WORKERS: '1', SLUICE_SEED_ITEMS: '5000' }
const PAGE = 4096

/** A folder in which a server has served a little, and ended. */
async function usedFolder(t: Test): Promise<string> {
  const folder = tempFolder(t)
  const { server, url } = await serve(t, ENV, folder)
  for (let n = 0; n < 3; n++) {
    const response = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'sim/instant', messages: [{ role: 'user', content: 'hello' }] }),
    })
    t.equal(response.status, 200)
    await response.arrayBuffer()
  }
  t.match(await server.stop(), { code: 0 })
  return folder
}

type Damage = (path: string) => void

const DAMAGES: Readonly<Record<string, Damage>> = {
  'whose end is missing': (path) => truncateSync(path, 3 * PAGE),
  'that is something else': (path) => writeFileSync(path, 'no database\n'.repeat(1_000)),
  'whose pages are garbage': (path) => {
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 2 * PAGE)
    writeFileSync(path, bytes)
  },
}

const DATABASES = [
  ['data.mdb', /Put a backup of the whole data folder in its place, or move the folder away/],
  [join('ledger', 'data.mdb'), /or move the file away: then the ledger begins anew/],
] as const

test('a damaged database ends the start with one sentence that names it and says what to do', async (t) => {
  const folder = await usedFolder(t)
  for (const [name, remedy] of DATABASES) {
    const path = join(folder, 'data', name)
    const sound = readFileSync(path)
    for (const [about, damage] of Object.entries(DAMAGES)) {
      damage(path)
      const server = ServerProcess.start(t, { folder, env: ENV })
      t.match(await server.exited(), { code: 1, signal: null }, `${name} ${about}`)
      t.match(server.stderr, `sluice: the database ${path} is damaged (reading it ended with `)
      t.match(server.stderr, remedy)
      t.equal(server.stderr.split('\n').length, 2, 'and nothing else')
      t.equal(server.stdout, '')
    }
    writeFileSync(path, sound)
  }
  const { url } = await serve(t, ENV, folder)
  t.equal((await fetch(`${url}/api/v1/items/5000`)).status, 200, 'nothing was changed by the looks')
})

test('a reader that cannot be started tells of no damage', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'data.mdb'), 'something')
  const { execPath } = process
  t.teardown(() => {
    process.execPath = execPath
  })
  process.execPath = join(folder, 'nowhere')
  const log = createLog('silent', 'test')
  await t.rejects(checkStore(folder, false, log), {
    message: /data\.mdb could not be checked: spawn .*nowhere ENOENT/,
  })
})

test('without its ledger, as the sentence says, the server begins a new one', async (t) => {
  const folder = await usedFolder(t)
  rmSync(join(folder, 'data', 'ledger', 'data.mdb'))
  const { url } = await serve(t, ENV, folder)
  t.equal((await fetch(`${url}/api/v1/items/5000`)).status, 200)
})
