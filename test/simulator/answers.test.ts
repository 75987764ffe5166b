import fc from 'fast-check'
import { test } from 'tap'
import type { ChatMessage, ChatRequest, FunctionTool } from '../../src/gateway/formats/canonical.js'
import { splitIntoWords } from '../../src/simulator/answer/prose.js'
import type { Behaviour } from '../../src/simulator/behaviour.js'
import type { SimulatorSetup } from './calls.js'
import {
  assembleCompletion,
  builtInEndpoint,
  endpointOf,
  runCompletion,
  runStream,
  setUpSimulator,
  userRequest,
} from './calls.js'

const INSTANT: Behaviour = {}
const REASONER: Behaviour = { reasoning_tokens: { uniform: [5, 30] }, tokens: { uniform: [5, 40] } }
const PACED: Behaviour = {
  ...REASONER,
  first_token_ms: { log_normal: { median: 30, p99: 90 } },
  gap_ms: { exponential: { mean: 4 } },
}

const weather: FunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
}
const clock: FunctionTool = { type: 'function', function: { name: 'get_time' } }

function completionOf(
  request: ChatRequest,
  behaviour: Behaviour = INSTANT,
  on: SimulatorSetup = setUpSimulator(),
) {
  const recorder = runCompletion(request, behaviour, { on })
  if (recorder.completion === null) throw new Error(JSON.stringify(recorder.outcome))
  return recorder.completion
}

function messageOf(request: ChatRequest, behaviour: Behaviour = INSTANT) {
  return completionOf(request, behaviour).choices[0]!.message
}

function failureOf(request: ChatRequest, behaviour: Behaviour = INSTANT) {
  const { outcome } = runCompletion(request, behaviour)
  if (outcome === null || outcome === 'ended') throw new Error('it was not refused')
  return outcome
}

// ── The same, streamed and not ──────────────────────────────────────────────

const behaviours = fc.constantFrom(INSTANT, REASONER, PACED, { ...PACED, reasons: 'asked' as const })

