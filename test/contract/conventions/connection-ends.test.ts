/** contract/decisions 21 and 47 on the running server: no byte behind a refused framing or a last request makes an item. */
import { after, test } from 'tap'
import { chunked, connectRaw, request } from '../../support/clients/raw-http.js'
import { startPracticeServer } from '../../support/servers/practice-server.js'

const server = await startPracticeServer({ env: { SLUICE_WORKERS: '1' } })
after(() => server.stop())

const JSON_BODY = ['Content-Type', 'application/json'] as const
const MAKE = request({
  method: 'POST',
  target: '/api/v1/items',
  headers: [JSON_BODY],
  body: JSON.stringify({ name: 'smuggled' }),
})

async function items(): Promise<number> {
  const connection = await connectRaw(server.port)
  try {
    await connection.send({ target: '/api/v1/items' })
    return (JSON.parse((await connection.read()).text) as readonly unknown[]).length
  } finally {
    connection.destroy()
  }
}

const make = (headers: readonly (readonly [string, string])[], body: string | Uint8Array): Buffer =>
  request({ method: 'POST', target: '/api/v1/items', headers: [JSON_BODY, ...headers], body })
const lengths = (one: string, two: string): Buffer =>
  make(
    [
      ['Content-Length', one],
      ['Content-Length', two],
    ],
    '{}',
  )
const coding = (value: string, body: string | Uint8Array = chunked('{}')): Buffer =>
  make([['Transfer-Encoding', value]], body)
const close = ['Connection', 'close'] as const

const LAST: Record<string, readonly [bytes: Buffer, status: number]> = {
  'unequal lengths': [lengths('2', '3'), 400],
  'equal lengths': [lengths('2', '2'), 400],
  'a malformed length': [make([['Content-Length', '2x']], '{}'), 400],
  'a coding that does not end in chunked': [coding('chunked, gzip'), 400],
  'a coding with a byte of 0x80 and above inside': [coding('chun\xffked'), 400],
  'Connection: close on a read': [request({ target: '/api/v1/items', headers: [close] }), 200],
  'Connection: close on a health check': [request({ target: '/api/v1/health', headers: [close] }), 200],
  'Connection: close on a refusal': [make([close], '{}'), 422],
}

for (const [name, [bytes, status]] of Object.entries(LAST)) {
  test(`behind ${name} no item is made, and the caller has its answer`, async (t) => {
    for (const fragments of [[Buffer.concat([bytes, MAKE])], [bytes, MAKE]]) {
      const connection = await connectRaw(server.port)
      await connection.send(...fragments)
      const reply = await connection.read()
      t.equal(reply.status, status)
      await connection.ended()
      t.equal(connection.unread.byteLength, 0)
      connection.destroy()
    }
    t.equal(await items(), 0)
  })
}

test('pipelining and keep-alive go on as before', async (t) => {
  const connection = await connectRaw(server.port)
  t.teardown(() => connection.destroy())
  const read = request({ target: '/api/v1/health' })
  await connection.send(Buffer.concat([read, read, read]))
  for (let i = 0; i < 3; i++) t.equal((await connection.read()).status, 200)
  await connection.send(MAKE)
  t.equal((await connection.read()).status, 201)
  await connection.send(read)
  t.equal((await connection.read()).status, 200)
})
