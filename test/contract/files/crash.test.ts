/** What becomes of an upload whose server is killed. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'tap'
import { childrenOf } from '../../../bench/harness/machine/proc.js'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { formOf } from '../../support/clients/incoming-body.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { API_KEY, type GatewayServer, startGateway } from '../../support/servers/gateway-server.js'
import { killIfAlive } from '../../support/servers/server-process.js'
import { eventually } from '../../support/timing/eventually.js'

const BOUNDARY = 'xxBOUNDARYxx'
const ROUNDS = 3

/** Names of all files below the folder of contents. */
function onDisk(dataDir: string): string[] {
  const folder = join(dataDir, 'files')
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

async function uploaded(server: GatewayServer, content: Uint8Array): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob([content]), 'a.bin')
  return ((await (await server.post('/files', form)).json()) as { id: string }).id
}

/** Sends all but the end of a form and keeps the connection. */
function begin({ port }: GatewayServer, content: Buffer): void {
  const form = formOf(BOUNDARY, [{ name: 'file', filename: 'half.bin', content }])
  const head = [
    'POST /api/v1/files HTTP/1.1',
    'Host: t',
    `Authorization: Bearer ${API_KEY}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Content-Length: ${form.length}`,
  ]
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(form.subarray(0, -20))
}

test('what was acknowledged is whole after a kill, and of the rest nothing is left after the next start', async (t) => {
  const dataDir = tempFolder(t)
  const kept = new Map<string, string>()
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startGateway({ dataDir })
    t.strictSame(onDisk(dataDir).sort(), [...kept.keys()].sort(), 'nothing but files at the start')
    for (let n = 0; n < 3; n++) begin(server, randomBytes(300_000))
    const content = randomBytes(200_000 + round)
    kept.set(await uploaded(server, content), createHash('sha256').update(content).digest('hex'))
    await eventually(() => onDisk(dataDir).length >= kept.size + 3)
    // Uploads that may be anywhere between their first byte and their record.
    const racing = Array.from({ length: 4 }, () => uploaded(server, randomBytes(50_000)).catch(() => null))
    const workers = childrenOf(server.pid)
    server.signal('SIGKILL')
    for (const pid of workers) killIfAlive(pid)
    await server.ended()
    const store = openLmdbStore({ path: dataDir, unixSeconds: () => 0 })
    for (const id of await Promise.all(racing)) {
      if (id === null || id === undefined) continue
      t.ok(await store.files.isIntact(store.files.file(id)!), 'acknowledged before the kill')
    }
    const [key] = store.accounts.keys().filter(({ kind }) => kind === 'workspace')
    const all = store.files.filesOf(key!.workspaceId!, {
      newestFirst: true,
      after: null,
      before: null,
      limit: 100,
    })
    for (const record of all.files) t.ok(await store.files.isIntact(record), 'a record has its whole content')
    for (const [id, sha256] of kept) {
      const { sizeBytes } = store.files.file(id)!
      const reading = await store.files.openContent(store.files.file(id)!, 0, sizeBytes)
      const digest = createHash('sha256')
      for (let piece = await reading.read(); piece.length > 0; piece = await reading.read())
        digest.update(piece)
      t.equal(digest.digest('hex'), sha256)
      reading.close()
    }
    // What the racing ones left counts from now on as well: its record says so.
    for (const { id } of all.files) if (!kept.has(id)) await store.files.removeFile(id)
    await store.close()
  }
})
