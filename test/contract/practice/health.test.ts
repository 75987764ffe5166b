/** contract/practice 4, `GET /health`, and what the callers see of a shutdown. */
import { after, test } from 'tap'
import { holdUpload } from '../../support/clients/held-upload.js'
import { type HttpClient, type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { clientPerWorker, workerNumber } from '../../support/clients/worker-connections.js'
import { startPracticeServer } from '../../support/servers/practice-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await startPracticeServer()
after(() => server.stop())

interface Health {
  readonly status: string
  readonly version: string
  readonly worker: number
  readonly uptime_s: number
}

test('health has exactly these members, in this order', async (t) => {
  const clients = await clientPerWorker(server.baseUrl)
  for (const [place, client] of clients.entries()) {
    const reply = await client.get('/api/v1/health')
    const body = reply.json as Health
    t.equal(reply.status, 200)
    t.strictSame(Object.keys(body), ['status', 'version', 'worker', 'uptime_s'])
    t.strictSame(
      { ...body, uptime_s: 0 },
      {
        status: 'ok',
        version: '2.0',
        worker: workerNumber(place),
        uptime_s: 0,
      },
    )
    const later = (await client.get('/api/v1/health')).json as Health
    t.ok(body.uptime_s > 0 && later.uptime_s >= body.uptime_s, 'uptime grows')
    t.ok(later.uptime_s < 600, 'and counts seconds')
    client.close()
  }
})

/** The connection is closed by its first answer once the drain has begun; until then it can be asked again. */
function whileDraining(client: HttpClient): Promise<HttpReply> {
  return eventually(async () => {
    const reply = await client.get('/api/v1/health')
    return reply.status === 503 ? reply : null
  })
}

test('while shutting down health answers 503 and draining, and what is under way is finished', async (t) => {
  const leaving = await startPracticeServer({ env: { SLUICE_WORKERS: '1' } })
  const spares = Array.from({ length: 3 }, () => httpClient(leaving.baseUrl, 1))
  for (const spare of spares) await spare.get('/api/v1/health')
  const upload = await holdUpload(t, leaving.port)
  await eventually(async () => {
    const { json } = await spares[1]!.get('/api/v1/stats')
    return (
      (json as { operations: Record<string, { in_flight: number }> }).operations.create_item!.in_flight === 1
    )
  })
  leaving.signal('SIGTERM')
  const reply = await whileDraining(spares[0]!)
  const body = reply.json as Health
  t.strictSame(Object.keys(body), ['status', 'version', 'worker', 'uptime_s'])
  t.strictSame({ ...body, uptime_s: 0 }, { status: 'draining', version: '2.0', worker: 0, uptime_s: 0 })
  t.match(reply.headers['retry-after'], /^[1-9][0-9]*$/)
  t.equal(reply.headers.connection, 'close')
  const other = await spares[2]!.get('/api/v1/items')
  t.equal(other.status, 200, 'connections that exist are still served')
  t.equal(other.headers.connection, 'close', 'and told to go')
  upload.socket.write('"name":"finished"}'.padEnd(99, ' '))
  await upload.closed
  t.match(upload.received(), /^HTTP\/1\.1 201 Created\r\n/)
  t.match(upload.received(), /\r\nconnection: close\r\n/i)
  t.match(upload.received(), /"name":"finished"/)
  t.equal(await leaving.ended(), 0)
  for (const client of spares) client.close()
})
