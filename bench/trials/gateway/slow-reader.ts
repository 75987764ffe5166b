import { connect, type Socket } from 'node:net'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'

const BYTES_EACH = 1_024
const EVERY_MS = 1_000

/** A client that asks for a stream without an end and reads it at 1 KB a second. */
export class SlowReader {
  readonly #socket: Socket
  readonly #timer: NodeJS.Timeout
  taken = 0
  #closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
    })
    this.#timer = setInterval(() => {
      const bytes = socket.read(BYTES_EACH) as Buffer | null
      this.taken += bytes?.length ?? 0
    }, EVERY_MS)
  }

  /** Opens a connection and asks for `model`. Faults: the socket's error. */
  static start(port: number, model: string): Promise<SlowReader> {
    return new Promise((resolve, reject) => {
      // Without a listener for 'data' the socket reads ahead no further than this mark; the kernel keeps the rest.
      const options = { port, host: '127.0.0.1', noDelay: true, readableHighWaterMark: BYTES_EACH }
      const socket = connect(options)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.removeListener('error', reject)
        socket.write(callBytes(SLUICE_CHAT, model))
        resolve(new SlowReader(socket))
      })
    })
  }

  /** True once the server ended or lost the connection. */
  get closed(): boolean {
    return this.#closed
  }

  leave(): void {
    clearInterval(this.#timer)
    this.#socket.destroy()
  }
}
