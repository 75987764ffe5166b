/** A provider that fails, is slow or says much, as the model that is asked for names it; a process of its own. */
import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

const HUGE_CHARS = 60 * 1024 * 1024
const PIECES = 20
const PIECE_MS = 50

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`

const HUGE = JSON.stringify({
  choices: [
    { index: 0, message: { role: 'assistant', content: 'x'.repeat(HUGE_CHARS) }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

const MANNERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  /** Whoever waits has to leave. */
  silent: () => {},
  broken: (response) => void response.socket?.resetAndDestroy(),
  malformed: (response) =>
    void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"choices":['),
  half: (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(chunk('half'))
    setTimeout(() => response.destroy(), PIECE_MS)
  },
  slow: (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    let left = PIECES
    const timer = setInterval(() => {
      if (left-- > 0) response.write(chunk('piece '))
      else {
        clearInterval(timer)
        response.end('data: [DONE]\n\n')
      }
    }, PIECE_MS)
    response.once('close', () => clearInterval(timer))
  },
  huge: (response) => void response.writeHead(200, { 'Content-Type': 'application/json' }).end(HUGE),
}

const server = createServer((incoming, response) => {
  void text(incoming).then((asked) => {
    const { model } = JSON.parse(asked) as { readonly model: string }
    MANNERS[model]?.(response)
  })
})

process.once('disconnect', () => process.exit(0))
process.once('message', (message) => {
  const { port } = message as { readonly port: number }
  server.listen(port, '127.0.0.1', () => process.send?.({ listening: true }))
})
