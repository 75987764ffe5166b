/**
 * Chat requests of the crossing subset: everything of chat that the messages format can say, in the one spelling that
 * chat gets back. Left out is what has two spellings in chat (a developer's instruction, `stop` as a text,
 * `reasoning_effort` beside `reasoning.effort`, defaults that are said, parts where a text says the same) and what
 * cannot cross.
 */
import fc from 'fast-check'
import type {
  CacheControl,
  ChatMessage,
  ChatRequest,
  ContentPart,
  ReasoningDetail,
  TextPart,
  ToolCall,
} from '../../../src/gateway/formats/canonical.js'

const FORMAT = 'anthropic-claude-v1'

/** Any text at all; lone surrogates aside, which no JSON carries over a socket. */
const anyText = fc.string({ unit: 'grapheme', maxLength: 30 })
const filled = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
const base64 = fc.base64String({ minLength: 4, maxLength: 40 })
const toolId = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const toolName = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/)
const link = fc.webUrl({ withQueryParameters: true })

/** Makes members optional and leaves absent ones out. */
function some<T extends Record<string, unknown>>(
  required: { [K in keyof T]?: fc.Arbitrary<T[K]> },
  optional: { [K in keyof T]?: fc.Arbitrary<NonNullable<T[K]>> },
): fc.Arbitrary<T> {
  return fc.record({ ...required, ...optional } as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: Object.keys(required) as never[],
    noNullPrototype: true,
  }) as unknown as fc.Arbitrary<T>
}

const cacheControl = some<{ type: 'ephemeral'; ttl?: '5m' | '1h' }>(
  { type: fc.constant('ephemeral' as const) },
  { ttl: fc.constantFrom('5m' as const, '1h' as const) },
) as fc.Arbitrary<CacheControl>

// ── Content ─────────────────────────────────────────────────────────────────

const textPart = some<TextPart & Record<string, unknown>>(
  { type: fc.constant('text' as const), text: filled },
  { cache_control: cacheControl },
) as fc.Arbitrary<TextPart>

