import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { createSealer, loadSealingKey, SEALING_KEY_FILE } from '../../src/identity/sealing-key.js'
import { tempFolder } from '../support/data/temp-folder.js'

void test('the key is made once, of 32 bytes, and only its owner may read it', async (t) => {
  const folder = tempFolder(t)
  const key = loadSealingKey(folder)
  t.equal(key.length, 32)
  t.strictSame(loadSealingKey(folder), key)
  t.equal(statSync(join(folder, SEALING_KEY_FILE)).mode & 0o777, 0o600)
  t.strictSame(readdirSync(folder), [SEALING_KEY_FILE], 'no draft is left')
  t.notSame(loadSealingKey(tempFolder(t)), key)
})

void test('permissions that let others read it are taken away', async (t) => {
  const folder = tempFolder(t)
  const key = loadSealingKey(folder)
  chmodSync(join(folder, SEALING_KEY_FILE), 0o644)
  t.strictSame(loadSealingKey(folder), key)
  t.equal(statSync(join(folder, SEALING_KEY_FILE)).mode & 0o777, 0o600)
})

void test('a file that is no key is neither used nor replaced', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, SEALING_KEY_FILE), 'short')
  t.throws(() => loadSealingKey(folder), /is not a key of 32 bytes/)
  t.equal(statSync(join(folder, SEALING_KEY_FILE)).size, 5)
})

void test('those who start together get the same key', async (t) => {
  const folder = tempFolder(t)
  const module = new URL('../../src/identity/sealing-key.js', import.meta.url).href
  const script = `
    import { parentPort, workerData } from 'node:worker_threads'
    import { loadSealingKey } from '${module}'
    const { gate, folder } = workerData
    Atomics.add(gate, 0, 1)
    while (Atomics.load(gate, 0) < 8) {}
    parentPort.postMessage(loadSealingKey(folder).toString('hex'))`
  const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`)
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const keys = await Promise.all(
    Array.from({ length: 8 }, () => {
      const worker = new Worker(url, { workerData: { gate, folder } })
      return new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    }),
  )
  t.equal(new Set(keys).size, 1)
  t.strictSame(readdirSync(folder), [SEALING_KEY_FILE])
})

void test('what is sealed opens with the same key for the same purpose, and otherwise not', async (t) => {
  const mine = createSealer(randomBytes(32))
  const sealed = mine.seal(Buffer.from('secret'), 'purpose')
  t.equal(mine.open(sealed, 'purpose')?.toString(), 'secret')
  t.notMatch(sealed, Buffer.from('secret').toString('base64url'))
  t.not(mine.seal(Buffer.from('secret'), 'purpose'), sealed, 'never the same twice')
  t.equal(mine.open(sealed, 'other purpose'), null)
  t.equal(createSealer(randomBytes(32)).open(sealed, 'purpose'), null)
  const bytes = Buffer.from(sealed, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const damaged = Buffer.from(bytes)
    damaged[at]! ^= 1
    t.equal(mine.open(damaged.toString('base64url'), 'purpose'), null)
  }
  for (const cut of ['', 'AAAA', sealed.slice(0, 30)]) t.equal(mine.open(cut, 'purpose'), null)
})
