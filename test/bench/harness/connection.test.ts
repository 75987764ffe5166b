import { createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { Connection, ConnectionLost, requestOnce } from '../../../bench/harness/http/connection.js'
import { freePort, listen } from '../../support/servers/listen.js'

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
const GOOD = 'HTTP/1.1 200 OK\r\nX-One: 1\r\nX-One: 2\r\nContent-Length: 5\r\n\r\nhello'

/** A server that does `reply` at every request. */
const serving = (t: Test, reply: (socket: Socket) => void): Promise<number> =>
  listen(
    t,
    createServer({ noDelay: true }, (socket) => socket.on('data', () => reply(socket))),
  )

async function lossOf(answer: Promise<unknown>): Promise<ConnectionLost> {
  const fault = await answer.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(fault instanceof ConnectionLost)) throw new Error(`not lost: ${String(fault)}`)
  return fault
}

test('answers come whole, one after the other on one connection', async (t) => {
  const port = await serving(t, (socket) => socket.write(GOOD))
  const connection = await Connection.open(port)
  for (let turn = 0; turn < 3; turn++) {
    const { status, headers, body, closes } = await connection.send(REQUEST)
    t.same({ status, body: body.toString(), closes }, { status: 200, body: 'hello', closes: false })
    t.equal(headers.get('x-one'), '1, 2')
  }
  t.ok(connection.usable)
  connection.drop()
  t.notOk(connection.usable)
  t.equal((await lossOf(connection.send(REQUEST))).kind, 'closed')
})

test('an answer that announces the end of its connection leaves it unusable', async (t) => {
  const port = await serving(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end'),
  )
  const connection = await Connection.open(port)
  const answer = await connection.send(REQUEST)
  t.same([answer.body.toString(), answer.closes, connection.usable], ['to the end', true, false])
})

test('a request without a whole answer is lost, with how and after how many bytes', async (t) => {
  const cut = GOOD.slice(0, -1)
  const ways = {
    closed: (socket: Socket) => socket.end(cut),
    garbled: (socket: Socket) => socket.write(`${GOOD}!`),
    timeout: (socket: Socket) => socket.write(cut),
  }
  for (const [kind, way] of Object.entries(ways)) {
    const connection = await Connection.open(await serving(t, way))
    const loss = await lossOf(connection.send(REQUEST, kind === 'timeout' ? 1_000 : 5_000))
    t.equal(loss.kind, kind)
    t.equal(loss.bytes, kind === 'garbled' ? GOOD.length + 1 : cut.length, kind)
    t.notOk(connection.usable)
  }
  const connection = await Connection.open(await serving(t, () => {}))
  const waiting = lossOf(connection.send(REQUEST))
  connection.drop()
  t.equal((await waiting).kind, 'dropped')
})

test('the end of a connection that rests is told, bytes that nobody asked for included', async (t) => {
  const sockets: Socket[] = []
  const port = await serving(t, (socket) => {
    sockets.push(socket)
    socket.write(GOOD)
  })
  for (const end of [(socket: Socket) => socket.end(), (socket: Socket) => socket.write('HTTP/1.1 408')]) {
    const connection = await Connection.open(port)
    const ended = new Promise<void>((resolve) => connection.onIdleEnd(resolve))
    await connection.send(REQUEST)
    end(sockets.at(-1)!)
    await ended
    t.notOk(connection.usable)
  }
})

test('nobody there is a refusal, and no answer for who asks afresh', async (t) => {
  const port = await freePort()
  t.equal((await lossOf(Connection.open(port))).kind, 'refused')
  t.equal(await requestOnce(port, REQUEST), null)
  const served = await requestOnce(await serving(t, (socket) => socket.write(GOOD)), REQUEST)
  t.equal(served?.status, 200)
})
