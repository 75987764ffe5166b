/**
 * A gateway that means well: it asks one endpoint of a drill after the other whatever happened, passes streams on as
 * they are, and tells nothing about it. What it does wrong the drill has to find.
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { DEAD_PORT, type EndpointRole } from '../../../src/drill/roles.js'
import { SCENARIOS } from '../../../src/drill/scenarios.js'
import type { Lifetime } from '../data/temp-folder.js'
import { listen } from '../servers/listen.js'

const MODELS = SCENARIOS.flatMap(({ models }) => models)

/** Starts one before the faulty provider on this port; its URL. */
export async function naiveRelay(lifetime: Lifetime, providerPort: number): Promise<string> {
  const server = createServer((incoming, response) => void serve(incoming, response, providerPort))
  return `http://127.0.0.1:${await listen(lifetime, server)}`
}

async function serve(incoming: IncomingMessage, response: ServerResponse, port: number): Promise<void> {
  if (incoming.url === '/api/v1/key') return json(response, 200, { data: {} })
  if (incoming.url === '/api/v1/models') return json(response, 200, { data: MODELS })
  if (incoming.url !== '/api/v1/chat/completions') return json(response, 403, {})
  const body = JSON.parse(await textOf(incoming))
  for (const id of [body.model, ...(body.models ?? [])]) {
    for (const role of MODELS.find((model) => model.id === id)!.endpoints) {
      if (await relayed(role, { ...body, model: id }, response, port)) return
    }
  }
  json(response, 502, { error: { code: 502, message: 'nobody' } })
}

/** True when it has answered. */
async function relayed(role: EndpointRole, body: object, response: ServerResponse, port: number) {
  try {
    const answer = await ask(role === 'dead' ? DEAD_PORT : port, `/${role}/v1/chat/completions`, body)
    if (answer.statusCode !== 200) {
      answer.resume()
      return false
    }
    const type = answer.headers['content-type'] ?? ''
    const head = { 'Content-Type': type, 'X-Generation-Id': 'gen-naive' }
    if (type === 'text/event-stream') {
      response.writeHead(200, head)
      for await (const piece of answer) response.write(piece)
      response.end()
      return true
    }
    const text = await textOf(answer)
    response.writeHead(200, head).end(text)
    return true
  } catch {
    if (!response.headersSent) return false
    // A stream that broke ends as if nothing had been.
    response.end()
    return true
  }
}

function ask(port: number, path: string, body: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = { 'Content-Length': Buffer.byteLength(text) }
    request({ host: '127.0.0.1', port, path, method: 'POST', headers }, resolve)
      .once('error', reject)
      .end(text)
  })
}

async function textOf(message: IncomingMessage): Promise<string> {
  message.setEncoding('utf8')
  let text = ''
  for await (const piece of message) text += piece
  return text
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}
