/** A relay that keeps a pace tape, a process of its own. */
import { appendFileSync } from 'node:fs'
import { startRelay } from '../../../src/tape/relay.js'
import { formatStream } from '../../../src/tape/tape.js'

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const job = message as { readonly port: number; readonly upstream: string; readonly file: string }
  const started = startRelay({
    upstream: new URL(job.upstream),
    host: '127.0.0.1',
    port: job.port,
    onStream: (stream) => appendFileSync(job.file, formatStream(stream)),
  })
  void started.then(() => process.send?.({ listening: true }))
})