const requests = fc
  .record(
    {
      text: fc.constantFrom(
        'Tell me of the sea',
        'echo: naïve 🙂  words\nof ours ',
        'echo:',
        'get_time in parallel',
        '',
      ),
      more: fc.record(
        {
          max_tokens: fc.integer({ min: 1, max: 60 }),
          stop: fc.constantFrom('a', [' the', 'o', '.'], '"', 'zzz', ['']),
          logprobs: fc.boolean(),
          top_logprobs: fc.integer({ min: 0, max: 20 }),
          seed: fc.nat(),
          tools: fc.constantFrom([weather], [weather, clock], [clock]),
          tool_choice: fc.constantFrom<('auto' | 'none')[]>('auto', 'none'),
          parallel_tool_calls: fc.boolean(),
          response_format: fc.constantFrom<NonNullable<ChatRequest['response_format']>[]>(
            { type: 'json_object' },
            { type: 'json_schema', json_schema: { name: 'x', schema: { ...weather.function.parameters } } },
            { type: 'text' },
          ),
          reasoning: fc.record(
            {
              effort: fc.constantFrom('none', 'minimal', 'medium', 'max', null),
              exclude: fc.boolean(),
              max_tokens: fc.integer({ min: 1, max: 20 }),
            },
            { requiredKeys: [] },
          ),
          service_tier: fc.constantFrom('auto', 'flex', null),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['text', 'more'] },
  )
  .map(({ text, more }) => userRequest(text, more as Partial<ChatRequest>))

test('an assembled stream is exactly the whole answer, and takes as long', async (t) => {
  fc.assert(
    fc.property(requests, behaviours, (request, behaviour) => {
      const on = setUpSimulator()
      const begin = on.clock.time
      const endpoint = endpointOf(behaviour)
      const parts = runStream({ ...request, stream: true }, endpoint, { on })
      const streamTime = parts.endedAt - begin
      const restart = on.clock.time
      const one = runCompletion(request, endpoint, { on })
      t.equal(parts.outcome, 'ended')
      t.strictSame(assembleCompletion(parts.events), one.completion)
      const { usage } = one.completion!
      // Every token but the hidden reasoning is one event; none of them is empty but the head of a tool call.
      const hidden = one.completion!.choices[0]!.message.reasoning === undefined ? usage!.reasoning : 0
      t.equal(parts.deltaCount, usage!.completion - hidden)
      // The clocks differ by the fraction of a millisecond in which each began.
      t.ok(Math.abs(streamTime - (one.endedAt - restart)) <= 2.5)
      return on.wheel.size() === 0 && !on.clock.hasTimer
    }),
    { numRuns: 400 },
  )
})

// ── Determinism (contract/decisions 29) ─────────────────────────────────────

test('an equal request gets an equal answer at equal times, whoever asks and whenever', async (t) => {
  fc.assert(
    fc.property(requests, (request) => {
      const again: ChatRequest = { ...structuredClone(request), user: 'somebody', metadata: { a: 'b' } }
      const first = runStream(request, PACED)
      const second = runStream(again, PACED, { generationId: 'gen-other' })
      t.strictSame(first.events, second.events)
      t.strictSame(first.times, second.times)
    }),
    { numRuns: 100 },
  )
})

const SEA = userRequest('Tell me of the sea')

const CHANGES: readonly [string, Partial<ChatRequest>][] = [
  ['text', userRequest('Tell me of the land')],
  ['seed', { seed: 4 }],
  ['temperature', { temperature: 0.5 }],
  ['history', { messages: [{ role: 'system', content: 'Be brief' }, ...SEA.messages] }],
]

for (const [what, change] of CHANGES) {
  test(`another ${what} gets another answer`, async (t) => {
    t.not(messageOf(SEA).content, messageOf({ ...SEA, ...change }).content)
  })
}

test('an empty text beside tool calls is none, as a stream is assembled', async (t) => {
  const answerTo = (content: string | null) =>
    messageOf({
      messages: [afterResult[0]!, { ...afterResult[1]!, content } as ChatMessage, afterResult[2]!],
    }).content
  t.equal(answerTo(''), answerTo(null))
  t.not(answerTo(''), answerTo('Hm.'))
})

test('another provider seed and another seed of the endpoint get other answers', async (t) => {
  const texts = [
    completionOf(SEA),
    completionOf(SEA, INSTANT, setUpSimulator({ seed: 8 })),
    completionOf(SEA, { seed: 9 }),
    completionOf(SEA, { seed: 9 }, setUpSimulator({ seed: 8 })),
  ].map((one) => one.choices[0]!.message.content)
  t.equal(new Set(texts.slice(0, 3)).size, 3)
  t.equal(texts[2], texts[3])
})

test('a shorter limit gives the beginning of the longer answer', async (t) => {
  const short = messageOf(userRequest('Tell me of the sea', { max_tokens: 10 })).content!
  const long = messageOf(userRequest('Tell me of the sea', { max_tokens: 200 })).content!
  t.ok(long.startsWith(short))
})

// ── Text ────────────────────────────────────────────────────────────────────

test('text reads like sentences, and every so often takes several bytes for a character', async (t) => {
  const text = messageOf(userRequest('Tell me of the sea', { max_tokens: 2000 })).content!
  t.ok(Buffer.byteLength(text) > text.length)
  t.notMatch(text, /\s\s|^\s|\s$/)
  for (const sentence of text.split('. ').slice(0, -1)) t.notMatch(sentence, /^[a-z]/)
  t.ok(text.split('. ').length > 50)
})

test('max_tokens ends with length, max_completion_tokens wins, a natural end is a stop', async (t) => {
  const both = completionOf(userRequest('hello', { max_tokens: 50, max_completion_tokens: 7 }))
  t.equal(both.usage!.completion, 7)
  t.equal(both.choices[0]!.finishReason, 'length')
  const natural = completionOf(userRequest('hello', { max_tokens: 50 }), { tokens: { constant: 9 } })
  t.equal(natural.usage!.completion, 9)
  t.equal(natural.choices[0]!.finishReason, 'stop')
  t.match(natural.choices[0]!.message.content, /\.$/)
})

test('no request gets more than the model can, however much it asks for', async (t) => {
  const endpoint = endpointOf(INSTANT, { maxCompletionTokens: 100 })
  const recorder = runCompletion(userRequest('hello', { max_tokens: 2 ** 40 }), endpoint)
  t.equal(recorder.completion!.usage!.completion, 100)
  t.equal(recorder.completion!.choices[0]!.finishReason, 'length')
})

test('the text ends before the first stop sequence, also where it lies across tokens', async (t) => {
  const request = userRequest('Tell me of the sea', { max_tokens: 300 })
  const text = messageOf(request).content!
  fc.assert(
    fc.property(fc.nat(text.length - 12), fc.integer({ min: 1, max: 12 }), (from, length) => {
      const stop = text.slice(from, from + length)
      const recorder = completionOf({ ...request, stop: [stop, 'never said'] })
      t.equal(recorder.choices[0]!.message.content, text.slice(0, text.indexOf(stop)))
      t.equal(recorder.choices[0]!.finishReason, 'stop')
    }),
    { numRuns: 100 },
  )
})

test('what follows echo: is said back, so that crossed answers can be told', async (t) => {
  const recorder = runStream(userRequest('echo: tag 17 of  worker 2'))
  t.equal(assembleCompletion(recorder.events).choices[0]!.message.content, 'tag 17 of  worker 2')
  t.equal(recorder.deltaCount, 5)
})

test('of a very long text both ends and the length decide about the answer, and all of it counts', async (t) => {
  const middle = 'word '.repeat(100_000)
  const answerTo = (text: string) => messageOf(userRequest(text)).content
  t.not(answerTo(`a${middle}`), answerTo(`b${middle}`))
  t.not(answerTo(`${middle}a`), answerTo(`${middle}b`))
  t.not(answerTo(middle), answerTo(`${middle}word `))
  t.equal(answerTo(middle), answerTo(middle))
  t.equal(completionOf(userRequest(middle)).usage?.prompt, 4 + 500_000 / 4)
})

test('of a long text behind echo: only what may be said is cut into words, and long words are cut', async (t) => {
  t.equal(splitIntoWords('a '.repeat(1_000_000), 3).length, 3)
  const long = 'x'.repeat(1000)
  t.same(
    splitIntoWords(`${long} y`, 10).map(({ length }) => length),
    [256, 256, 256, 232, 2],
  )
  const text = `one two three ${long}${' '.repeat(600)}end`
  t.equal(messageOf(userRequest(`echo: ${text}`)).content, text)
  const { choices, usage } = completionOf(userRequest(`echo: ${text}`, { max_tokens: 3 }))
  t.same(
    [choices[0]!.message.content, choices[0]!.finishReason, usage?.completion],
    ['one two three', 'length', 3],
  )
  const stopped = completionOf(userRequest(`echo: ${text}`, { max_tokens: 3, stop: 'two three' }))
  t.same([stopped.choices[0]!.message.content, stopped.choices[0]!.finishReason], ['one ', 'stop'])
})

// ── Tools ───────────────────────────────────────────────────────────────────

const asked: ChatMessage = { role: 'user', content: 'What will it be like?' }
const afterResult: readonly ChatMessage[] = [
  asked,
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: '21 degrees' },
]
const tools = [weather, clock]
const said = (content: string): ChatMessage => ({ role: 'assistant', content })
const resultOf = (name: string, id: string): readonly ChatMessage[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content: 'fine' },
]
const named = { type: 'function' as const, function: { name: 'get_time' } }

