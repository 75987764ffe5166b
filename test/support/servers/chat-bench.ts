/** A gateway whose only real provider is a mock that does what the test says. */
import type { Test } from 'tap'
import { answer, chunk } from '../data/chat-answers.js'
import { type MockUpstream, mockUpstream, type Script } from '../providers/mock-upstream.js'
import { type Asked, askChat, CANARY_PROMPT, type GatewayServer, startGateway } from './gateway-server.js'

export const MODEL = 'acme/mock'

export interface ChatBench {
  readonly server: GatewayServer
  readonly upstream: MockUpstream
  /** Asks the mock's model; `more` joins the body. */
  ask(more?: object, headers?: Readonly<Record<string, string>>): Promise<Asked>
}

interface ChatBenchOptions {
  readonly script?: Script
  readonly env?: Readonly<Record<string, string>>
  /** Members of the provider's configuration. */
  readonly provider?: object
}

/** One worker, so that pools and gauges are those of one process. Ends with the test. */
export async function chatBench(t: Test, options: ChatBenchOptions = {}): Promise<ChatBench> {
  const upstream = await mockUpstream(t, options.script)
  const server = await startGateway({
    env: { SLUICE_WORKERS: '1', ...options.env },
    config: {
      // What is seen is what the provider did, once.
      routing: { retries: 0 },
      providers: {
        // It fails as often as a test asks, and has to be asked all the same.
        mock: {
          kind: 'openai',
          name: 'Mock',
          base_url: `${upstream.origin}/v1`,
          breaker: false,
          ...options.provider,
        },
      },
      models: {
        [MODEL]: {
          endpoints: [
            {
              provider: 'mock',
              upstream_model: 'mock-1',
              prices: { prompt: '0.000001', completion: '0.000002' },
            },
          ],
        },
      },
    },
  })
  t.teardown(() => server.stop())
  return {
    server,
    upstream,
    ask: (more = {}, headers = {}) =>
      askChat(
        server,
        { model: MODEL, messages: [{ role: 'user', content: CANARY_PROMPT }], ...more },
        headers,
      ),
  }
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** A whole answer as an ordinary server sends it. */
export const mockCompletion = (content: string, more: object = {}): object =>
  answer({ role: 'assistant', content }, { model: 'mock-1', usage: USAGE, ...more })

/** A chunk as an ordinary server sends it. */
export const mockChunk = (delta: object, finish: string | null = null, more: object = {}): object =>
  chunk(delta, finish, { model: 'mock-1', ...more })

/** The events of an ordinary stream that says these pieces. */
export function mockStream(...pieces: string[]): object[] {
  return [
    mockChunk({ role: 'assistant', content: '' }),
    ...pieces.map((content) => mockChunk({ content })),
    mockChunk({}, 'stop'),
    mockChunk({}, null, { choices: [], usage: USAGE }),
  ]
}
