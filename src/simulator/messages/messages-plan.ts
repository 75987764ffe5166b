/** What an answer in the messages format has besides its reasoning, its text and its tool calls. */
import type { FinishReason } from '../../gateway/formats/canonical.js'
import type {
  ContentBlock,
  MessagesRequest,
  MessagesUsage,
  StopInfo,
} from '../../gateway/formats/messages.js'
import type { PlannedAnswer } from '../answer/answer-limits.js'
import type { CompiledBehaviour } from '../behaviour.js'
import { type RandomSeed, SeededRandom } from '../random.js'
import { isThinkingOmitted } from './messages-prompt.js'

/** What the answer itself does not say. */
export type MessagesPlan = Readonly<ReturnType<typeof planMessages>>

interface MessagesPlanInput {
  readonly request: MessagesRequest
  readonly answer: PlannedAnswer
  readonly behaviour: CompiledBehaviour
}

/** Plans the rest of an answer; it follows from the request as the answer itself does. */
export function planMessages(input: MessagesPlanInput) {
  const { request, answer } = input
  const signature = randomBase64(answer.seed, LANE_OF_SIGNATURES)
  const stop = planStop(input)
  const usageAtEnd = toMessagesUsage(input)
  const citations = planCitations(request)
  const blocksBeforeText: readonly ContentBlock[] = [
    ...planHiddenThinking(input, signature),
    ...(stop.stop_reason === 'compaction' ? [COMPACTION] : []),
  ]
  return {
    /** Of the thinking, shown or kept. */
    signature,
    /** Whole blocks between the thinking and the text. */
    blocksBeforeText,
    /** Of the text. */
    citations,
    stop,
    /** Figures as a provider of this format tells them, when the answer begins and when it is over. */
    usageAtStart: { ...usageAtEnd, ...NO_OUTPUT_YET },
    usageAtEnd,
  }
}

/** Of the output when an answer begins. */
const NO_OUTPUT_YET = { output_tokens: 0, output_tokens_details: null, server_tool_use: null }

const COMPACTION: ContentBlock = { type: 'compaction', content: 'What was said before, in short.' }

/** Beyond the lanes of what chat draws. */
const LANE_OF_SIGNATURES = 100

/** Thinking that the caller may not read. */
function planHiddenThinking(input: MessagesPlanInput, signature: string): ContentBlock[] {
  const { reasoningTokens, showsReasoning, seed } = input.answer
  if (reasoningTokens === 0 || showsReasoning) return []
  if (input.behaviour.redacts)
    return [{ type: 'redacted_thinking', data: randomBase64(seed, LANE_OF_SIGNATURES + 1) }]
  return isThinkingOmitted(input.request) ? [{ type: 'thinking', thinking: '', signature }] : []
}

const BLOB_BYTES = 48

/** Base64 that means nothing and is always the same. */
function randomBase64(seed: RandomSeed, lane: number): string {
  const random = new SeededRandom(seed, lane)
  return Buffer.from(Array.from({ length: BLOB_BYTES }, () => random.nextBits() & 0xff)).toString('base64')
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: 'refusal',
}

function planStop({ request, answer, behaviour }: MessagesPlanInput): StopInfo {
  const { finishReason, stopSequence } = answer
  const stopped = finishReason === 'stop' && stopSequence !== null
  const reason = behaviour.stopReason ?? (stopped ? 'stop_sequence' : STOP_REASONS[finishReason])
  const sequence = stopSequence ?? request.stop_sequences?.[0] ?? null
  return {
    stop_reason: reason,
    stop_sequence: reason === 'stop_sequence' ? sequence : null,
    stop_details: reason === 'refusal' ? REFUSAL : null,
    container: null,
  }
}

const REFUSAL = {
  type: 'refusal',
  category: 'general_harms',
  explanation: 'The simulated content filter ended this answer.',
} as const

function toMessagesUsage({ request, answer: { usage } }: MessagesPlanInput): MessagesUsage {
  return {
    input_tokens: usage.prompt - usage.cached,
    output_tokens: usage.completion,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cached,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: null,
    inference_geo: null,
    service_tier: 'standard',
    ...(request.speed && { speed: request.speed }),
  }
}

// ── Citations ───────────────────────────────────────────────────────────────

/** Most characters of a passage. */
const PASSAGE = 80

/** One citation, of the first source that asks for it; none when none does. */
function planCitations({ messages }: MessagesRequest): readonly ContentBlock[] {
  const sources = messages
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .filter(({ type }) => type === 'document' || type === 'search_result')
  const cited = sources.find(
    ({ citations }) => (citations as { readonly enabled?: boolean } | null | undefined)?.enabled === true,
  )
  if (cited === undefined) return []
  const index = sources.filter(({ type }) => type === cited.type).indexOf(cited)
  return [cited.type === 'document' ? citeDocument(cited, index) : citeSearchResult(cited, index)]
}

function citeDocument({ source, title }: ContentBlock, index: number): ContentBlock {
  const { type, data = '', content } = source as DocumentSource
  const place = { document_index: index, document_title: title ?? null, file_id: null }
  if (type === 'text') {
    const cited_text = citedPassage(data)
    const end_char_index = [...cited_text].length
    return { type: 'char_location', cited_text, ...place, start_char_index: 0, end_char_index }
  }
  if (type === 'content') {
    const cited_text = citedPassage(typeof content === 'string' ? content : firstText(content ?? []))
    return { type: 'content_block_location', cited_text, ...place, start_block_index: 0, end_block_index: 1 }
  }
  // A PDF is not looked into.
  return { type: 'page_location', cited_text: 'Page 1', ...place, start_page_number: 1, end_page_number: 2 }
}

interface DocumentSource {
  readonly type: string
  readonly data?: string
  readonly content?: string | readonly ContentBlock[]
}

function citeSearchResult({ source, title, content }: ContentBlock, index: number): ContentBlock {
  const cited_text = citedPassage(firstText(content as readonly ContentBlock[]))
  const place = { search_result_index: index, start_block_index: 0, end_block_index: 1 }
  return { type: 'search_result_location', cited_text, source, title, ...place }
}

function firstText(blocks: readonly ContentBlock[]): string {
  return (blocks.find(({ type }) => type === 'text')?.text ?? '') as string
}

/** The beginning of a text; never half of a surrogate pair. */
function citedPassage(text: string): string {
  const isWhole = text.length <= PASSAGE
  return isWhole ? text : text.slice(0, PASSAGE).replace(/[\ud800-\udbff]$/, '')
}
