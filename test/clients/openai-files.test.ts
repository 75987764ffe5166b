/** Files with the `openai` package, unmodified, against a real server. */
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI, { APIError, toFile } from 'openai'
import tap, { test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { tempFolder } from '../support/data/temp-folder.js'
import {
  API_KEY,
  type GatewayServer,
  MANAGEMENT_KEY,
  startGateway,
} from '../support/servers/gateway-server.js'

const server: GatewayServer = await startGateway()
tap.after(() => server.stop())
/** The server's own store, opened a second time: what a model makes is made through this port. */
const store = openLmdbStore({ path: server.dataDir, unixSeconds: () => Date.now() / 1000 })
tap.after(() => store.close())

const clientOf = (apiKey: string): OpenAI => new OpenAI({ baseURL: server.apiUrl, apiKey, maxRetries: 0 })
const client = clientOf(API_KEY)
const manager = clientOf(MANAGEMENT_KEY)

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Of what lies on the disk: an uploaded file is not to be had from the server. */
async function storedHash(id: string): Promise<string> {
  const record = store.files.file(id)!
  const reading = await store.files.openContent(record, 0, record.sizeBytes)
  const hash = createHash('sha256')
  for (let piece = await reading.read(); piece.length > 0; piece = await reading.read()) hash.update(piece)
  reading.close()
  return hash.digest('hex')
}

async function statusOf(asked: Promise<unknown>): Promise<number> {
  try {
    await asked
    return 200
  } catch (error) {
    if (error instanceof APIError) return error.status ?? 0
    throw error
  }
}

test('files.create, retrieve, list and delete', async (t) => {
  const content = randomBytes(3_000_000)
  const made = await client.files.create({ file: await toFile(content, 'noise.bin'), purpose: 'user_data' })
  t.match(made, { object: 'file', filename: 'noise.bin', bytes: content.length, purpose: 'user_data' })
  t.strictSame(await client.files.retrieve(made.id), made)
  const record = store.files.file(made.id)!
  t.equal(await storedHash(made.id), hashOf(content))
  t.ok(await store.files.isIntact(record))
  const more = await client.files.create({
    file: await toFile(Buffer.from('hello'), 'b.txt'),
    purpose: 'assistants',
  })
  const listed: string[] = []
  for await (const file of client.files.list({ limit: 1 })) listed.push(file.id)
  t.strictSame(listed, [more.id, made.id], 'page by page, newest first')
  const ascending = await client.files.list({ order: 'asc', limit: 5 })
  t.strictSame(
    ascending.data.map(({ id }) => id),
    [made.id, more.id],
  )
  t.strictSame(await client.files.delete(made.id), { id: made.id, object: 'file', deleted: true })
  t.equal(await statusOf(client.files.retrieve(made.id)), 404)
  t.equal(await statusOf(client.files.delete(made.id)), 404)
})

test('files.content of a file that the server has made', async (t) => {
  const content = randomBytes(5_000_001)
  const key = store.accounts.keys().find(({ kind }) => kind === 'workspace')!
  const { organizationId, workspaceId } = key
  const about = { organizationId, workspaceId: workspaceId!, filename: 'made.bin', purpose: null }
  const { id } = await store.files.createFile({ ...about, origin: 'created' }, content)
  const response = await manager.files.content(id)
  t.equal(response.headers.get('content-type'), 'application/octet-stream')
  t.equal(hashOf(Buffer.from(await response.arrayBuffer())), hashOf(content))
  const part = await manager.files.content(id, { headers: { Range: 'bytes=1000000-1000009' } })
  t.equal(part.status, 206)
  t.ok(Buffer.from(await part.arrayBuffer()).equals(content.subarray(1_000_000, 1_000_010)))
  t.equal(await statusOf(client.files.content(id)), 403, 'not for ordinary keys')
  t.equal(await statusOf(clientOf('sk-nobody').files.content(id)), 401)
  const uploaded = await client.files.create({
    file: await toFile(Buffer.from('x'), 'x'),
    purpose: 'user_data',
  })
  t.equal(await statusOf(manager.files.content(uploaded.id)), 400)
  t.equal(await statusOf(manager.files.content('file_unknown')), 404)
})

test('many uploads and downloads at once keep apart', async (t) => {
  const contents = Array.from({ length: 12 }, (_, i) => randomBytes(700_000 + i))
  const made = await Promise.all(
    contents.map(async (content, i) =>
      client.files.create({ file: await toFile(content, `${i}.bin`), purpose: 'user_data' }),
    ),
  )
  for (const [i, { id }] of made.entries()) {
    t.match(store.files.file(id), { filename: `${i}.bin` })
    t.equal(await storedHash(id), hashOf(contents[i]!))
  }
})

// The package sends a stream of a file in chunks, because it does not know its size (contract/decisions 47).
test('files.create of a file that is read while it is sent', async (t) => {
  const folder = tempFolder(t)
  const saved = (name: string, size: number) => {
    const content = randomBytes(size)
    const path = join(folder, name)
    writeFileSync(path, content)
    return { name, path, content }
  }
  const files = [1, 4_000, 700_000, 5_000_001].map((size) => saved(`${size}.bin`, size))
  const sent = async ({ name, path, content }: (typeof files)[number]) => {
    const made = await client.files.create({ file: createReadStream(path), purpose: 'user_data' })
    t.match(made, { filename: name, bytes: content.length })
    t.equal(await storedHash(made.id), hashOf(content), name)
  }
  for (const file of files) await sent(file)
  await Promise.all([...files, ...files].map(sent))
})

test('a file that is read while it is sent is refused with a status, not with a broken connection', async (t) => {
  const path = join(tempFolder(t), 'large.bin')
  writeFileSync(path, Buffer.alloc(12 * 1024 * 1024))
  const upload = (by: OpenAI) => by.files.create({ file: createReadStream(path), purpose: 'user_data' })
  t.equal(await statusOf(upload(clientOf('sk-nobody'))), 401)
  const small = await startGateway({ config: { limits: { upload_body_bytes: 1024 * 1024 } } })
  t.after(() => small.stop())
  const there = new OpenAI({ baseURL: small.apiUrl, apiKey: API_KEY, maxRetries: 0 })
  t.equal(await statusOf(upload(there)), 413)
})
