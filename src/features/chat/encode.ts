/** Canonical answers as the wire has them (contract/gateway 3): normalised so that the strictest client takes them. */

import type { Fault } from '../../base/fault.js'
import { quoteCached } from '../../base/quoted.js'
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  Completion,
  CompletionChoice,
  Logprobs,
  Usage,
  UsageDetails,
} from '../../gateway/formats/canonical.js'
import type { ToolProgress } from '../../gateway/loop/ports.js'
import type { Consumption, Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'
import { gatewayErrorOf } from '../../http/dialects/gateway.js'
import { metadataMember } from '../../inference-http/generation-told.js'
import { costMembers } from '../../inference-http/inference-reply.js'
import { progressMembers, type StreamEncoder } from '../../inference-http/stream-reply.js'

/**
 * `usage` of contract/gateway 3.3 as JSON, in the form that is safe for every client. Written by hand: the shape
 * never varies, and every answer has one.
 */
function usageJson({ usage, cost }: Consumption): string {
  const { prompt, completion, details } = usage
  if (details === undefined && isUndivided(usage)) {
    return `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion},${UNDIVIDED}${costMembers(cost)}}`
  }
  return (
    `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion},` +
    `"prompt_tokens_details":{"cached_tokens":${usage.cached},"cache_write_tokens":${usage.cacheWrite},` +
    `"audio_tokens":${usage.promptAudio}${details === undefined ? '' : promptDetails(usage, details)}},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoning},"audio_tokens":${usage.completionAudio}` +
    `${details === undefined ? '' : completionDetails(details)}},` +
    `${details === undefined ? '' : toolUse(details)}${costMembers(cost)}}`
  )
}

/** Whether neither sum has a part of another kind. */
function isUndivided({ cached, cacheWrite, promptAudio, reasoning, completionAudio }: Usage): boolean {
  return cached + cacheWrite + promptAudio + reasoning + completionAudio === 0
}

const UNDIVIDED =
  '"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0,"audio_tokens":0},' +
  '"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0},'

/** The members that there is something of, each behind a comma. */
function membersJson(members: Readonly<Record<string, number | undefined>>): string {
  let json = ''
  for (const name in members) if (members[name] !== undefined) json += `,"${name}":${members[name]}`
  return json
}

function promptDetails(
  { cacheWrite }: Usage,
  { promptImage, promptVideo, cacheWrite1h }: UsageDetails,
): string {
  const tokens = membersJson({ image_tokens: promptImage, video_tokens: promptVideo })
  if (cacheWrite1h === undefined) return tokens
  const short = cacheWrite - cacheWrite1h
  return `${tokens},"cache_creation":{"ephemeral_5m_input_tokens":${short},"ephemeral_1h_input_tokens":${cacheWrite1h}}`
}

function completionDetails({
  completionImage,
  acceptedPrediction,
  rejectedPrediction,
}: UsageDetails): string {
  return membersJson({
    image_tokens: completionImage,
    accepted_prediction_tokens: acceptedPrediction,
    rejected_prediction_tokens: rejectedPrediction,
  })
}

/** What the provider's own tools have done, before a comma; `''` when nothing is said of it. */
function toolUse({ toolCallsRequested, toolCallsExecuted, webSearches, webFetches }: UsageDetails): string {
  const used = membersJson({
    tool_calls_requested: toolCallsRequested,
    tool_calls_executed: toolCallsExecuted,
    web_search_requests: webSearches,
    web_fetch_requests: webFetches,
  })
  return used === '' ? '' : `"server_tool_use_details":{${used.slice(1)}},`
}

/** The body of a whole answer. */
export function encodeCompletion(
  generation: Generation,
  completion: Completion,
  metadata: ServiceMetadata | null,
): string {
  const { id, created, model, providerName } = generation
  const hidden = hidesReasoning(generation)
  let choices = ''
  for (const choice of completion.choices)
    choices += choices === '' ? choiceJson(choice, hidden) : `,${choiceJson(choice, hidden)}`
  const tier = completion.serviceTier === null ? '' : `,"service_tier":${quoteCached(completion.serviceTier)}`
  // `system_fingerprint` is required and nullable here, and must not be null in chunks (contract/gateway 3.1, 4.2).
  return (
    `{"id":"${id}","object":"chat.completion","created":${created},"model":${quoteCached(model)},` +
    `"provider":${quoteCached(providerName)},"choices":[${choices}],` +
    `"system_fingerprint":${quoteCached(completion.fingerprint ?? null)}` +
    `${tier},"usage":${usageJson(generation.consumption!)}${metadataMember(metadata)}}`
  )
}

function choiceJson(choice: CompletionChoice, hidden: boolean): string {
  const { index, finishReason, native, stopSequence, message, logprobs, error } = choice
  const shown = hidden ? withoutReasoning(message) : message
  return (
    `{"index":${index},"finish_reason":"${finishReason}","native_finish_reason":${quoteCached(native)},` +
    `${stopSequenceMember(stopSequence)}"message":${messageJson(shown)},` +
    `"logprobs":${logprobs === null ? 'null' : JSON.stringify(logprobs)}` +
    `${error === undefined ? '' : `,"error":${JSON.stringify(gatewayErrorOf(error))}`}}`
  )
}

/** The stop sequence that ended a choice, under the name that servers of this format have for it; before a comma. */
function stopSequenceMember(sequence: string | undefined): string {
  return sequence === undefined ? '' : `"stop_reason":${JSON.stringify(sequence)},`
}

function withoutReasoning<T extends AssistantMessage | ChatDelta>(
  said: T,
): Omit<T, 'reasoning' | 'reasoning_details'> {
  const { reasoning: _, reasoning_details: details, ...rest } = said
  // Calls of server tools travel there as well, and have to come back (contract/tools 1.3).
  const replayed = details?.filter(({ type }) => type === 'reasoning.server_tool_call') ?? []
  return replayed.length === 0 ? rest : { ...rest, reasoning_details: replayed }
}

/** Most messages are a text and nothing else. */
function messageJson(message: Omit<AssistantMessage, 'reasoning' | 'reasoning_details'>): string {
  for (const member in message) {
    if (member !== 'role' && member !== 'content' && member !== 'refusal') return JSON.stringify(message)
  }
  const { content, refusal } = message
  const refused = refusal === null ? 'null' : JSON.stringify(refusal)
  return `{"role":"assistant","content":${JSON.stringify(content)},"refusal":${refused}}`
}

/** The caller asked for the thinking, but not to see it. */
function hidesReasoning({ request }: Generation): boolean {
  return request.reasoning?.exclude === true || request.include_reasoning === false
}

// ── Streams (contract/gateway 4) ───────────────────────────────────────────────

const DONE = 'data: [DONE]\n\n'
const ROLE = '{"role":"assistant","content":""}'

/**
 * Turns events into chunks. What is the same in every chunk of a stream is serialised once, and the commonest
 * event, a piece of text, costs one string to be escaped.
 */
export class ChunkEncoder implements StreamEncoder<ChatEvent> {
  readonly #generation: Generation
  readonly #hidden: boolean
  /** Choices that have said their role. */
  readonly #begun = new Set<number>()
  #head = ''
  #fingerprint: string | undefined

  constructor(generation: Generation) {
    this.#generation = generation
    this.#hidden = hidesReasoning(generation)
  }

  /** First chunk of a stream that echoes the upstream body (contract/gateway 4.5). */
  echo(body: unknown): string {
    return `${this.#start()}],"debug":${JSON.stringify({ echo_upstream_body: body })}}\n\n`
  }

  /** The chunks of one event; `''` when it says nothing the caller may hear. */
  event(event: ChatEvent): string {
    if (event.type === 'fingerprint') {
      this.#fingerprint = event.fingerprint
      this.#head = ''
    }
    // What the gateway keeps to itself does not come here.
    if (event.type !== 'delta' && event.type !== 'finish') return ''
    const role = this.#begun.has(event.choice) ? '' : this.#role(event.choice)
    if (event.type === 'delta') return role + this.#delta(event.choice, event.delta, event.logprobs)
    const ended = `${stopSequenceMember(event.stopSequence)}"native_finish_reason":${JSON.stringify(event.native)}`
    return `${role}${this.#start()}{"index":${event.choice},"delta":{},"finish_reason":"${event.reason}",${ended}}]}\n\n`
  }

  /** The last chunk, with what the answer consumed, and the terminator. */
  end(metadata: ServiceMetadata | null): string {
    const { serviceTier } = this.#generation
    const usage = usageJson(this.#generation.consumption!)
    const tier = serviceTier === null ? '' : `,"service_tier":${JSON.stringify(serviceTier)}`
    return `${this.#start()}]${tier},"usage":${usage}${metadataMember(metadata)}}\n\n${DONE}`
  }

  /** The chunk that tells a failure, and the terminator: without it clients wait (contract/gateway 4.4). */
  failure(fault: Fault, metadata: ServiceMetadata | null): string {
    const error = JSON.stringify(gatewayErrorOf(fault))
    const choice = '{"index":0,"delta":{"content":""},"finish_reason":"error"}'
    return `${this.#start()}${choice}],"error":${error}${metadataMember(metadata)}}\n\n${DONE}`
  }

  toolEvent(progress: ToolProgress): string {
    return `${this.#start()}],"service_tool":${JSON.stringify(progressMembers(progress))}}\n\n`
  }

  #role(choice: number): string {
    this.#begun.add(choice)
    return `${this.#start()}{"index":${choice},"delta":${ROLE},"finish_reason":null}]}\n\n`
  }

  #delta(choice: number, delta: ChatDelta, logprobs: Logprobs | undefined): string {
    const { content } = delta
    if (content !== undefined && logprobs === undefined && isOnlyContent(delta)) {
      return `${this.#start()}{"index":${choice},"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]}\n\n`
    }
    const shown = this.#hidden ? withoutReasoning(delta) : delta
    if (this.#hidden && Object.keys(shown).length === 0) return ''
    const chances = logprobs === undefined ? '' : `,"logprobs":${JSON.stringify(logprobs)}`
    return `${this.#start()}{"index":${choice},"delta":${JSON.stringify(shown)},"finish_reason":null${chances}}]}\n\n`
  }

  /** Up to and including the bracket that opens the choices. Made late: only then is it known who serves. */
  #start(): string {
    if (this.#head !== '') return this.#head
    const { id, created, model, providerName, served } = this.#generation
    const system_fingerprint = this.#fingerprint
    const head = {
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      provider: providerName,
      system_fingerprint,
    }
    const text = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[`
    if (served !== null) this.#head = text
    return text
  }
}

function isOnlyContent(delta: ChatDelta): boolean {
  for (const member in delta) if (member !== 'content') return false
  return true
}
