/**
 * The floors of the file trials: uWebSockets.js alone, which sends bytes that are in memory, reads a body and throws
 * it away, or reads a body and answers when it is on the disk. It gets its port by message, says when it listens, and
 * leaves when the trial does.
 */

import * as uWS from 'uWebSockets.js'
import { open } from 'node:fs/promises'
import { join } from 'node:path'

interface FilesFloorJob {
  readonly port: number
  /** Size of the body that is sent. */
  readonly downloadBytes: number
  /** Where bodies are written. */
  readonly folder: string
}

/** Bytes that are sent over and over: a floor needs no gigabyte of its own. */
const BLOCK = Buffer.alloc(1024 * 1024, 'floor')

function send(res: uWS.HttpResponse, total: number): void {
  let over = false
  res.onAborted(() => {
    over = true
  })
  const more = (): boolean => {
    while (!over) {
      const at = res.getWriteOffset()
      const from = at % BLOCK.length
      const [ok, done] = res.tryEnd(BLOCK.subarray(from, Math.min(BLOCK.length, from + total - at)), total)
      if (done) over = true
      if (!ok || done) return ok
    }
    return true
  }
  res.onWritable(() => more())
  res.cork(() => void more())
}

function discardBody(res: uWS.HttpResponse, answer: string): void {
  let aborted = false
  res.onAborted(() => {
    aborted = true
  })
  res.onData((_chunk, last) => {
    if (last && !aborted) res.cork(() => res.writeHeader('content-type', 'application/json').end(answer))
  })
}

let stored = 0

/** As little as writing durably takes: no form, no limit, no backpressure. */
function storeBody(res: uWS.HttpResponse, folder: string): void {
  let aborted = false
  res.onAborted(() => {
    aborted = true
  })
  const opened = open(join(folder, `floor-${stored++}`), 'w')
  let written: Promise<unknown> = opened
  res.onData((chunk, last) => {
    const piece = Buffer.from(Buffer.from(chunk))
    written = written.then(async () => (await opened).write(piece))
    if (!last) return
    void written.then(async () => {
      const file = await opened
      await file.sync()
      await file.close()
      if (!aborted) res.cork(() => res.end('stored'))
    })
  })
}

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const job = message as FilesFloorJob
  const app = uWS.App()
  app.get('/download', (res) => send(res, job.downloadBytes))
  app.post('/upload', (res) => discardBody(res, '{}'))
  // As a provider that listens to nothing.
  app.post('/v1/audio/transcriptions', (res) => discardBody(res, '{"text":"nothing","duration":1}'))
  app.post('/store', (res) => storeBody(res, job.folder))
  app.listen('127.0.0.1', job.port, (socket) => {
    if (!socket) process.exit(1)
    process.send?.({ listening: true })
  })
})
