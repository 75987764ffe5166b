/** What callers get when there is no room for what they send. */
import { statfsSync } from 'node:fs'
import { test } from 'tap'
import { API_KEY, serve } from '../support/servers/server-process.js'

const ONE = { SLUICE_WORKERS: '1' }
const item = (size: number): string => JSON.stringify({ name: 'x', description: 'x'.repeat(size), price: 1 })

function send(url: string, method: string, path: string, body?: string | FormData): Promise<Response> {
  const headers = { Authorization: `Bearer ${API_KEY}` }
  const type = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}
  return fetch(`${url}/api/v1${path}`, {
    method,
    headers: { ...headers, ...type },
    ...(body !== undefined && { body }),
  })
}

function form(bytes: number): FormData {
  const data = new FormData()
  data.append('file', new Blob([Buffer.alloc(bytes, 'x')]), 'f.txt')
  return data
}

test('beyond their quotas items get 503 with a time to retry, files 403 with what to do, and both can be deleted', async (t) => {
  const { url } = await serve(t, {
    ...ONE,
    SLUICE_ITEM_STORAGE_BYTES: '1000',
    SLUICE_FILE_STORAGE_BYTES: '1000',
  })
  t.equal((await send(url, 'POST', '/items', item(500))).status, 201)
  const refused = await send(url, 'POST', '/items', item(500))
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '30')
  t.same(await refused.json(), { detail: 'Service temporarily unavailable' })
  t.equal((await send(url, 'DELETE', '/items/1')).status, 204)
  t.equal((await send(url, 'POST', '/items', item(500))).status, 201)
  const stored = await send(url, 'POST', '/files', form(800))
  t.equal(stored.status, 200)
  const { id } = (await stored.json()) as { id: string }
  const tooMuch = await send(url, 'POST', '/files', form(800))
  t.equal(tooMuch.status, 403)
  t.match(await tooMuch.json(), {
    error: { code: 403, message: /with 1000 bytes in all: delete some first/ },
  })
  t.equal((await send(url, 'DELETE', `/files/${id}`)).status, 200)
  t.equal((await send(url, 'POST', '/files', form(800))).status, 200)
})

test('on a disk that is full but for its reserve uploads and new items get 503, everything else goes on, and one line says so', async (t) => {
  const { bavail, bsize } = statfsSync('/tmp')
  const { server, url } = await serve(t, { ...ONE, SLUICE_DISK_RESERVE_BYTES: String(bavail * bsize * 2) })
  for (let n = 0; n < 5; n++) {
    t.equal((await send(url, 'POST', '/items', item(10))).status, 503)
    const upload = await send(url, 'POST', '/files', form(10))
    t.equal(upload.status, 503)
    t.equal(upload.headers.get('retry-after'), '30')
    await upload.arrayBuffer()
  }
  const chat = JSON.stringify({ model: 'sim/instant', messages: [{ role: 'user', content: 'hello' }] })
  t.equal((await send(url, 'POST', '/chat/completions', chat)).status, 200)
  t.equal(server.logged('the disk is full but for its reserve: uploads and new items are refused').length, 1)
})
