import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import {
  affordableTokens,
  DEFAULT_RESERVED_TOKENS,
  MAX_RESERVED_TOKENS,
  reservationFor as reservationOf,
} from '../../../src/gateway/pricing/price.js'
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
    [{ kind: 'url', format: 'mp3' }, 600],
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
