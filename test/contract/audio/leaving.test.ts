/** Callers who leave a transcription or an upload: nothing is left behind, neither files nor connections. */
import { readdirSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import tap, { test } from 'tap'
import { childrenOf } from '../../../bench/harness/machine/proc.js'
import { formOf } from '../../support/clients/incoming-body.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const upstream = await mockUpstream(tap)
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: { ears: { kind: 'openai', base_url: `${upstream.origin}/v1`, breaker: false } },
    models: { 'acme/ears': { output_modalities: ['transcription'], endpoints: [{ provider: 'ears' }] } },
  },
})
tap.teardown(() => server.stop())

const MIB = 1024 * 1024
const BOUNDARY = 'leaving-boundary'
const FORM = formOf(BOUNDARY, [
  { name: 'model', content: 'acme/ears' },
  { name: 'file', filename: 'a.pcm', content: Buffer.alloc(4 * MIB, 7) },
])

/** Sends the first `bytes` of the form; the rest stays away. */
function sending(path: string, bytes: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.apiUrl)
    const socket = connect(Number(port), '127.0.0.1', () => {
      const lines = [
        `POST /api/v1${path} HTTP/1.1`,
        'Host: t',
        `Authorization: Bearer ${MANAGEMENT_KEY}`,
        `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
        `Content-Length: ${FORM.length}`,
      ]
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      socket.write(FORM.subarray(0, bytes), () => resolve(socket))
    })
    socket.on('error', reject)
  })
}

/** Files of the spool and beginnings of uploads that a worker holds open. */
function heldFiles(): string[] {
  const pid = workerPid()
  return readdirSync(`/proc/${pid}/fd`)
    .map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`)
      } catch {
        return ''
      }
    })
    .filter((path) => /\/spool\/|\/incoming\//.test(path))
}

function workerPid(): number {
  return childrenOf(server.pid)[0]!
}

test('who leaves in the middle of an upload leaves nothing behind', async (t) => {
  for (const path of ['/audio/transcriptions', '/files']) {
    const socket = await sending(path, 3 * MIB)
    await eventually(() => heldFiles().length === 1)
    t.equal(heldFiles().length, 1, 'it is on the disk')
    socket.destroy()
    await eventually(() => heldFiles().length === 0)
    t.same(heldFiles(), [])
  }
  t.equal(upstream.requests.length, 0, 'nothing was sent')
})

test('who leaves during the transcription ends the call of the provider, and the spool is given back', async (t) => {
  let asked: () => void = () => {}
  const reached = new Promise<void>((resolve) => {
    asked = resolve
  })
  let closed: Promise<void> = Promise.resolve()
  upstream.script = (peer) => {
    closed = new Promise((resolve) => void peer.socket.on('close', () => resolve()))
    asked()
  }
  const socket = await sending('/audio/transcriptions', FORM.length)
  await reached
  t.equal(heldFiles().length, 1)
  socket.destroy()
  await closed
  await eventually(() => heldFiles().length === 0)
  t.same(heldFiles(), [])
})

test('who leaves with the last byte leaves nothing behind either', async (t) => {
  for (let round = 0; round < 10; round++) {
    const socket = await sending('/audio/transcriptions', FORM.length)
    socket.destroy()
  }
  await eventually(() => heldFiles().length === 0)
  await eventually(() => upstream.open() === 0)
  t.same(heldFiles(), [])
})