const CALLS: readonly [string, ChatRequest, readonly string[]][] = [
  ['auto after the user', { messages: [asked], tools }, ['get_weather']],
  ['auto with a name in the text', userRequest('use get_time', { tools }), ['get_time']],
  ['auto after a tool result', { messages: afterResult, tools }, []],
  ['auto with echo', userRequest('echo: get_time', { tools }), []],
  ['none', { messages: [asked], tools, tool_choice: 'none' }, []],
  ['required after a tool result', { messages: afterResult, tools, tool_choice: 'required' }, ['get_time']],
  [
    'required when everything was called once',
    { messages: [...afterResult, ...resultOf('get_time', 'call_2')], tools, tool_choice: 'required' },
    ['get_weather'],
  ],
  [
    'required in a new turn of the user',
    { messages: [...afterResult, said('Mild.'), asked], tools, tool_choice: 'required' },
    ['get_weather'],
  ],
  [
    'auto with a reminder right behind the results',
    { messages: [...afterResult, { role: 'user', content: 'Use get_time if you must.' }], tools },
    [],
  ],
  [
    'auto with a reminder between call and result',
    { messages: [...afterResult.slice(0, 2), asked, afterResult[2]!], tools },
    [],
  ],
  ['a named function', { messages: afterResult, tools, tool_choice: named }, ['get_time']],
  ['parallel', userRequest('both in parallel', { tools }), ['get_weather', 'get_time']],
  [
    'parallel with one tool',
    userRequest('in parallel', { tools: [weather] }),
    ['get_weather', 'get_weather'],
  ],
  [
    'parallel where it is off',
    userRequest('in parallel', { tools, parallel_tool_calls: false }),
    ['get_weather'],
  ],
]

