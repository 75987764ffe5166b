/** A messages server on loopback: what it says is data, and how it fails is a script of the test's. */
import type { Test } from 'tap'
import type { ContentBlock } from '../../../src/gateway/formats/messages.js'
import { anthropicProvider } from '../../../src/gateway/providers/anthropic/provider.js'
import type { ServerOptions } from '../../../src/gateway/providers/http/server.js'
import type { Provider } from '../../../src/gateway/providers/port/provider.js'
import { LIMITS, PATIENT, testClient } from '../clients/upstream-calls.js'
import { mockUpstream, type Peer, type Script } from './mock-upstream.js'

export const ANTHROPIC_KEY = 'sk-ant-canary-0123456789abcdef'

export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string }

/** An answer as such a server has it in mind. */
export interface WireAnswer {
  readonly content: readonly ContentBlock[]
  readonly stop_reason?: string
  readonly stop_sequence?: string | null
  readonly stop_details?: object | null
  readonly usage?: Readonly<Record<string, unknown>>
}

export const WIRE_USAGE = {
  input_tokens: 10,
  output_tokens: 5,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  service_tier: 'standard',
}

/** The body of a whole answer. */
export function wireMessage(answer: WireAnswer): WireEvent {
  return {
    id: 'msg_0123456789',
    type: 'message',
    role: 'assistant',
    model: 'their-name',
    content: answer.content,
    stop_reason: answer.stop_reason ?? 'end_turn',
    stop_sequence: answer.stop_sequence ?? null,
    stop_details: answer.stop_details ?? null,
    container: null,
    usage: answer.usage ?? WIRE_USAGE,
  }
}

/** The same as events; texts in pieces of `size` characters. */
export function wireEvents(answer: WireAnswer, size = 4): WireEvent[] {
  const { stop_reason, stop_sequence, stop_details, usage, ...message } = wireMessage(answer)
  const { output_tokens, ...input } = usage as typeof WIRE_USAGE
  const begun = { ...input, output_tokens: 1 }
  return [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: begun,
      },
    },
    { type: 'ping' },
    ...answer.content.flatMap((block, index) => blockEvents(block, index, size)),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence, stop_details, container: null },
      usage: { output_tokens },
    },
    { type: 'message_stop' },
  ]
}

function blockEvents(block: ContentBlock, index: number, size: number): WireEvent[] {
  const { start, deltas } = grown(block, size)
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

function grown(
  block: ContentBlock,
  size: number,
): { readonly start: object; readonly deltas: readonly object[] } {
  const pieces = (text: unknown): string[] => String(text).match(new RegExp(`.{1,${size}}`, 'gsu')) ?? []
  switch (block.type) {
    case 'text': {
      const deltas = pieces(block.text).map((text) => ({ type: 'text_delta', text }))
      const cited = ((block.citations ?? []) as unknown[]).map((citation) => ({
        type: 'citations_delta',
        citation,
      }))
      return {
        start: { ...block, text: '', ...(block.citations ? { citations: [] } : {}) },
        deltas: [...deltas, ...cited],
      }
    }
    case 'thinking': {
      const deltas = pieces(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }))
      const signed = { type: 'signature_delta', signature: block.signature }
      return { start: { ...block, thinking: '', signature: '' }, deltas: [...deltas, signed] }
    }
    case 'tool_use': {
      // Servers begin with an empty piece, and leave it at that where there are no arguments.
      const json = Object.keys(block.input as object).length === 0 ? '' : JSON.stringify(block.input, null, 1)
      const deltas = ['', ...pieces(json)].map((partial_json) => ({ type: 'input_json_delta', partial_json }))
      return { start: { ...block, input: {} }, deltas }
    }
    default:
      return { start: block, deltas: [] }
  }
}

export const frame = (event: WireEvent): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** Sends events as a stream that ends properly. */
export function sendEvents(peer: Peer, events: readonly WireEvent[]): void {
  peer.streamHead()
  for (const event of events) peer.chunk(frame(event))
  peer.endChunks()
}

/** Answers as it was asked: streamed, whole, or with a count. */
export function speaking(answer: WireAnswer, size?: number): Script {
  return (peer, { path, body }) => {
    if (path.endsWith('/count_tokens')) peer.json({ input_tokens: 42 })
    else if ((JSON.parse(body) as { stream?: boolean }).stream === true)
      sendEvents(peer, wireEvents(answer, size))
    else peer.json(wireMessage(answer))
  }
}

/** Refuses as such a server does. */
export function refusing(
  status: number,
  type: string,
  message = 'no',
  headers: Readonly<Record<string, string>> = {},
): Script {
  return (peer) =>
    peer.json({ type: 'error', error: { type, message }, request_id: 'req_1' }, status, headers)
}

/** Sends some events, then does what the test says to the connection; nothing means that it stalls. */
export function breakingOff(events: readonly WireEvent[], then: (peer: Peer) => void = () => {}): Script {
  return (peer) => {
    peer.streamHead()
    for (const event of events) peer.chunk(frame(event))
    then(peer)
  }
}

/** A provider before a mock that does what the script says. */
export async function anthropicBench(t: Test, script: Script, options: Partial<ServerOptions> = {}) {
  const mock = await mockUpstream(t, script)
  const client = testClient(t)
  const provider = anthropicProvider({
    baseUrl: mock.origin,
    apiKey: ANTHROPIC_KEY,
    headers: {},
    timeouts: PATIENT,
    limits: LIMITS,
    upstream: client,
    version: '0.0.0',
    ...options,
  })
  return {
    mock,
    client,
    provider: provider as Provider & Required<Pick<Provider, 'messages' | 'countMessages'>>,
  }
}
