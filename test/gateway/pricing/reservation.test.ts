import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import {
  affordableTokens,
  DEFAULT_RESERVED_TOKENS,
  MAX_RESERVED_TOKENS,
  reservationFor as reservationOf,
} from '../../../src/gateway/pricing/reservation.js'
import { PRICES } from '../../support/providers/scripted-provider.js'

/** Dollars per million tokens are thousands of nano-dollars per token. */
function endpoint(prices: object, maxCompletionTokens: number | null = null): ModelEndpoint {
  return {
    maxCompletionTokens,
    prices: { ...PRICES, prompt: 0, completion: 0, ...prices },
  } as unknown as ModelEndpoint
}

const reservationFor = (request: RoutedRequest, endpoints: readonly ModelEndpoint[]) =>
  reservationOf('chat', request, endpoints)

const asked = (more: object): RoutedRequest => ({ messages: [], ...more }) as unknown as RoutedRequest

test('what is set aside for the answer is what the request allows, up to a cap', (t) => {
  const perToken = [endpoint({ completion: 1_000_000 })]
  for (const [request, tokens] of [
    [{ max_tokens: 20 }, 20],
    [{ max_tokens: 900, max_completion_tokens: 30 }, 30],
    [{ max_tokens: 1_000_000 }, MAX_RESERVED_TOKENS],
    [{}, DEFAULT_RESERVED_TOKENS],
    [{ max_tokens: null }, DEFAULT_RESERVED_TOKENS],
  ] as const) {
    const { completionTokens, cost } = reservationFor(asked(request), perToken)
    t.same({ completionTokens, cost }, { completionTokens: tokens, cost: tokens })
  }
  t.equal(reservationFor(asked({ max_tokens: 500 }), [endpoint({}, 100)]).completionTokens, 100)
  t.end()
})

test('the dearest endpoint of the plan decides', (t) => {
  const plan = [
    endpoint({ completion: 1_000_000 }),
    endpoint({ completion: 5_000_000 }),
    endpoint({ request: 7 }),
  ]
  t.equal(reservationFor(asked({ max_tokens: 10 }), plan).cost, 50)
  const reasoning = endpoint({ completion: 1_000_000, internalReasoning: 9_000_000 })
  t.equal(reservationFor(asked({ max_tokens: 10 }), [reasoning]).cost, 90)
  t.end()
})

test('the question is measured by its length, whatever its form, and media are not looked into', (t) => {
  const count = (more: object): number => reservationFor(asked(more), [endpoint({})]).promptTokens
  const text = 'x'.repeat(300)
  t.equal(count({ messages: [{ role: 'user', content: text }] }), 104)
  t.equal(count({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] }), 104)
  t.equal(count({ system: text }), 100)
  t.equal(
    count({
      messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text }] }] }],
    }),
    104,
  )
  const image = { type: 'image_url', image_url: { url: 'x'.repeat(1_000_000) } }
  t.equal(count({ messages: [{ role: 'user', content: [image] }] }), 260)
  t.equal(count({ tools: [{}, {}] }), 128)
  t.equal(count({ tools: [{ function: { description: text } }] }), 64 + Math.ceil(319 / 3))
  t.equal(count({ response_format: { schema: [text] } }), Math.ceil(306 / 3))
  t.equal(count({ output_config: { format: { schema: [text] } } }), Math.ceil(312 / 3))
  t.equal(count({ extra: { documents: [text] } }), Math.ceil(309 / 3), 'of a member that nobody listed')
  const calls = [{ function: { arguments: text } }]
  t.equal(count({ messages: [{ role: 'assistant', tool_calls: calls }] }), 4 + Math.ceil(317 / 3))
  const thought = { type: 'thinking', thinking: text }
  const used = { type: 'tool_use', id: 'x', name: 'f', input: { a: text } }
  t.equal(count({ messages: [{ role: 'assistant', content: [thought, used] }] }), 4 + Math.ceil(601 / 3))
  t.equal(count({ messages: [{ role: 'assistant' }, { role: 'assistant', content: null }] }), 8)
  t.end()
})

test('what would fit is told from what is left', (t) => {
  const reservation = reservationFor(asked({ max_tokens: 100 }), [
    endpoint({ completion: 3_000_000, request: 50 }),
  ])
  t.equal(reservation.cost, 350)
  t.equal(affordableTokens(349, reservation), 99)
  t.equal(affordableTokens(50, reservation), 0)
  t.equal(affordableTokens(49, reservation), null)
  t.end()
})