for (const [what, request, names] of CALLS) {
  test(`tool choice ${what}: calls ${names.join(' and ') || 'nothing'}`, async (t) => {
    const choice = completionOf(request).choices[0]!
    const calls = choice.message.tool_calls ?? []
    t.strictSame(
      calls.map((call) => call.function.name),
      names,
    )
    t.equal(choice.finishReason, names.length > 0 ? 'tool_calls' : 'stop')
    t.equal(choice.message.content === null, names.length > 0)
    t.equal(new Set(calls.map((call) => call.id)).size, names.length)
    for (const call of calls) {
      const value = JSON.parse(call.function.arguments)
      if (call.function.name === 'get_time') t.strictSame(value, {})
      else {
        t.type(value.city, 'string')
        t.ok(Number.isInteger(value.days) && value.days >= 1 && value.days <= 7)
      }
    }
  })
}

test('a streamed tool call begins with id, name and empty arguments, then comes in fragments', async (t) => {
  const recorder = runStream({ messages: [asked], tools })
  const fragments = recorder.events.flatMap((event) =>
    event.type === 'delta' ? (event.delta.tool_calls ?? []) : [],
  )
  const [head, ...rest] = fragments
  t.match(head, {
    index: 0,
    id: /^call_[A-Za-z0-9]{24}$/,
    type: 'function',
    function: { name: 'get_weather', arguments: '' },
  })
  t.ok(rest.length >= 3)
  t.ok(rest.every((one) => one.id === undefined && one.function.name === undefined && one.index === 0))
})

test('arguments follow references inside the parameters, and are an object in any case', async (t) => {
  const $defs = { place: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] } }
  const parameters = { $defs, properties: { at: { $ref: '#/$defs/place' } }, required: ['at'] }
  for (const [i, schema] of [parameters, { ...parameters, type: ['string', 'object'] }, {}].entries()) {
    const tool = { type: 'function', function: { name: 'go', parameters: schema } } as const
    const recorder = messageOf({ messages: [asked], tools: [tool] })
    const value = JSON.parse(recorder.tool_calls![0]!.function.arguments)
    if (i < 2) t.type(value.at.lat, 'number')
    else t.strictSame(value, {})
  }
})

// ── Formats, reasoning, log probabilities, usage ────────────────────────────

test('json_object and json_schema answer with nothing but JSON that fits', async (t) => {
  const any = JSON.parse(
    messageOf(userRequest('hello', { response_format: { type: 'json_object' } })).content!,
  )
  t.type(any, 'object')
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema } } as const
  const recorder = JSON.parse(messageOf(userRequest('echo: no', { response_format: format })).content!)
  t.strictSame(Object.keys(recorder), ['ok'])
})

test('reasoning comes before the text, is told in details, and counts as completion', async (t) => {
  const recorder = runStream(userRequest('hello'), REASONER)
  const kinds = recorder.events.map((event) =>
    event.type === 'delta' ? Object.keys(event.delta)[0] : event.type,
  )
  const last = kinds.lastIndexOf('reasoning')
  t.ok(last >= 4 && kinds.slice(0, last).every((kind) => kind === 'reasoning'))
  const { choices, usage } = assembleCompletion(recorder.events)
  const { reasoning: text, reasoning_details: details } = choices[0]!.message
  t.strictSame(details, [{ type: 'reasoning.text', text, index: 0, format: 'unknown' }])
  t.equal(usage!.reasoning, last + 1)
  t.equal(usage!.completion, recorder.deltaCount)
})

