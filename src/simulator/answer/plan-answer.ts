import type { ChatRequest } from '../../gateway/formats/canonical.js'
import type { ProviderCall, ProviderFailure } from '../../gateway/providers/port/provider.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { jsonOfSchema } from '../json-sampler/json-of-schema.js'
import { isObject } from '../json-sampler/json-values.js'
import { providerFailure, requestRefused } from '../provider-failures.js'
import { LANE, Random, type Seed } from '../random.js'
import { MOST_TOKENS, NO_CALLS, type Said, tokenLimit, withinLimits } from './answer-limits.js'
import { lettersOf } from './letters.js'
import { piecesOf, wordsOf } from './pieces.js'
import { PromptReading } from './prompt-reading.js'
import { planReasoning } from './reasoning-plan.js'
import { type PlannedCall, Script } from './script.js'
import { asksForEcho, chooseTools, echoOf, lastUserText } from './tool-choice.js'

/** Length of an answer when neither the model nor the request says one. */
export const DEFAULT_TOKENS = 32

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
interface Wrong {
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
): Script | ProviderFailure {
  const { request, endpoint } = call
  const reading = readPrompt(call, behaviour.seed ?? seed)
  const providerName = endpoint.provider.name
  if (endpoint.contextLength !== null && reading.tokens > endpoint.contextLength) {
    return providerFailure('context-length', providerName)
  }
  const spot: Seed = { low: reading.low, high: reading.high }
  const random = new Random(spot, LANE.plan)
  const reasoning = planReasoning(request, reading.effort, behaviour, random)
  const limit = tokenLimit(request, endpoint.maxCompletionTokens)
  const said = say(request, spot, naturalLength(request, behaviour, limit, random))
  if ('wrong' in said) return requestRefused(said.wrong, providerName)
  return new Script(withinLimits(request, behaviour, said, reasoning, limit, reading, spot))
}

export function readPrompt({ request, endpoint }: ProviderCall, seed: number): PromptReading {
  const reading = new PromptReading(seed)
  reading.mix(endpoint.model.id)
  reading.messages(request.messages)
  reading.number(request.seed ?? 0)
  reading.number(Math.round((request.temperature ?? 1) * 1000))
  // Automatic caching covers everything before the last message.
  if (request.cache_control !== undefined) {
    const before = new PromptReading(seed)
    before.messages(request.messages.slice(0, -1))
    reading.cached = Math.max(reading.cached, before.tokens)
  }
  if (request.tools !== undefined && request.tools.length > 0) {
    reading.tokens += Math.ceil(JSON.stringify(request.tools).length / CHARACTERS_PER_TOKEN)
  }
  return reading
}

/** Length of the prose without a limit. */
function naturalLength(
  request: ChatRequest,
  behaviour: CompiledBehaviour,
  limit: number,
  random: Random,
): number {
  if (behaviour.tokens !== null) {
    return Math.min(MOST_TOKENS, Math.max(1, Math.round(behaviour.tokens.draw(random))))
  }
  const asks = (request.max_completion_tokens ?? request.max_tokens ?? null) !== null
  // One more than may be said: who asks for a length gets it, and the finish says that it was the limit.
  return asks ? limit + 1 : DEFAULT_TOKENS
}

function say(request: ChatRequest, seed: Seed, proseLength: number): Said | Wrong {
  const unfit = unsupported(request)
  if (unfit !== null) return { wrong: unfit }
  const userText = lastUserText(request.messages)
  const tools = chooseTools(request, userText)
  if ('wrong' in tools) return tools
  if (tools.length > 0) return sayCalls(tools, seed)
  const format = request.response_format
  if (format?.type === 'json_object') return sayJson(ANY_OBJECT, seed, 'response_format')
  if (format?.type === 'json_schema') {
    const schema = format.json_schema.schema ?? ANY_OBJECT
    return sayJson(schema, seed, 'response_format.json_schema.schema')
  }
  if (asksForEcho(userText)) return { pieces: wordsOf(echoOf(userText)), proseLength: 0, calls: NO_CALLS }
  return { pieces: null, proseLength, calls: NO_CALLS }
}

/** The member of the request that asks for what no simulated model does. */
function unsupported({ modalities, response_format: format }: ChatRequest): string | null {
  const other = modalities?.find((modality) => modality !== 'text')
  if (other !== undefined) return `modalities: "${other}" is not supported by this model`
  if (format?.type === 'grammar' || format?.type === 'python') {
    return `response_format.type: "${format.type}" is not supported by this model`
  }
  return null
}

function sayJson(schema: unknown, seed: Seed, place: string): Said | Wrong {
  const made = jsonOfSchema(schema, new Random(seed, LANE.json))
  if ('impossible' in made) return { wrong: `${place}: ${made.impossible}` }
  return { pieces: piecesOf(JSON.stringify(made.value)), proseLength: 0, calls: NO_CALLS }
}

function sayCalls(tools: Exclude<ReturnType<typeof chooseTools>, Wrong>, seed: Seed): Said | Wrong {
  const calls: PlannedCall[] = []
  for (const [i, tool] of tools.entries()) {
    const random = new Random(seed, LANE.json + i)
    const { name, parameters } = tool.function
    const id = callId(random)
    const made = jsonOfSchema(argumentsSchema(parameters), random)
    if ('impossible' in made) return { wrong: `tools: parameters of "${name}": ${made.impossible}` }
    if (!isObject(made.value)) return { wrong: `tools: parameters of "${name}" do not describe an object` }
    calls.push({ id, name, pieces: piecesOf(JSON.stringify(made.value)) })
  }
  return { pieces: [], proseLength: 0, calls }
}

/** Arguments are an object, also where the schema does not say so or leaves a choice. */
function argumentsSchema(parameters: Readonly<Record<string, unknown>> | undefined): unknown {
  if (parameters === undefined) return { type: 'object', maxProperties: 0 }
  const { type } = parameters
  const open = type === undefined || (Array.isArray(type) && type.includes('object'))
  return open ? { ...parameters, type: 'object' } : parameters
}

const ID_LETTERS = 24

function callId(random: Random): string {
  return `call_${lettersOf(random, ID_LETTERS)}`
}
