import fc from 'fast-check'
import { test } from 'tap'
import type { ChatRequest, Completion } from '../../../src/gateway/formats/canonical.js'
import type { CountTexts } from '../../../src/gateway/metering/format.js'
import { chatFormat, OutputSample, TextSample } from '../../../src/gateway/metering/format.js'
import { completion, PRICES } from '../../support/providers/scripted-provider.js'

const FRAMING = 4
const ATTACHMENT = 256

/** One token per character: every sum can be checked by eye. */
const byLength: CountTexts = async (texts) => ({
  counts: texts.map(({ length }) => length),
  areGuessed: false,
})

function saying(content: string, reasoning = ''): OutputSample {
  const said = new OutputSample()
  said.content.add(content)
  said.reasoning.add(reasoning)
  return said
}

async function promptOf(request: ChatRequest): Promise<number> {
  return (await chatFormat.estimate(request, saying(''), byLength, PRICES)).usage.prompt
}

const AB = { type: 'text', text: 'ab' } as const
const IMAGE = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(4000)}` } } as const
const CALL = { id: 'c', type: 'function', function: { name: 'fn', arguments: '{}' } } as const

const PROMPTS: readonly (readonly [string, ChatRequest['messages'], number])[] = [
  ['a text', [{ role: 'user', content: 'abc' }], 3 + FRAMING],
  [
    'several, a line end between',
    [
      { role: 'system', content: 'ab' },
      { role: 'user', content: 'c' },
    ],
    4 + 2 * FRAMING,
  ],
  ['parts of text', [{ role: 'user', content: [AB, { type: 'text', text: 'c' }] }], 4 + FRAMING],
  ['an image, whatever its size', [{ role: 'user', content: [AB, IMAGE] }], 3 + FRAMING + ATTACHMENT],
  [
    'tool calls of an earlier answer',
    [{ role: 'assistant', content: null, tool_calls: [CALL] }],
    4 + FRAMING,
  ],
  ['nothing said', [{ role: 'assistant' }], FRAMING],
]

for (const [what, messages, tokens] of PROMPTS) {
  test(`a prompt is counted with its framing: ${what}`, async (t) => {
    t.equal(await promptOf({ messages }), tokens)
  })
}

test('offered tools count as part of the prompt', async (t) => {
  const messages = [{ role: 'user' as const, content: 'abc' }]
  const tools = [{ type: 'function' as const, function: { name: 'f' } }]
  t.equal(await promptOf({ messages, tools }), 3 + FRAMING + JSON.stringify(tools).length)
})

test('reasoning is part of the completion and told apart; what cannot be known is 0', async (t) => {
  const request = { messages: [{ role: 'user' as const, content: '' }] }
  t.same((await chatFormat.estimate(request, saying('abcd', 'xyz'), byLength, PRICES)).usage, {
    prompt: FRAMING,
    completion: 7,
    cached: 0,
    cacheWrite: 0,
    promptAudio: 0,
    reasoning: 3,
    completionAudio: 0,
  })
})

test('a whole answer says its text, refusals, calls and reasoning, of every choice', async (t) => {
  const [choice] = completion('abc').choices
  const message = { ...choice!.message, refusal: 'no', reasoning: 'hm', tool_calls: [CALL] }
  const answer: Completion = { ...completion(''), choices: [{ ...choice!, message }, choice!] }
  const said = chatFormat.sampleOf(answer)
  t.equal(said.content.kept, 'abcnofn{}abc')
  t.equal(said.reasoning.kept, 'hm')
})

test('a text in pieces is the same text, and a short one is counted as it is', async () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 50 }), { maxLength: 20 }), fc.nat(), (pieces, tokens) => {
      const sampled = new TextSample()
      for (const piece of pieces) sampled.add(piece)
      return sampled.kept === pieces.join('') && sampled.extrapolate(tokens) === tokens
    }),
  )
})

test('of a long text only the beginning is kept, and its count stands for the rest', async () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 3, maxLength: 30 }), (lengths) => {
      const sampled = new TextSample()
      for (const length of lengths) sampled.add('x'.repeat(length))
      const total = lengths.reduce((sum, length) => sum + length, 0)
      return (
        sampled.kept.length === Math.min(total, 16_384) && sampled.extrapolate(sampled.kept.length) === total
      )
    }),
    { numRuns: 50 },
  )
})
