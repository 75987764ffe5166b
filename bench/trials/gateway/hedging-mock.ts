/** A provider that is slow for some of its calls, evenly spread by chance; a process of its own. */
import { createServer, type ServerResponse } from 'node:http'

const chunk = (delta: object, finish: string | null, more: object = {}): string => {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'trial', choices, ...more })}\n\n`
}
const ANSWER = [
  chunk({ role: 'assistant', content: '' }, null),
  chunk({ content: 'One word.' }, null),
  chunk({}, 'stop', { usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 } }),
  'data: [DONE]\n\n',
].join('')
/** Calls of which a fixed number is slow, in a drawn order. */
const DECK = 100
const FASTEST_MS = 15
const SPREAD_MS = 10

export interface HedgingMockState {
  readonly calls: number
  readonly slow: number
}

let slowPercent = 0
let slowMs = 0
let state: HedgingMockState = { calls: 0, slow: 0 }
let deck: boolean[] = []

function drawIsSlow(): boolean {
  if (deck.length === 0) deck = Array.from({ length: DECK }, (_, at) => at < slowPercent)
  return deck.splice(Math.floor(Math.random() * deck.length), 1)[0]!
}

function answerCall(response: ServerResponse): void {
  const isSlow = drawIsSlow()
  state = { calls: state.calls + 1, slow: state.slow + Number(isSlow) }
  const ms = isSlow ? slowMs : FASTEST_MS + Math.random() * SPREAD_MS
  const timer = setTimeout(
    () => response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(ANSWER),
    ms,
  )
  response.once('close', () => clearTimeout(timer))
}

const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
  if (incoming.url === '/state') response.end(JSON.stringify(state))
  else incoming.resume().once('end', () => answerCall(response))
})

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const job = message as { readonly port: number; readonly slowPercent: number; readonly slowMs: number }
  slowPercent = job.slowPercent
  slowMs = job.slowMs
  server.listen(job.port, '127.0.0.1', () => process.send?.({ listening: true }))
})
