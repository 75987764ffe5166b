/**
 * A provider with a switch, a process of its own: serves, or turns every call away, or stops listening. It counts what
 * comes, so that it can tell how a gateway treats it while it is dead.
 */
import { openSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

export type RoutingMockState = typeof counts

/** Milliseconds after a change in which calls do not count as late: workers have to tell each other. */
const SETTLING_MS = 500
/** A refusal takes its time, so that two at once would be seen. */
const REFUSE_MS = 100

const ANSWER = JSON.stringify({
  id: 'chatcmpl-trial',
  object: 'chat.completion',
  created: 1,
  model: 'trial',
  choices: [{ index: 0, message: { role: 'assistant', content: 'One word.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
})
const chunk = (delta: object, finish: string | null, more: object = {}): string => {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'trial', choices, ...more })}\n\n`
}
/** What a stream begins with: nothing that anybody could read. */
const STREAM_BEGIN = chunk({ role: 'assistant', content: '' }, null)
const STREAM_REST = [
  chunk({ content: 'One word.' }, null),
  chunk({}, 'stop', { usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } }),
  'data: [DONE]\n\n',
].join('')
const REFUSAL = JSON.stringify({ error: { message: 'out of order' } })

/** Until a call is answered. */
let answerMs = 0
let serves = true
let leaving = false
let changedAt = performance.now()
/** Since the last change of its mind: calls that came, those that came a while after it, and most of them at a time. */
let counts = { calls: 0, mostAtOnce: 0, lateCalls: 0 }
let lateUnderWay = 0
/** Where the calls that have come and those that were answered are written down, so that they outlive a kill. */
let tally: number | null = null
const tallied = new Uint32Array(2)

function count(what: 0 | 1): void {
  tallied[what]!++
  if (tally !== null) writeSync(tally, tallied, 0, tallied.byteLength, 0)
}

function switchMode(toServe: boolean): void {
  serves = toServe
  changedAt = performance.now()
  counts = { calls: 0, mostAtOnce: 0, lateCalls: 0 }
}

function answerCall(incoming: IncomingMessage, response: ServerResponse): void {
  const late = performance.now() - changedAt > SETTLING_MS
  counts.calls++
  if (late) {
    counts.lateCalls++
    counts.mostAtOnce = Math.max(counts.mostAtOnce, ++lateUnderWay)
    response.once('close', () => lateUnderWay--)
  }
  const [status, body, ms] = serves ? [200, ANSWER, answerMs] : [500, REFUSAL, REFUSE_MS]
  count(0)
  void text(incoming).then((asked) => {
    const streams = serves && asked.includes('"stream":true')
    if (streams) response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(STREAM_BEGIN)
    setTimeout(() => {
      count(1)
      if (streams) {
        response.end(STREAM_REST)
        return
      }
      // Who leaves says so, as a proper server does.
      if (leaving) response.setHeader('Connection', 'close')
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(body)
    }, ms)
  })
}

function answerJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}

const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
  switch (incoming.url) {
    case '/state':
      answerJson(response, counts)
      break
    case '/serve':
    case '/refuse':
      switchMode(incoming.url === '/serve')
      answerJson(response, {})
      break
    case '/leave':
      // What is under way is answered; idle connections are closed, and nobody is let in.
      leaving = true
      answerJson(response, {})
      server.close(() => process.exit(0))
      server.closeIdleConnections()
      break
    default:
      answerCall(incoming, response)
  }
})

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const job = message as { readonly port: number; readonly answerMs: number; readonly tally?: string }
  answerMs = job.answerMs
  if (job.tally !== undefined) tally = openSync(job.tally, 'w')
  server.listen(job.port, '127.0.0.1', () => process.send?.({ listening: true }))
})
