/**
 * An upstream that listens and never accepts, a process of its own: it stands still as soon as it listens, so that the
 * kernel's queue, one place long, fills up and further connects get no answer at all. It gets its port by message, says
 * when it listens, and ends when it is killed.
 */
import { createServer } from 'node:net'

process.once('message', (message) => {
  const { port } = message as { readonly port: number }
  createServer().listen({ port, host: '127.0.0.1', backlog: 1 }, () => {
    process.send?.({ listening: true }, () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })
  })
})
