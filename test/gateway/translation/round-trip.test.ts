import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { z } from 'zod'
import type { Completion } from '../../../src/gateway/formats/canonical.js'
import { buildMessagesBody } from '../../../src/gateway/providers/anthropic/provider.js'
import { toCompletion } from '../../../src/gateway/translation/chat-over-messages/answer.js'
import { toMessagesRequest } from '../../../src/gateway/translation/chat-over-messages/request.js'
import { toMessagesAnswer as answerAsMessages } from '../../../src/gateway/translation/messages-over-chat/answer.js'
import { toChatRequest } from '../../../src/gateway/translation/messages-over-chat/request.js'
import { Translation } from '../../../src/gateway/translation/translation.js'
import { crossingRequest } from '../../support/arbitraries/crossing-arbitraries.js'
import { messagesCall } from '../../support/clients/messages-face-calls.js'
import { providerCall } from '../../support/clients/openai-calls.js'
import { usage } from '../../support/providers/scripted-provider.js'
import { messagesRequestBody } from '../../support/schemas/messages-schemas.js'

const RUNS = 10_000

test('a chat request of the crossing subset comes back from the messages format as it went', async (t) => {
  let longest = 0
  const property = fc.property(crossingRequest, (request) => {
    const lost: string[] = []
    const messages = toMessagesRequest(providerCall(request), new Translation(lost))
    const back = toChatRequest(messagesCall(messages), new Translation(lost))
    assert.deepStrictEqual(back, request)
    assert.deepStrictEqual(lost, [])
    longest = Math.max(longest, request.messages.length)
  })
  fc.assert(property, { numRuns: RUNS })
  t.ok(longest > 8, 'conversations of many turns were among them')
})

test('what goes to a messages server for such a request is of its format', async (t) => {
  const property = fc.property(crossingRequest, (request) => {
    const crossed = toMessagesRequest(providerCall(request), new Translation([]))
    const body = buildMessagesBody(
      messagesCall(crossed, { serviceTier: crossed.service_tier ?? undefined }),
      request.stream === true,
    )
    const read = messagesRequestBody.safeParse(JSON.parse(JSON.stringify(body)))
    if (!read.success) throw new Error(z.prettifyError(read.error))
  })
  fc.assert(property, { numRuns: 2_000 })
  t.pass('2000 bodies')
})

// ── Answers ─────────────────────────────────────────────────────────────────

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const thought = fc.oneof(
  fc
    .record({ text, signature: word })
    .map((told) => ({ type: 'reasoning.text', ...told, format: 'anthropic-claude-v1' })),
  word.map((data) => ({ type: 'reasoning.encrypted', data, format: 'anthropic-claude-v1' })),
)
const call = fc
  .tuple(
    word,
    word,
    fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
  )
  .map(([id, name, input]) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(JSON.parse(JSON.stringify(input))) },
  }))

const completion: fc.Arbitrary<Completion> = fc
  .tuple(
    fc.option(text),
    fc.array(thought, { maxLength: 3 }),
    fc.array(call, { maxLength: 3 }),
    fc.boolean(),
    fc.nat(),
    fc.nat(),
  )
  .map(([content, thoughts, calls, cut, prompt, output]) => {
    const reasoning = thoughts.map((one) => ('text' in one ? one.text : '')).join('')
    const reason = cut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop'
    const native = cut ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn'
    const message = {
      role: 'assistant' as const,
      content,
      refusal: null,
      ...(reasoning === '' ? {} : { reasoning }),
      ...(thoughts.length === 0
        ? {}
        : { reasoning_details: thoughts.map((one, index) => ({ ...one, index })) }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }
    return {
      choices: [{ index: 0, message, finishReason: reason, native, logprobs: null }],
      usage: usage(prompt, output),
      serviceTier: null,
    } satisfies Completion
  })

test('a chat answer comes back from the messages format as it went', async (t) => {
  const property = fc.property(completion, (answer) => {
    const lost: string[] = []
    const messages = answerAsMessages(answer, messagesCall(), new Translation(lost))
    if ('fault' in messages) throw messages.fault
    assert.deepStrictEqual(toCompletion(messages, new Translation(lost)), answer)
    assert.deepStrictEqual(lost, [])
  })
  fc.assert(property, { numRuns: 2_000 })
  t.pass('2000 answers')
})
