/** Connections that are open and say nothing. */
import { connect, type Socket } from 'node:net'
import type { Destination } from '../../harness/http/raw-connection.js'

const AT_ONCE = 200

export class IdleCrowd {
  readonly #sockets = new Set<Socket>()

  /** Those that are still open. */
  get size(): number {
    return this.#sockets.size
  }

  /** Opens up to `count` connections; resolves when each is open or has failed. */
  async gather(to: Destination, count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - opened) }, () => this.#open(to)))
    }
  }

  #open({ address, port }: Destination): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ host: address, port })
      socket.once('connect', () => {
        this.#sockets.add(socket)
        resolve()
      })
      socket.on('error', () => resolve())
      socket.on('close', () => this.#sockets.delete(socket))
      socket.resume()
    })
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
