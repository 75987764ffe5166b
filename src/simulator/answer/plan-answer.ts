import type { ChatRequest } from '../../gateway/formats/canonical.js'
import type { ProviderCall, ProviderFailure } from '../../gateway/providers/port/provider.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { sampleJson } from '../json-sampler/json-sampler.js'
import { isObject } from '../json-sampler/json-values.js'
import { createProviderFailure, rejectRequest } from '../provider-failures.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import { AnswerGenerator, type PlannedToolCall } from './answer-generator.js'
import {
  applyLimits,
  MAX_ANSWER_TOKENS,
  maxAnswerTokens,
  NO_TOOL_CALLS,
  type PlannedOutput,
} from './answer-limits.js'
import { randomAlphanumerics } from './letters.js'
import { PromptDigest } from './prompt-digest.js'
import { planReasoning } from './reasoning-plan.js'
import { splitIntoTokens, splitIntoWords } from './tokens.js'
import { chooseTools, echoText, isEchoRequest, lastUserText } from './tool-choice.js'

/** Length of an answer when neither the model nor the request says one. */
export const DEFAULT_ANSWER_TOKENS = 32

/** What `json_object` answers with. */
const ANY_OBJECT = {
  type: 'object',
  properties: {
    title: { type: 'string' },
    summary: { type: 'string', minLength: 20 },
    count: { type: 'integer', minimum: 1, maximum: 50 },
    tags: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 4 },
    final: { type: 'boolean' },
  },
  required: ['title', 'summary', 'count', 'tags', 'final'],
  additionalProperties: false,
}

/** Of the declarations of tools, as of any text. */
const CHARACTERS_PER_TOKEN = 4

/** What goes wrong while planning; a sentence for the caller. */
interface RequestProblem {
  readonly wrong: string
}

/**
 * Decides the whole answer to a call, or why there is none. An equal request under an equal seed gets an equal
 * answer; whether it streams, who asks and how they are metered changes nothing.
 */
export function planAnswer(
  call: ProviderCall,
  behaviour: CompiledBehaviour,
  seed: number,
): AnswerGenerator | ProviderFailure {
  const { request, endpoint } = call
  const reading = digestPrompt(call, behaviour.seed ?? seed)
  const providerName = endpoint.provider.name
  if (endpoint.contextLength !== null && reading.tokens > endpoint.contextLength) {
    return createProviderFailure('context-length', providerName)
  }
  const spot: RandomSeed = { low: reading.low, high: reading.high }
  const random = new SeededRandom(spot, RANDOM_LANE.plan)
  const reasoning = planReasoning(request, reading.effort, behaviour, random)
  const limit = maxAnswerTokens(request, endpoint.maxCompletionTokens)
  const said = planOutput(request, spot, unlimitedProseLength(request, behaviour, limit, random))
  if ('wrong' in said) return rejectRequest(said.wrong, providerName)
  return new AnswerGenerator(applyLimits(request, behaviour, said, reasoning, limit, reading, spot))
}

export function digestPrompt({ request, endpoint }: ProviderCall, seed: number): PromptDigest {
  const reading = new PromptDigest(seed)
  reading.mixText(endpoint.model.id)
  reading.addMessages(request.messages)
  reading.mixNumber(request.seed ?? 0)
  reading.mixNumber(Math.round((request.temperature ?? 1) * 1000))
  // Automatic caching covers everything before the last message.
  if (request.cache_control !== undefined) {
    const before = new PromptDigest(seed)
    before.addMessages(request.messages.slice(0, -1))
    reading.cachedTokens = Math.max(reading.cachedTokens, before.tokens)
  }
  if (request.tools !== undefined && request.tools.length > 0) {
    reading.tokens += Math.ceil(JSON.stringify(request.tools).length / CHARACTERS_PER_TOKEN)
  }
  return reading
}

