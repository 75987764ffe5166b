/** contract/practice 3, "Durability": what an acknowledged change is worth after a restart or a kill -9. */
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { httpClient } from '../../support/clients/http-client.js'
import { statsPerWorker } from '../../support/clients/worker-connections.js'
import { makeFolder, removeFolder } from '../../support/data/temp-folder.js'
import { startPracticeServer } from '../../support/servers/practice-server.js'
import { killIfAlive } from '../../support/servers/server-process.js'

interface Item {
  readonly id: number
}

test('an id is never given twice: not after its item is deleted, not after a restart', async (t) => {
  const dataDir = makeFolder()
  const ids: number[] = []
  for (let round = 0; round < 3; round++) {
    const again = await startPracticeServer({ dataDir })
    const near = httpClient(again.baseUrl)
    for (let i = 0; i < 3; i++) {
      const { id } = (await near.write('POST', '/api/v1/items', { name: 'short-lived' })).json as Item
      ids.push(id)
      t.equal((await near.send({ method: 'DELETE', path: `/api/v1/items/${id}` })).status, 204)
    }
    near.close()
    await again.stop()
  }
  t.strictSame(ids, [1, 2, 3, 4, 5, 6, 7, 8, 9])
  removeFolder(dataDir)
})

test('items are the same bytes after a restart', async (t) => {
  const dataDir = makeFolder()
  const first = await startPracticeServer({ dataDir })
  const before = httpClient(first.baseUrl)
  for (let i = 0; i < 40; i++) await before.write('POST', '/api/v1/items', { name: `😀 ${i}`, price: i / 3 })
  for (const id of [1, 16, 17, 40]) await before.send({ method: 'DELETE', path: `/api/v1/items/${id}` })
  const list = (await before.get('/api/v1/items?limit=100')).text
  before.close()
  await first.stop()
  const second = await startPracticeServer({ dataDir })
  const later = httpClient(second.baseUrl)
  t.equal((await later.get('/api/v1/items?limit=100')).text, list)
  t.equal((await later.get('/api/v1/search?q=%F0%9F%98%80&limit=100')).text, list)
  later.close()
  await second.stop()
  removeFolder(dataDir)
})

test('kill -9 of every process loses no acknowledged change and gives no id twice', async (t) => {
  const dataDir = makeFolder()
  const expected = new Map<number, string | null>()
  const given: number[] = []
  let pending = 0
  for (let round = 0; round < 3; round++) {
    const doomed = await startPracticeServer({ dataDir })
    const near = httpClient(doomed.baseUrl, 16)
    const pids = [doomed.pid, ...(await statsPerWorker(doomed.baseUrl)).map(({ pid }) => pid)]
    const write = async (i: number): Promise<void> => {
      pending++
      const made = await near.write('POST', '/api/v1/items', { name: `round ${round} item ${i}` })
      const { id } = made.json as Item
      given.push(id)
      expected.set(id, made.text)
      if (i % 3 === 1) {
        expected.delete(id) // while the change is under way either outcome is right
        expected.set(id, (await near.write('PUT', `/api/v1/items/${id}`, { name: `changed ${i}` })).text)
      } else if (i % 3 === 2) {
        expected.delete(id)
        await near.send({ method: 'DELETE', path: `/api/v1/items/${id}` })
        expected.set(id, null)
      }
    }
    let killed = false
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let i = writer; !killed; i += 16) {
        try {
          await write(i)
        } catch (error) {
          if (!killed) throw error
        }
        if (given.length >= 400 * (round + 1) && !killed) {
          killed = true
          for (const pid of pids) killIfAlive(pid)
        }
      }
    })
    await Promise.all(writers)
    await doomed.ended()
    near.close()
  }
  t.equal(new Set(given).size, given.length, 'no id twice')
  const survivor = await startPracticeServer({ dataDir })
  const near = httpClient(survivor.baseUrl)
  const wrong: string[] = []
  for (const [id, text] of expected) {
    const reply = await near.get(`/api/v1/items/${id}`)
    if (text === null ? reply.status !== 404 : reply.text !== text)
      wrong.push(`${id}: ${reply.status} ${reply.text}`)
  }
  t.strictSame(wrong, [], `${expected.size} items are as they were acknowledged`)
  const { id } = (await near.write('POST', '/api/v1/items', { name: 'next' })).json as Item
  t.ok(id > Math.max(...given), 'the next id is new')
  t.ok(id <= Math.max(...given) + pending, 'the gap is no larger than what was under way')
  near.close()
  await survivor.stop()
  removeFolder(dataDir)
})

test('the store opens in any folder, also one whose name looks like a file', async (t) => {
  const parent = makeFolder()
  const folders: readonly [string, boolean][] = [
    ['sluice-1.0', true],
    ['sluice-1.1', false],
    ['my größe 😀', false],
  ]
  for (const [name, exists] of folders) {
    const dataDir = join(parent, name)
    if (exists) mkdirSync(dataDir)
    const about = `${encodeURIComponent(name)}, which ${exists ? 'exists' : 'is new'}`
    const started = await startPracticeServer({ dataDir, env: { SLUICE_WORKERS: '1' } }).catch(String)
    if (typeof started === 'string') {
      t.fail(`${about}: ${started}`)
      continue
    }
    await started.stop()
    t.strictSame(storeFiles(dataDir), STORE_FILES, about)
  }
  removeFolder(parent)
})

const STORE_FILES = ['data.mdb', 'format.json', 'ledger', 'lock.mdb', 'signing.key']

function storeFiles(folder: string): string[] {
  return statSync(folder).isDirectory() ? readdirSync(folder).toSorted() : ['not a folder']
}
