import { type Test, test } from 'tap'
import { request, split } from '../support/clients/raw-http.js'
import { connected, connectedWith, startEdge } from '../support/servers/native-edge.js'
import { jsonReply, Ledger, NO_CONTENT, testRoute } from '../support/servers/test-routes.js'
import { TLS_FILES, testCertificate } from '../support/tls/tls-files.js'

const BIG = Buffer.from(new Uint32Array(1_250_000).map((_, i) => i).buffer)

async function bench(t: Test) {
  const ledger = new Ledger()
  const reads = { readsBody: true, bodyLimit: 100_000 }
  const routes = [
    testRoute(ledger, 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
    testRoute(ledger, 'POST', '/echo', (call) => jsonReply(200, { bytes: call.body.byteLength }), reads),
    testRoute(ledger, 'DELETE', '/ping', () => NO_CONTENT),
    testRoute(ledger, 'GET', '/big', () => ({ status: 200, headers: [], body: BIG })),
    testRoute(ledger, 'GET', '/late', async () => ({ status: 200, headers: [], body: 'late' })),
    testRoute(ledger, 'GET', '/stream', () => ({
      status: 200,
      headers: [],
      body: {
        heartbeat: '',
        padding: '',
        closingFrame: '',
        start: (sink) => {
          sink.write('one ')
          setImmediate(() => {
            sink.write('two')
            sink.end()
          })
        },
      },
    })),
    testRoute(ledger, '*', '/*', () => jsonReply(404, {})),
  ]
  return { ...(await startEdge(t, routes, { tls: TLS_FILES })), ledger }
}

const trusting = { ca: testCertificate() }

test('over TLS every kind of answer arrives on one connection', async (t) => {
  const { port, ledger } = await bench(t)
  const connection = await connectedWith(t, port, trusting)
  const ask = async (method: string, target: string, body?: Uint8Array) => {
    const reply = await connection.ask({ method, target, ...(body === undefined ? {} : { body }) })
    return { status: reply.status, body: reply.body.toString('latin1') }
  }
  t.strictSame(await ask('GET', '/ping'), { status: 200, body: 'pong' })
  t.strictSame(await ask('HEAD', '/ping'), { status: 200, body: '' })
  t.strictSame(await ask('DELETE', '/ping'), { status: 204, body: '' })
  t.strictSame(await ask('GET', '/late'), { status: 200, body: 'late' })
  t.strictSame(await ask('GET', '/stream'), { status: 200, body: 'one two' })
  t.strictSame(await ask('POST', '/echo', Buffer.alloc(100_000)), { status: 200, body: '{"bytes":100000}' })
  t.ok((await ask('GET', '/big')).body === BIG.toString('latin1'), 'a large answer')
  t.strictSame(await ask('GET', '/nowhere'), { status: 404, body: '{}' })
  await ledger.balanced(8)
  t.equal(ledger.settlements.filter(({ aborted }) => aborted).length, 0)
})

test('over TLS a request may come in fragments', async (t) => {
  const { port } = await bench(t)
  const connection = await connectedWith(t, port, trusting)
  const bytes = request({ method: 'POST', target: '/echo', body: 'x'.repeat(50) })
  const line = bytes.indexOf('\r\n') + 2
  await connection.send(bytes.subarray(0, line), ...split(bytes.subarray(line), 7))
  t.equal((await connection.read()).text, '{"bytes":50}')
})

for (const size of [100_001, 5_000_000]) {
  test(`over TLS a caller that sends ${size} bytes before it reads sees the 413`, async (t) => {
    const { port, ledger } = await bench(t)
    const connection = await connectedWith(t, port, trusting)
    connection.pause()
    await connection.send({ method: 'POST', target: '/echo', body: Buffer.alloc(size) })
    connection.resume()
    const reply = await connection.read()
    t.equal(reply.status, 413)
    t.equal(reply.header('connection'), 'close')
    await connection.ended()
    await ledger.balanced()
    t.match(ledger.last, { status: 413, aborted: false })
  })
}

test('over TLS a slow reader of a large answer gets exactly its bytes', async (t) => {
  const { port } = await bench(t)
  const connection = await connectedWith(t, port, trusting)
  connection.pause()
  await connection.send({ target: '/big' })
  connection.resume()
  t.ok((await connection.read()).body.equals(BIG))
})

test('a plain request to a TLS port gets no answer, and the server goes on', async (t) => {
  const { port, ledger } = await bench(t)
  const plain = await connected(t, port, { target: '/ping' })
  await plain.ended()
  t.notMatch(plain.unread.toString('latin1'), /HTTP/)
  t.equal(ledger.arrived, 0)
  const connection = await connectedWith(t, port, trusting)
  t.equal((await connection.ask({ target: '/ping' })).status, 200)
})

const BAD_FILES: Record<string, { readonly keyFile: string; readonly certFile: string }> = {
  'a key that is not there': { ...TLS_FILES, keyFile: '/nonexistent/key.pem' },
  'a certificate that is not there': { ...TLS_FILES, certFile: '/nonexistent/cert.pem' },
  'a key in place of a certificate': { ...TLS_FILES, certFile: TLS_FILES.keyFile },
}

for (const [what, tls] of Object.entries(BAD_FILES)) {
  test(`${what} is refused by name`, async (t) => {
    await t.rejects(startEdge(t, [], { tls }), {
      message: `cannot use the key ${tls.keyFile} with the certificate ${tls.certFile}`,
    })
  })
}

test('over TLS nothing behind a last answer is run', async (t) => {
  const { port, ledger } = await bench(t)
  const close = [['Connection', 'close']] as const
  const refused = [
    ['Authorization', 'a'],
    ['Authorization', 'b'],
  ] as const
  for (const [headers, status] of [
    [close, 200],
    [refused, 400],
  ] as const) {
    const connection = await connectedWith(t, port, trusting)
    const behind = request({ method: 'POST', target: '/echo', body: 'run' })
    await connection.send(Buffer.concat([request({ target: '/ping', headers }), behind]))
    t.equal((await connection.read()).status, status)
    await connection.ended(1_000)
    t.equal(connection.unread.byteLength, 0)
  }
  await ledger.balanced(2)
  t.equal(ledger.arrived, 2)
})