test('speech is set aside by its characters, and nothing is said to fit instead', (t) => {
  const speech = (input: string, prices: object) =>
    reservationOf('speech', { input } as unknown as RoutedRequest, [endpoint(prices)])
  const paid = speech('nine: 你好 🎉', { inputCharacter: 15_000_000_000, request: 5 })
  t.match(paid, { cost: 10 * 15_000 + 5, promptTokens: 0, completionTokens: 0 })
  t.equal(affordableTokens(paid.cost - 1, paid), null)
  const counted = speech('x'.repeat(30), { inputCharacter: null, prompt: 1_000_000, outputAudio: 2_000_000 })
  t.match(counted, { cost: 10 + 2 * 60, promptTokens: 10, completionTokens: 60 })
  t.equal(speech('free', { inputCharacter: null }).cost, 0)
  t.end()
})

test('a transcription is set aside by the longest recording that its bytes may hold', (t) => {
  const heard = (audio: object, prices: object = { audioSecond: 100_000_000_000, inputCharacter: null }) =>
    reservationOf('transcription', { audio } as unknown as RoutedRequest, [endpoint(prices)])
  const perSecond = 100_000
  const bytes = (size: number, format: string) => ({ kind: 'bytes', bytes: { size }, format })
  for (const [audio, seconds] of [
    [bytes(32_000, 'pcm'), 1],
    [bytes(16_001, 'wav'), 2],
    [bytes(8_000, 'mp3'), 2],
    [bytes(1, 'ogg'), 1],
    [bytes(1_000_000_000, 'mp3'), 7_200],
    [{ kind: 'url', format: 'mp3', file: null }, 600],
  ] as const) {
    t.equal(heard(audio).cost, seconds * perSecond)
    t.equal(heard(audio).promptTokens, 0)
  }
  const tokens = heard(bytes(8_000, 'mp3'), {
    audioSecond: null,
    inputCharacter: null,
    prompt: 1_000_000,
    inputAudio: 3_000_000,
    completion: 2_000_000,
  })
  t.match(tokens, { cost: 50 * 3 + 10 * 2, promptTokens: 50, completionTokens: 10 })
  t.end()
})

test('the dearest tier that a request may be served in is set aside', (t) => {
  const list = (perToken: number) => ({ ...PRICES, prompt: 0, completion: perToken * 1_000_000 })
  const tiers = { flex: list(1), priority: list(6), fast: list(20) }
  const plan = [endpoint({ completion: 2_000_000, tiers })]
  for (const [wish, perToken] of [
    [{}, 2],
    [{ service_tier: 'default' }, 2],
    [{ service_tier: 'flex' }, 2],
    [{ service_tier: 'priority' }, 6],
    [{ service_tier: 'fast' }, 6],
    [{ service_tier: 'ultrafast' }, 6],
    [{ service_tier: 'auto' }, 6],
    [{ service_tier: 'auto', speed: 'fast' }, 20],
    [{ speed: 'fast' }, 20],
    [{ service_tier: 'constructor' }, 2],
  ] as const) {
    t.equal(
      reservationFor(asked({ max_tokens: 10, ...wish }), plan).cost,
      10 * perToken,
      JSON.stringify(wish),
    )
  }
  t.end()
})

test('what is paid by the piece is set aside: pictures, and searches that a request allows', (t) => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,aa' } }
  const source = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
  const result = { type: 'tool_result', tool_use_id: 'x', content: [source] }
  const messages = [{ role: 'user', content: [image, result] }]
  const cost = (more: object, prices: object): number =>
    reservationFor(asked({ max_tokens: 1, ...more }), [endpoint(prices)]).cost
  t.equal(cost({ messages }, { inputImage: 7 }), 14)
  t.equal(cost({ modalities: ['text', 'image'] }, { outputImage: 9 }), 9)
  t.equal(cost({}, { outputImage: 9 }), 0)
  const search = (more: object) => [{ type: 'web_search_20250305', name: 'web_search', ...more }]
  t.equal(cost({ tools: search({ max_uses: 2 }) }, { webSearch: 10 }), 20)
  t.equal(cost({ tools: search({ max_uses: 1e9 }) }, { webSearch: 10 }), 200)
  t.equal(cost({ tools: search({}) }, { webSearch: 10 }), 50)
  t.equal(cost({ web_search_options: {} }, { webSearch: 10 }), 10)
  t.equal(cost({ tools: [{ type: 'function', function: { name: 'web_search' } }] }, { webSearch: 10 }), 0)
  t.end()
})

test('sound and pictures in a question are set aside at the dearest price of what is not looked into', (t) => {
  const sound = { type: 'input_audio', input_audio: { data: 'aa', format: 'wav' } }
  const prices = [endpoint({ prompt: 1_000_000, inputAudio: 5_000_000 })]
  const request = asked({ max_tokens: 1, messages: [{ role: 'user', content: [sound] }] })
  t.equal(reservationFor(request, prices).cost, 256 * 5 + 4)
  const spoken = [endpoint({ completion: 1_000_000, outputAudio: 8_000_000 })]
  t.equal(reservationFor(asked({ max_tokens: 10, modalities: ['audio'] }), spoken).cost, 80)
  t.equal(reservationFor(asked({ max_tokens: 10 }), spoken).cost, 10)
  t.end()
})
