import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { resetSocket } from '../../src/base/reset-socket.js'

/** Both ends of a connection. */
async function connection(t: Test): Promise<{ readonly near: Socket; readonly far: Socket }> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(near, 'connect')
  const [far] = (await accepted) as [Socket]
  t.after(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return { near, far }
}

test('the other side of a connection sees the reset', async (t) => {
  const { near, far } = await connection(t)
  const failed = once(far, 'error')
  far.resume()
  resetSocket(near)
  t.match(await failed, [{ code: 'ECONNRESET' }])
})

test('a connection whose end is just being sent is closed', async (t) => {
  const { near, far } = await connection(t)
  const faults: Error[] = []
  near.on('error', (fault) => faults.push(fault))
  far.on('error', () => {}).resume()
  near.end()
  const closed = once(near, 'close')
  resetSocket(near)
  await closed
  t.strictSame(faults, [])
})