const STEADY: Behaviour = { reasoning_tokens: { constant: 16 }, tokens: { constant: 4 } }
const REASONING: readonly [string, Partial<ChatRequest>, Behaviour, number, boolean][] = [
  ['nothing asked', {}, STEADY, 16, true],
  ['effort none', { reasoning: { effort: 'none' } }, STEADY, 0, false],
  ['effort low', { reasoning: { effort: 'low' } }, STEADY, 8, true],
  ['effort high in short', { reasoning_effort: 'high' }, STEADY, 32, true],
  ['a cap', { reasoning: { max_tokens: 5 } }, STEADY, 5, true],
  ['exclude', { reasoning: { exclude: true } }, STEADY, 16, false],
  ['include_reasoning false', { include_reasoning: false }, STEADY, 16, false],
  ['disabled', { reasoning: { enabled: false } }, STEADY, 0, false],
  ['a limit below', { max_tokens: 6 }, STEADY, 6, true],
  ['a model that reasons when asked, unasked', {}, { ...STEADY, reasons: 'asked' }, 0, false],
  [
    'a model that reasons when asked, asked',
    { reasoning: { enabled: true } },
    { ...STEADY, reasons: 'asked' },
    16,
    true,
  ],
  ['a model that cannot', { reasoning: { effort: 'high' } }, { tokens: { constant: 4 } }, 0, false],
]

for (const [what, more, behaviour, tokens, shown] of REASONING) {
  test(`reasoning with ${what}: ${tokens} tokens, ${shown ? 'shown' : 'not shown'}`, async (t) => {
    const { choices, usage } = completionOf(userRequest('hello', more), behaviour)
    t.equal(usage!.reasoning, tokens)
    t.equal(choices[0]!.message.reasoning !== undefined, shown)
    t.equal(choices[0]!.finishReason, 'max_tokens' in more ? 'length' : 'stop')
  })
}

test('a system message sets the effort from where it stands', async (t) => {
  const update = {
    role: 'system',
    content: '',
    configuration_update: { reasoning: { effort: 'none' } },
  } as const
  const request: ChatRequest = { messages: [asked, update, asked], reasoning: { effort: 'high' } }
  t.equal(completionOf(request, STEADY).usage!.reasoning, 0)
})

test('log probabilities: one entry per token, bytes that spell it, alternatives as many as asked', async (t) => {
  const { message, logprobs } = completionOf(
    userRequest('hello', { max_tokens: 400, logprobs: true, top_logprobs: 5 }),
  ).choices[0]!
  const entries = logprobs!.content!
  t.equal(entries.length, 400)
  t.equal(Buffer.from(entries.flatMap((entry) => entry.bytes!)).toString(), message.content)
  for (const entry of entries) {
    t.ok(entry.logprob < 0)
    t.equal(entry.top_logprobs.length, 5)
    t.equal(entry.top_logprobs[0]!.token, entry.token)
    t.equal(new Set(entry.top_logprobs.map((other) => other.token)).size, 5)
    const falling = entry.top_logprobs.every(
      (other, i, all) => i === 0 || other.logprob < all[i - 1]!.logprob,
    )
    t.ok(falling)
  }
  t.equal(completionOf(userRequest('hello')).choices[0]!.logprobs, null)
})

test('an answer has a bounded number of log probabilities, whatever it is asked for, streamed and not', async (t) => {
  for (const top of [0, 5, 20]) {
    const request = userRequest('hello', { max_tokens: 1e9, logprobs: true, top_logprobs: top })
    const endpoint = builtInEndpoint('sim/instant')
    const { completion } = runCompletion(request, endpoint)
    const choice = completion!.choices[0]!
    const words = Math.floor(50_000 / (top + 1))
    t.equal(choice.logprobs!.content!.length, words)
    t.equal(choice.finishReason, 'length')
    t.equal(completion!.usage!.completion, words)
    t.strictSame(assembleCompletion(runStream(request, endpoint).events), completion)
  }
})

test('no answer is longer than one may build at once, also of a model that could say more', async (t) => {
  const endpoint = endpointOf(INSTANT, { maxCompletionTokens: 1e9 })
  const { completion } = runCompletion(userRequest('hello', { max_tokens: 1e9 }), endpoint)
  t.equal(completion!.usage!.completion, 131_072)
  t.equal(completion!.choices[0]!.finishReason, 'length')
})

