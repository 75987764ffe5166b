/** Calls of the messages operation, and a reader of its streams that knows nothing but the contract. */
import {
  API_KEY,
  type Asked,
  asked,
  CANARY_PROMPT,
  type GatewayServer,
  type Json,
} from '../servers/gateway-server.js'

/** The smallest request; `more` joins it. */
export function message(more: object = {}): Json {
  return {
    model: 'sim/instant',
    max_tokens: 100,
    messages: [{ role: 'user', content: CANARY_PROMPT }],
    ...more,
  }
}

/** One call over a socket of its own. Rejects when an error repeats the key or the canary prompt. */
export async function askMessages(
  { apiUrl }: Pick<GatewayServer, 'apiUrl'>,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  path = '/messages',
): Promise<Asked> {
  const response = await fetch(`${apiUrl}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return await asked(response, messageEventsOf)
}

const FRAME = /^event: ([a-z_]+)\ndata: (.*)$/

/** Data of each event of a stream's text; each must repeat its name, and be framed as the contract says. */
export function messageEventsOf(text: string): Json[] {
  if (!text.endsWith('\n\n')) throw new Error('the last event is not ended')
  const frames = text.split('\n\n').slice(0, -1)
  return (
    frames
      // Empty lines are the padding behind a long stream.
      .filter((frame) => frame !== '' && !frame.startsWith(':'))
      .map((frame) => {
        const [, name, data] = FRAME.exec(frame) ?? []
        const event = JSON.parse(data ?? 'null')
        if (event === null || event.type !== name) throw new Error(`no event of this format: ${frame}`)
        return event
      })
  )
}

/** The message that a stream tells. Throws where its order is not the one of the contract. */
export function assembled(events: readonly Json[]): Json {
  const [start, ...rest] = events
  if (start?.type !== 'message_start') throw new Error(`begins with ${start?.type}`)
  const told: Json = { ...start.message, content: [] }
  let json = ''
  let open: Json = null
  let ended: 'no' | 'delta' | 'stop' = 'no'
  for (const event of rest) {
    if (event.type === 'ping') continue
    if (ended === 'stop') throw new Error(`${event.type} after the end`)
    if (event.type === 'message_delta') {
      if (open !== null) throw new Error('a block was not ended')
      const { delta, usage, type: _, ...more } = event
      Object.assign(told, delta, { usage }, more)
      ended = 'delta'
    } else if (event.type === 'message_stop') {
      if (ended !== 'delta') throw new Error('message_stop before message_delta')
      ended = 'stop'
      if (event.service_metadata !== undefined) told.service_metadata = event.service_metadata
    } else if (event.type === 'content_block_start') {
      if (open !== null || event.index !== told.content.length)
        throw new Error('blocks overlap, or leave gaps')
      open = structuredClone(event.content_block)
      told.content.push(open)
      json = ''
    } else if (event.type === 'content_block_delta') {
      if (open === null || event.index !== told.content.length - 1) throw new Error('a delta of no block')
      json += added(open, event.delta)
    } else if (event.type === 'content_block_stop') {
      if (open === null || event.index !== told.content.length - 1) throw new Error('an end of no block')
      if (json !== '') open.input = parsed(json)
      open = null
    } else throw new Error(`unexpected ${event.type}`)
  }
  if (ended !== 'stop') throw new Error('the stream ended before message_stop')
  return told
}

/** Adds a delta to its block; text of JSON is handed back. */
function added(block: Json, delta: Json): string {
  switch (delta.type) {
    case 'text_delta':
      block.text += delta.text
      return ''
    case 'thinking_delta':
      block.thinking += delta.thinking
      return ''
    case 'signature_delta':
      block.signature += delta.signature
      return ''
    case 'citations_delta':
      block.citations.push(delta.citation)
      return ''
    case 'compaction_delta':
      block.content = delta.content
      return ''
    case 'input_json_delta':
      return delta.partial_json
    default:
      throw new Error(`unknown delta ${delta.type}`)
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}
