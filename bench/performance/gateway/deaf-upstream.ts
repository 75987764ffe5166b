/**
 * An upstream that listens and never accepts, a process of its own: it stands still as soon as it listens, so that the
 * kernel's queue, one place long, fills up and further connects get no answer at all. It ends when it is killed.
 *
 * Usage: node deaf-upstream.js <port>, with a message channel on which it says that it listens.
 */
import { createServer } from 'node:net'

const server = createServer()
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 1 }, () => {
  process.send?.({ listening: true }, () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })
})