test('usage grows with the prompt, tools and media; nothing is cached unless asked', async (t) => {
  const prompt = (request: ChatRequest) => completionOf(request).usage!
  const plain = prompt(userRequest('hello'))
  t.equal(plain.cached, 0)
  t.ok(prompt(userRequest('hello'.repeat(100))).prompt > plain.prompt + 100)
  t.ok(prompt(userRequest('hello', { tools: [weather], tool_choice: 'none' })).prompt > plain.prompt)
  const part = { type: 'text', text: 'long '.repeat(50), cache_control: { type: 'ephemeral' } } as const
  const cached = prompt({ messages: [{ role: 'user', content: [part, { type: 'text', text: 'short' }] }] })
  t.ok(cached.cached > 50 && cached.cached < cached.prompt)
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } } as const
  const heard = prompt({ messages: [{ role: 'user', content: [sound] }] })
  t.ok(heard.promptAudio > 0 && heard.promptAudio <= heard.prompt)
})

// ── What is refused ─────────────────────────────────────────────────────────

const endless = { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }
let deep: unknown = 'end'
for (let i = 0; i < 200_000; i++) deep = [deep]

const withParameters = (parameters: Readonly<Record<string, unknown>>): Partial<ChatRequest> => ({
  tools: [{ type: 'function', function: { name: 'f', parameters } }],
})

const REFUSED: readonly [string, Partial<ChatRequest>, RegExp][] = [
  ['a picture', { modalities: ['text', 'image'] }, /^modalities: "image"/],
  ['a grammar', { response_format: { type: 'grammar', grammar: 'x' } }, /"grammar" is not supported/],
  ['python', { response_format: { type: 'python' } }, /"python" is not supported/],
  [
    'a schema without a value',
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: endless } } },
    /response_format\.json_schema\.schema: no value/,
  ],
  ['arguments without a value', withParameters(endless), /parameters of "f"/],
  ['arguments that are no object', withParameters({ type: 'string' }), /parameters of "f"/],
  ['a server tool', { tools: [weather, { type: 'service:datetime' }] }, /tools\.1: .*"service:datetime"/],
  [
    'a server tool by choice',
    { tools: [weather], tool_choice: { type: 'web_search' } },
    /tool_choice: .*"web_search"/,
  ],
  ['a function that is not there', { tools: [weather], tool_choice: named }, /tool_choice: .*"get_time"/],
  ['required without tools', { tool_choice: 'required' }, /tool_choice/],
  ['a schema nested beyond the stack', withParameters({ const: deep }), /nested too deeply/],
]

for (const [what, more, note] of REFUSED) {
  test(`${what} is refused with a sentence, streamed and not`, async (t) => {
    const failure = failureOf(userRequest('hello', more))
    t.match(failure.fault, {
      kind: 'bad-request',
      metadata: { error_type: 'invalid_request', provider_name: 'Simulated' },
    })
    t.match(failure.fault.note, note)
    t.match(failure, { class: 'refused', status: 400 })
    const recorder = runStream(userRequest('hello', more))
    t.equal(recorder.events.length, 0)
    t.match(recorder.outcome, { fault: { note } })
  })
}

test('a prompt beyond the context of the model is refused like a real provider does', async (t) => {
  const endpoint = endpointOf(INSTANT, { contextLength: 100 })
  const { outcome } = runCompletion(userRequest('long '.repeat(100)), endpoint)
  t.match(outcome, {
    fault: { kind: 'bad-request', metadata: { error_type: 'context_length_exceeded' } },
    status: 400,
  })
})

test('the echo of the upstream body is what a real provider would be sent', async (t) => {
  const request = userRequest('hello', {
    model: 'a/b',
    debug: { echo_upstream_body: true },
    user: 'me',
    max_tokens: 2,
  })
  const recorder = runStream(request, 'sim/instant')
  t.strictSame(recorder.sentBodies, [{ messages: request.messages, model: 'sim/test', max_tokens: 2 }])
  t.strictSame(runStream(userRequest('hello'), 'sim/instant').sentBodies, [])
})
