import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Lifetime } from '../data/temp-folder.js'

export { freePort } from '../../../src/drill/fleet/free-port.js'

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
