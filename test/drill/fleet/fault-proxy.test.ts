import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { FaultProxy } from '../../../src/drill/fleet/fault-proxy.js'
import { eventually } from '../../support/timing/eventually.js'

/** Answers every piece with its name and that piece, and keeps what it heard. */
async function echoServer(t: Test, name: string) {
  const heard: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => {
      heard.push(String(bytes))
      socket.write(`${name}:${bytes}`)
    })
    socket.once('end', () => socket.end('bye'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, heard, sockets, close: () => server.close() }
}

/** A caller, what it heard, and how its connection ended: null while it is open. */
async function dial(t: Test, port: number) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  const caller = { socket, heard: '', ending: null as 'closed' | 'reset' | null }
  socket.on('data', (bytes) => {
    caller.heard += bytes
  })
  socket.once('error', () => {
    caller.ending = 'reset'
  })
  socket.once('close', () => {
    caller.ending ??= 'closed'
  })
  await once(socket, 'connect').catch(() => {})
  return caller
}

async function proxyTo(t: Test, ...targets: readonly number[]): Promise<FaultProxy> {
  const proxy = await FaultProxy.listen(targets)
  t.teardown(() => proxy.close())
  return proxy
}

/** Resolves when whatever is under way on loopback has had its turns. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('bytes and the end of either side pass as they are', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  caller.socket.end('hello')
  await eventually(() => caller.ending !== null)
  t.equal(caller.heard, 'a:hellobye')
  t.equal(caller.ending, 'closed')
  await eventually(() => proxy.connections === 0)
})

test('a large answer arrives whole and in order', async (t) => {
  const body = Buffer.alloc(5_000_000, 'abcdefghij')
  const server = createServer((socket) => socket.on('error', () => {}).end(body))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const proxy = await proxyTo(t, (server.address() as AddressInfo).port)
  const caller = await dial(t, proxy.port)
  await eventually(() => caller.heard.length === body.length)
  t.ok(body.equals(Buffer.from(caller.heard)))
})

test('connections go to the targets in turn, and pass over one that is away', async (t) => {
  const [one, two, gone] = await Promise.all(['1', '2', 'x'].map((name) => echoServer(t, name)))
  gone!.close()
  const proxy = await proxyTo(t, one!.port, two!.port, gone!.port)
  const names: string[] = []
  for (let call = 0; call < 6; call++) {
    const caller = await dial(t, proxy.port)
    caller.socket.write('?')
    await eventually(() => caller.heard.length === 3)
    names.push(caller.heard[0]!)
  }
  t.strictSame(names, ['1', '2', '1', '1', '2', '1'], 'the third in turn falls to the first')
})

test('a reset on one side is a reset on the other', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  caller.socket.write('x')
  await eventually(() => caller.heard !== '')
  for (const socket of server.sockets) socket.resetAndDestroy()
  await eventually(() => caller.ending)
  t.equal(caller.ending, 'reset')
  const other = await dial(t, proxy.port)
  other.socket.write('x')
  await eventually(() => other.heard !== '')
  other.socket.resetAndDestroy()
  await eventually(() => server.sockets.size === 0)
})

test('nobody listens behind it: the caller is reset', async (t) => {
  const server = await echoServer(t, 'a')
  server.close()
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  await eventually(() => caller.ending)
  t.equal(caller.ending, 'reset')
})

test('refuse resets what is open and what comes', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  caller.socket.write('x')
  await eventually(() => caller.heard !== '')
  proxy.fault = { kind: 'refuse' }
  await eventually(() => caller.ending)
  const late = await dial(t, proxy.port)
  await eventually(() => late.ending)
  t.strictSame([caller.ending, late.ending], ['reset', 'reset'])
  proxy.fault = { kind: 'none' }
  const again = await dial(t, proxy.port)
  again.socket.write('y')
  await eventually(() => again.heard === 'a:y')
})

test('freeze accepts and passes nothing on; what was held arrives afterwards', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  await eventually(() => server.sockets.size === 1)
  proxy.fault = { kind: 'freeze' }
  caller.socket.write('x')
  const late = await dial(t, proxy.port)
  late.socket.write('y')
  await eventually(() => server.sockets.size === 2)
  await settled()
  t.strictSame(server.heard, [], 'nothing has arrived')
  t.equal(caller.ending ?? late.ending, null, 'and both are open')
  proxy.fault = { kind: 'none' }
  await eventually(() => caller.heard === 'a:x' && late.heard === 'a:y')
})

test('a delay holds both directions, and keeps the order', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  proxy.fault = { kind: 'delay', ms: 60 }
  const begun = performance.now()
  caller.socket.write('x')
  await eventually(() => caller.heard === 'a:x')
  t.ok(performance.now() - begun >= 119, 'once there and once back')
})

test('a trickle passes byte by byte, and the rest at once when it is over', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  proxy.fault = { kind: 'trickle', bytesPerSecond: 100 }
  caller.socket.write('abc')
  await eventually(() => server.heard.join('') === 'abc')
  t.strictSame(server.heard, ['a', 'b', 'c'])
  caller.socket.write('d'.repeat(100_000))
  proxy.fault = { kind: 'none' }
  await eventually(() => server.heard.join('').length === 100_003)
})

test('half-open: the server is gone for good and the caller is not told', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  const caller = await dial(t, proxy.port)
  await eventually(() => server.sockets.size === 1)
  proxy.fault = { kind: 'half-open' }
  await eventually(() => server.sockets.size === 0)
  proxy.fault = { kind: 'none' }
  caller.socket.write('x')
  await settled()
  t.strictSame([server.heard, caller.heard, caller.ending], [[], '', null])
  const again = await dial(t, proxy.port)
  again.socket.write('y')
  await eventually(() => again.heard === 'a:y')
})

test('cut after the answer: the server has done it, and the caller does not hear', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await proxyTo(t, server.port)
  proxy.fault = { kind: 'cut-after-answer', to: 'COMMIT' }
  const caller = await dial(t, proxy.port)
  caller.socket.write('SELECT')
  await eventually(() => caller.heard === 'a:SELECT')
  caller.socket.write('please COMMIT now')
  await eventually(() => caller.ending)
  t.strictSame([caller.ending, caller.heard, proxy.cuts], ['reset', 'a:SELECT', 1])
  t.strictSame(server.heard, ['SELECT', 'please COMMIT now'])
})

test('closing resets what is open', async (t) => {
  const server = await echoServer(t, 'a')
  const proxy = await FaultProxy.listen([server.port])
  const caller = await dial(t, proxy.port)
  caller.socket.write('x')
  await eventually(() => caller.heard !== '')
  await proxy.close()
  await eventually(() => caller.ending === 'reset')
})
