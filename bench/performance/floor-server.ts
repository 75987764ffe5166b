/**
 * The floor process: what uWebSockets.js costs when it answers the same bytes and nothing else happens. It gets
 * its replies and port by message, says when it listens, and leaves when the runner does.
 */
import * as uWS from 'uWebSockets.js'
import type { SampledReply } from './sample-reply.js'

export interface FloorJob {
  /** All processes of one floor share it. */
  readonly port: number
  readonly replies: readonly SampledReply[]
}

export interface FloorReady {
  readonly listening: true
}

/** A reply made ready once. Bytes for the body: a string would be converted again for every request. */
interface ReadyReply {
  readonly status: string | null
  readonly headers: SampledReply['headers']
  readonly body: Uint8Array | null
}

function makeReady({ status, headers, body }: SampledReply): ReadyReply {
  // uWebSockets.js writes this status by itself.
  const ownStatus = status === '200 OK' ? null : status
  return { status: ownStatus, headers, body: body === '' ? null : new TextEncoder().encode(body) }
}

function writeReply(res: uWS.HttpResponse, reply: ReadyReply): void {
  if (reply.status !== null) res.writeStatus(reply.status)
  for (const [name, value] of reply.headers) res.writeHeader(name, value)
  if (reply.body === null) res.endWithoutBody()
  else res.end(reply.body)
}

/** Answers once the body is in; without this uWS would answer while the caller still sends. */
function afterBody(res: uWS.HttpResponse, reply: ReadyReply): void {
  let aborted = false
  res.onAborted(() => {
    aborted = true
  })
  res.onData((_chunk, last) => {
    if (last && !aborted) res.cork(() => writeReply(res, reply))
  })
}

function register(app: uWS.TemplatedApp, sampled: SampledReply): void {
  const { method, route } = sampled
  const reply = makeReady(sampled)
  const direct = (res: uWS.HttpResponse) => writeReply(res, reply)
  const withBody = (res: uWS.HttpResponse) => afterBody(res, reply)
  if (method === 'GET') app.get(route, direct)
  if (method === 'DELETE') app.del(route, direct)
  if (method === 'POST') app.post(route, withBody)
  if (method === 'PUT') app.put(route, withBody)
}

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const job = message as FloorJob
  const app = uWS.App()
  for (const reply of job.replies) register(app, reply)
  app.listen('127.0.0.1', job.port, (socket) => {
    if (!socket) process.exit(1)
    process.send?.({ listening: true } satisfies FloorReady)
  })
})