const pictureUrl = fc.oneof(
  link,
  fc
    .tuple(fc.constantFrom('image/png', 'image/jpeg', 'image/gif', 'image/webp'), base64)
    .map(([type, data]) => `data:${type};base64,${data}`),
)
const fileUrl = fc.oneof(
  link,
  base64.map((data) => `data:application/pdf;base64,${data}`),
  anyText.map((text) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`),
)

const picture = some<ContentPart & Record<string, unknown>>(
  {
    type: fc.constant('image_url' as never),
    image_url: fc.record({ url: pictureUrl }, { noNullPrototype: true }) as never,
  },
  { cache_control: cacheControl as never },
)
const file = some<ContentPart & Record<string, unknown>>(
  {
    type: fc.constant('file' as never),
    file: some<{ file_data: string; filename?: string }>(
      { file_data: fileUrl },
      { filename: filled },
    ) as never,
  },
  { cache_control: cacheControl as never },
)

const part = fc.oneof({ weight: 3, arbitrary: textPart }, picture, file) as fc.Arbitrary<ContentPart>
const parts = fc.array(part, { minLength: 1, maxLength: 4 })
const texts = fc.array(textPart, { minLength: 1, maxLength: 3 })

// ── Messages ────────────────────────────────────────────────────────────────

const instruction: fc.Arbitrary<ChatMessage> = fc
  .oneof(filled, texts)
  .map((content) => ({ role: 'system', content }))
const laterInstruction: fc.Arbitrary<ChatMessage> = fc
  .oneof(anyText, texts)
  .map((content) => ({ role: 'system', content }))
const question: fc.Arbitrary<ChatMessage> = fc
  .oneof(anyText, parts)
  .map((content) => ({ role: 'user', content }))

/** Arguments as JSON writes them; numbers beyond what a double holds do not come out of it. */
const callArguments = fc
  .dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((input) => JSON.stringify(JSON.parse(JSON.stringify(input))))

const call: fc.Arbitrary<ToolCall> = fc
  .tuple(toolId, toolName, callArguments)
  .map(([id, name, text]) => ({ id, type: 'function', function: { name, arguments: text } }))

const calls = fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id })

const thought = fc.oneof(
  fc
    .record({ text: filled, signature: base64 })
    .map((told) => ({ type: 'reasoning.text', ...told, format: FORMAT })),
  base64.map((data) => ({ type: 'reasoning.encrypted', data, format: FORMAT })),
)

interface Thoughts {
  readonly reasoning?: string
  readonly reasoning_details?: readonly ReasoningDetail[]
}

/** `reasoning` repeats the text of the details, as answers of ours do. */
const thoughts: fc.Arbitrary<Thoughts> = fc.array(thought, { maxLength: 3 }).map((list) => {
  if (list.length === 0) return {}
  const reasoning = list.map((one) => ('text' in one ? one.text : '')).join('')
  const details = list.map((one, index) => ({ ...one, index }))
  return { ...(reasoning === '' ? {} : { reasoning }), reasoning_details: details }
})

/** A single unmarked text beside calls or thinking is told as a text. */
const beside: fc.Arbitrary<string | readonly ContentPart[] | null> = fc.oneof(
  fc.constant(null),
  filled,
  fc.array(textPart, { minLength: 2, maxLength: 3 }),
)

const answered: fc.Arbitrary<ChatMessage[]> = fc.oneof(
  fc.oneof(filled, texts).map((content): ChatMessage[] => [{ role: 'assistant', content }]),
  fc
    .tuple(thoughts, beside)
    .filter(([told]) => told.reasoning_details !== undefined)
    .map(([told, content]): ChatMessage[] => [{ role: 'assistant', content, ...told }]),
)

const round: fc.Arbitrary<ChatMessage[]> = fc
  .tuple(thoughts, beside, calls, fc.array(fc.oneof(anyText, parts), { minLength: 3, maxLength: 3 }))
  .map(([told, content, made, results]) => [
    { role: 'assistant', content, ...told, tool_calls: made },
    ...made.map(
      ({ id }, at): ChatMessage => ({ role: 'tool', content: markedAtEnd(results[at]!), tool_call_id: id }),
    ),
  ])

/** A result is marked as a whole in messages, which is a mark on its last part in chat. */
function markedAtEnd(content: string | readonly ContentPart[]): string | readonly ContentPart[] {
  if (typeof content === 'string') return content
  return content.map((part, at) => {
    if (at === content.length - 1) return part
    const { cache_control: _, ...rest } = part
    return rest as ContentPart
  })
}

const turn = fc.oneof(
  { weight: 3, arbitrary: question.map((message) => [message]) },
  { weight: 2, arbitrary: answered },
  { weight: 2, arbitrary: round },
  laterInstruction.map((message) => [message]),
)

/** An instruction right behind the one at the head would belong to it. */
const conversation = fc
  .tuple(fc.option(instruction), question, fc.array(turn, { maxLength: 6 }))
  .map(([head, first, turns]): ChatMessage[] => [...(head === null ? [] : [head]), first, ...turns.flat()])

// ── The rest ────────────────────────────────────────────────────────────────

const schema = fc
  .record({
    properties: fc.dictionary(
      fc.string({ maxLength: 8 }),
      fc.constantFrom({ type: 'string' }, { type: 'integer' }),
      { maxKeys: 3 },
    ),
    additionalProperties: fc.boolean(),
  })
  .map((members) => ({ type: 'object', ...JSON.parse(JSON.stringify(members)) }) as Record<string, unknown>)

const tool = fc
  .tuple(
    toolName,
    some<{ description?: string; strict?: boolean }>({}, { description: anyText, strict: fc.boolean() }),
    schema,
    some<{ cache_control?: CacheControl }>({}, { cache_control: cacheControl }),
  )
  .map(([name, more, parameters, kept]) => ({
    type: 'function' as const,
    function: { name, ...more, parameters },
    ...kept,
  }))

/** Tools, how one is chosen, and whether one at a time. */
const toolWishes: fc.Arbitrary<Partial<ChatRequest>> = fc
  .tuple(
    fc.uniqueArray(tool, { maxLength: 3, selector: ({ function: { name } }) => name }),
    fc.constantFrom('default', 'auto', 'none', 'required', 'named'),
    fc.boolean(),
  )
  .map(([tools, choice, alone]) => {
    const [first] = tools
    if (first === undefined) return {}
    if (choice === 'default') return { tools }
    const chosen =
      choice === 'named'
        ? { type: 'function' as const, function: { name: first.function.name } }
        : (choice as 'auto')
    const single = alone && choice !== 'none' ? { parallel_tool_calls: false } : {}
    return { tools, tool_choice: chosen, ...single }
  })

const verbosity = fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max')
const shown = fc.constantFrom({}, { exclude: true }, { summary: 'auto' as const })
const unit = fc.double({ min: 0, max: 1, noNaN: true }).map((value) => (Object.is(value, -0) ? 0 : value))

/** While it thinks, a provider samples in its own way. */
const thinkingWishes: fc.Arbitrary<Partial<ChatRequest>> = fc.oneof(
  some<{ temperature?: number; top_p?: number; top_k?: number; verbosity?: string }>(
    {},
    { temperature: unit, top_p: unit, top_k: fc.integer({ min: 1, max: 500 }), verbosity },
  ),
  fc.record({ reasoning: fc.constant({ effort: 'none' as const }), temperature: unit }),
  fc
    .tuple(fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max'), shown)
    .map(([effort, more]) => ({ reasoning: { effort, ...more } }) as Partial<ChatRequest>),
  shown.map((more) => ({ reasoning: { enabled: true, ...more }, temperature: 1 })),
  fc
    .tuple(fc.integer({ min: 1024, max: 100_000 }), shown, some<{ verbosity?: string }>({}, { verbosity }))
    .map(([max_tokens, more, wordy]) => ({ reasoning: { max_tokens, ...more }, ...wordy })),
)

const responseFormat = fc
  .tuple(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), fc.option(filled), schema)
  .map(([name, description, told]) => ({
    type: 'json_schema' as const,
    json_schema: { name, ...(description === null ? {} : { description }), schema: told, strict: true },
  }))

const otherWishes = some<Partial<ChatRequest> & Record<string, unknown>>(
  { max_tokens: fc.integer({ min: 1, max: 1_000_000 }) },
  {
    stop: fc.array(filled, { minLength: 1, maxLength: 4 }),
    response_format: responseFormat,
    cache_control: cacheControl,
    service_tier: fc.constantFrom('auto', 'default'),
    stream: fc.boolean(),
    user: filled,
  },
)

/** A request that crosses without loss. */
export const crossingRequest: fc.Arbitrary<ChatRequest> = fc
  .tuple(conversation, toolWishes, thinkingWishes, otherWishes)
  .map(([messages, tools, thinking, others]) => ({
    model: 'vendor/name',
    messages,
    ...tools,
    ...thinking,
    ...others,
  }))
