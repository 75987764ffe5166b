import { test } from 'tap'
import {
  MOST_RESERVED,
  RESERVED_UNASKED,
  reservationFor,
  tokensFor,
} from '../../src/gateway/accounting/reservation.js'
import type { RoutedRequest } from '../../src/gateway/canonical.js'
import type { ModelEndpoint } from '../../src/gateway/catalog.js'

/** Dollars per million tokens are thousands of nano-dollars per token. */
function endpoint(prices: object, maxCompletionTokens: number | null = null): ModelEndpoint {
  const none = {
    inputCacheRead: null,
    inputCacheWrite: null,
    internalReasoning: null,
    inputAudio: null,
    outputAudio: null,
  }
  return {
    maxCompletionTokens,
    prices: { ...none, prompt: 0, completion: 0, request: 0, ...prices },
  } as unknown as ModelEndpoint
}

const asked = (more: object): RoutedRequest => ({ messages: [], ...more }) as unknown as RoutedRequest

test('what is set aside for the answer is what the request allows, up to a cap', (t) => {
  const perToken = [endpoint({ completion: 1_000_000 })]
  for (const [request, tokens] of [
    [{ max_tokens: 20 }, 20],
    [{ max_tokens: 900, max_completion_tokens: 30 }, 30],
    [{ max_tokens: 1_000_000 }, MOST_RESERVED],
    [{}, RESERVED_UNASKED],
    [{ max_tokens: null }, RESERVED_UNASKED],
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
  t.equal(tokensFor(349, reservation), 99)
  t.equal(tokensFor(50, reservation), 0)
  t.equal(tokensFor(49, reservation), null)
  t.end()
})
