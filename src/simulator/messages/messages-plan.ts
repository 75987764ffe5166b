/** What an answer in the messages format has besides its thoughts, its words and its calls. */
import type {
  ContentBlock,
  MessagesRequest,
  MessagesUsage,
  StopInfo,
} from '../../gateway/formats/messages.js'
import type { PlannedAnswer } from '../answer/answer-generator.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { type RandomSeed, SeededRandom } from '../random.js'
import { planCitations } from './citations.js'
import { isThinkingOmitted } from './messages-prompt.js'
import { simulateWebSearch } from './web-search.js'

export interface MessagesPlan {
  /** Of the thinking, told or kept. */
  readonly signature: string
  /** Whole blocks between the thinking and the text. */
  readonly blocksBeforeText: readonly ContentBlock[]
  /** Of the text. */
  readonly citations: readonly ContentBlock[]
  readonly stop: StopInfo
  /** Figures as a provider of this format tells them, when the answer begins and when it is over. */
  readonly usageAtStart: MessagesUsage
  readonly usageAtEnd: MessagesUsage
}

/** Plans the rest of an answer; it follows from the request as the answer itself does. */
export function planMessages(
  request: MessagesRequest,
  answer: PlannedAnswer,
  behaviour: CompiledBehaviour,
  searches: boolean,
): MessagesPlan {
  const search = searches ? simulateWebSearch(request, answer.seed) : null
  const signature = randomBase64(answer.seed, LANE_OF_SIGNATURES)
  const stop = planStop(request, answer, behaviour)
  const after = toMessagesUsage(request, answer, search !== null)
  return {
    signature,
    blocksBeforeText: [
      ...planHiddenThinking(request, answer, behaviour, signature),
      ...(stop.stop_reason === 'compaction' ? [COMPACTION] : []),
      ...(search?.blocks ?? []),
    ],
    citations: search === null ? planCitations(request) : [search.citation],
    stop,
    usageAtStart: { ...after, ...NO_OUTPUT_YET },
    usageAtEnd: after,
  }
}

/** Of the output when an answer begins. */
const NO_OUTPUT_YET = { output_tokens: 0, output_tokens_details: null, server_tool_use: null }

const COMPACTION: ContentBlock = { type: 'compaction', content: 'What was said before, in short.' }

/** Beyond the lanes of what chat draws. */
const LANE_OF_SIGNATURES = 100

/** Thinking that nobody may read. */
function planHiddenThinking(
  request: MessagesRequest,
  { reasoningTokens: thoughts, showsReasoning: tellsThoughts, seed }: PlannedAnswer,
  { redacts }: CompiledBehaviour,
  signature: string,
): ContentBlock[] {
  if (thoughts === 0 || tellsThoughts) return []
  if (redacts) return [{ type: 'redacted_thinking', data: randomBase64(seed, LANE_OF_SIGNATURES + 1) }]
  return isThinkingOmitted(request) ? [{ type: 'thinking', thinking: '', signature }] : []
}

const BLOB_BYTES = 48

/** Base64 that means nothing and is always the same. */
function randomBase64(seed: RandomSeed, lane: number): string {
  const random = new SeededRandom(seed, lane)
  return Buffer.from(Array.from({ length: BLOB_BYTES }, () => random.nextBits() & 0xff)).toString('base64')
}

function planStop(
  request: MessagesRequest,
  answer: PlannedAnswer,
  { stopReason }: CompiledBehaviour,
): StopInfo {
  const reason = stopReason ?? toStopReason(answer)
  const sequence = answer.stopSequence ?? request.stop_sequences?.[0] ?? null
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

function toStopReason({ finishReason: finish, stopSequence: stoppedBy }: PlannedAnswer): string {
  switch (finish) {
    case 'stop':
      return stoppedBy === null ? 'end_turn' : 'stop_sequence'
    case 'length':
      return 'max_tokens'
    case 'tool_calls':
      return 'tool_use'
    case 'content_filter':
    case 'error':
      return 'refusal'
  }
}

function toMessagesUsage(
  request: MessagesRequest,
  { usage }: PlannedAnswer,
  searched: boolean,
): MessagesUsage {
  return {
    input_tokens: usage.prompt - usage.cached,
    output_tokens: usage.completion,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cached,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: searched ? { web_search_requests: 1, web_fetch_requests: 0 } : null,
    inference_geo: null,
    service_tier: 'standard',
    ...(request.speed && { speed: request.speed }),
  }
}
