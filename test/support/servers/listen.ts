import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Lifetime } from '../data/temp-folder.js'

/** Has a server listen here until the lifetime ends, its connections with it; tells the port. */
export async function listen(lifetime: Lifetime, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  lifetime.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Below the ports that Linux gives to connections and to listeners that name none. */
const LEAST_FREE = 12_000
const MOST_FREE = 32_000

/**
 * A port on which nobody listens. Somebody else may take it before it is used: no system chooses one of this range, and
 * another test hardly the same of so many.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(LEAST_FREE, MOST_FREE)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return await freePort()
  }
  server.close()
  await once(server, 'close')
  return port
}