/** Length of the prose without a limit. */
function unlimitedProseLength(
  request: ChatRequest,
  behaviour: CompiledBehaviour,
  limit: number,
  random: SeededRandom,
): number {
  if (behaviour.tokens !== null) {
    return Math.min(MAX_ANSWER_TOKENS, Math.max(1, Math.round(behaviour.tokens.draw(random))))
  }
  const asks = (request.max_completion_tokens ?? request.max_tokens ?? null) !== null
  // One more than may be said: who asks for a length gets it, and the finish says that it was the limit.
  return asks ? limit + 1 : DEFAULT_ANSWER_TOKENS
}

function planOutput(
  request: ChatRequest,
  seed: RandomSeed,
  proseLength: number,
): PlannedOutput | RequestProblem {
  const unfit = findUnsupportedFeature(request)
  if (unfit !== null) return { wrong: unfit }
  const userText = lastUserText(request.messages)
  const tools = chooseTools(request, userText)
  if ('wrong' in tools) return tools
  if (tools.length > 0) return planToolCalls(tools, seed)
  const format = request.response_format
  if (format?.type === 'json_object') return planJsonOutput(ANY_OBJECT, seed, 'response_format')
  if (format?.type === 'json_schema') {
    const schema = format.json_schema.schema ?? ANY_OBJECT
    return planJsonOutput(schema, seed, 'response_format.json_schema.schema')
  }
  if (isEchoRequest(userText))
    return { tokens: splitIntoWords(echoText(userText)), proseLength: 0, toolCalls: NO_TOOL_CALLS }
  return { tokens: null, proseLength, toolCalls: NO_TOOL_CALLS }
}

/** The member of the request that asks for what no simulated model does. */
function findUnsupportedFeature({ modalities, response_format: format }: ChatRequest): string | null {
  const other = modalities?.find((modality) => modality !== 'text')
  if (other !== undefined) return `modalities: "${other}" is not supported by this model`
  if (format?.type === 'grammar' || format?.type === 'python') {
    return `response_format.type: "${format.type}" is not supported by this model`
  }
  return null
}

function planJsonOutput(schema: unknown, seed: RandomSeed, place: string): PlannedOutput | RequestProblem {
  const made = sampleJson(schema, new SeededRandom(seed, RANDOM_LANE.json))
  if ('impossible' in made) return { wrong: `${place}: ${made.impossible}` }
  return { tokens: splitIntoTokens(JSON.stringify(made.value)), proseLength: 0, toolCalls: NO_TOOL_CALLS }
}

function planToolCalls(
  tools: Exclude<ReturnType<typeof chooseTools>, RequestProblem>,
  seed: RandomSeed,
): PlannedOutput | RequestProblem {
  const calls: PlannedToolCall[] = []
  for (const [i, tool] of tools.entries()) {
    const random = new SeededRandom(seed, RANDOM_LANE.json + i)
    const { name, parameters } = tool.function
    const id = randomToolCallId(random)
    const made = sampleJson(argumentsSchema(parameters), random)
    if ('impossible' in made) return { wrong: `tools: parameters of "${name}": ${made.impossible}` }
    if (!isObject(made.value)) return { wrong: `tools: parameters of "${name}" do not describe an object` }
    calls.push({ id, name, argumentTokens: splitIntoTokens(JSON.stringify(made.value)) })
  }
  return { tokens: [], proseLength: 0, toolCalls: calls }
}

/** Arguments are an object, also where the schema does not say so or leaves a choice. */
function argumentsSchema(parameters: Readonly<Record<string, unknown>> | undefined): unknown {
  if (parameters === undefined) return { type: 'object', maxProperties: 0 }
  const { type } = parameters
  const open = type === undefined || (Array.isArray(type) && type.includes('object'))
  return open ? { ...parameters, type: 'object' } : parameters
}

const ID_LETTERS = 24

function randomToolCallId(random: SeededRandom): string {
  return `call_${randomAlphanumerics(random, ID_LETTERS)}`
}
