/** Decides the whole answer to a call before its first token. */
import type { ChatRequest, ReasoningEffort } from '../../gateway/formats/canonical.js'
import { isObject } from '../../gateway/formats/json-schema/schema-values.js'
import { STEP_BUDGET } from '../../gateway/formats/json-schema/schema-walk.js'
import type { ProviderCall } from '../../gateway/providers/port/provider.js'
import type { CompiledBehaviour } from '../behaviour.js'
import { simulatedFailure, UnsupportedRequest } from '../faults.js'
import { sampleJson } from '../json-sampler/json-sampler.js'
import { SchemaContext } from '../json-sampler/schema-context.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import { type AgentTurn, nextAgentTurn } from './agent-script.js'
import { AnswerGenerator } from './answer-generator.js'
import {
  applyLimits,
  MAX_ANSWER_TOKENS,
  maxAnswerTokens,
  type PlanInput,
  type PlannedOutput,
  type PlannedToolCall,
  type ReasoningPlan,
} from './answer-limits.js'
import { echoText, isEchoRequest, lastUserText } from './current-turn.js'
import { judgeAnswer } from './judge-script.js'
import { digestPrompt } from './prompt-digest.js'
import { findPromptSchema } from './prompt-schema.js'
import { randomAlphanumerics, splitIntoTokens, splitIntoWords } from './prose.js'
import type { ChosenCall } from './scripted-calls.js'
import { chooseCalls } from './tool-choice.js'

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

/**
 * Decides the whole answer to a call. An equal request under an equal seed gets an equal answer; whether it streams,
 * who asks and how they are metered changes nothing. Throws an `UnsupportedRequest`, or the fault of a prompt that is
 * too long.
 */
export function planAnswer(call: ProviderCall, behaviour: CompiledBehaviour, seed: number): AnswerGenerator {
  const { request, endpoint } = call
  const digest = digestPrompt(call, behaviour.seed ?? seed)
  if (endpoint.contextLength !== null && digest.tokens > endpoint.contextLength) {
    throw simulatedFailure('context-length', endpoint.provider.name).fault
  }
  const answerSeed: RandomSeed = { low: digest.low, high: digest.high }
  const random = new SeededRandom(answerSeed, RANDOM_LANE.plan)
  const limit = maxAnswerTokens(request, endpoint.maxCompletionTokens)
  const input: PlanInput = { request, behaviour, digest, seed: answerSeed, limit }
  const reasoning = planReasoning(input, random)
  const output = planOutput(input, unlimitedProseLength(input, random))
  return new AnswerGenerator(applyLimits(input, output, reasoning))
}

/** Length of the prose without a limit. */
function unlimitedProseLength({ request, behaviour, limit }: PlanInput, random: SeededRandom): number {
  if (behaviour.tokens !== null) {
    return Math.min(MAX_ANSWER_TOKENS, Math.max(1, Math.round(behaviour.tokens.draw(random))))
  }
  const asks = (request.max_completion_tokens ?? request.max_tokens ?? null) !== null
  // One more than may be said: a request for a length gets it, and the finish says that it was the limit.
  return asks ? limit + 1 : DEFAULT_ANSWER_TOKENS
}

// ── Reasoning ───────────────────────────────────────────────────────────────

/** How effort scales the tokens of reasoning that a model spends by itself. */
const EFFORT_FACTOR: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 0.25,
  low: 0.5,
  medium: 1,
  high: 2,
  xhigh: 3,
  max: 4,
}

const NO_REASONING: ReasoningPlan = { tokens: 0, shown: false }

/** The effort that a system message sets comes later than the request's own and wins. */
function planReasoning({ request, behaviour, digest }: PlanInput, random: SeededRandom): ReasoningPlan {
  if (behaviour.reasoningTokens === null) return NO_REASONING
  const { reasoning } = request
  const effort = digest.effort ?? reasoning?.effort ?? request.reasoning_effort ?? null
  const most = reasoning?.max_tokens ?? null
  if (effort === 'none' || reasoning?.enabled === false) return NO_REASONING
  const asked = effort !== null || most !== null || reasoning?.enabled === true
  if (!asked && !behaviour.reasonsAlways) return NO_REASONING
  const drawn = behaviour.reasoningTokens.draw(random) * EFFORT_FACTOR[effort ?? 'medium']
  const tokens = Math.min(Math.round(drawn), most ?? Number.POSITIVE_INFINITY)
  return {
    tokens,
    shown: tokens > 0 && reasoning?.exclude !== true && request.include_reasoning !== false,
  }
}

/** Words behind the limit that are looked at, because a stop sequence may end in one of them. */
const STOP_WORDS = 100

// ── Text and tool calls ─────────────────────────────────────────────────────

function planOutput({ request, behaviour, seed, limit }: PlanInput, proseLength: number): PlannedOutput {
  rejectUnsupportedFeatures(request, behaviour)
  const turn = behaviour.isAgent ? nextAgentTurn(request) : null
  if (turn !== null) return agentOutput(turn, seed, limit)
  const verdict = behaviour.isJudge ? judgeAnswer(request.messages) : null
  if (verdict !== null) return { tokens: splitIntoTokens(verdict), proseLength: 0, toolCalls: [] }
  const calls = chooseCalls(request)
  if (calls.length > 0) {
    return { tokens: [], proseLength: 0, toolCalls: planToolCalls(calls, seed) }
  }
  const format = request.response_format
  if (format?.type === 'json_schema') {
    const schema = format.json_schema.schema ?? ANY_OBJECT
    return jsonOutput(sampleOrReject(schema, jsonRandom(seed), 'response_format.json_schema.schema'))
  }
  const userText = lastUserText(request.messages)
  const isEcho = isEchoRequest(userText)
  const promised = isEcho ? null : planPromptedJson(request, seed)
  if (promised !== null) return promised
  if (format?.type === 'json_object') {
    return jsonOutput(sampleOrReject(ANY_OBJECT, jsonRandom(seed), 'response_format'))
  }
  const tokens = isEcho ? splitIntoWords(echoText(userText), limit + STOP_WORDS) : null
  return { tokens, proseLength: tokens === null ? proseLength : 0, toolCalls: [] }
}

function agentOutput({ says, calls }: AgentTurn, seed: RandomSeed, limit: number): PlannedOutput {
  const random = new SeededRandom(seed, RANDOM_LANE.json)
  const toolCalls = calls.map(({ name, written }) => {
    const id = `call_${randomAlphanumerics(random, ID_LETTERS)}`
    return { id, name, argumentTokens: splitIntoTokens(written) }
  })
  return { tokens: splitIntoWords(says, limit + STOP_WORDS), proseLength: 0, toolCalls }
}

/** JSON for a schema in the prompt; null where there is none, or none that a value can be made for: words are free. */
function planPromptedJson({ messages }: ChatRequest, seed: RandomSeed): PlannedOutput | null {
  const schema = findPromptSchema(messages)
  if (schema === null) return null
  const sample = sampleJson(schema, jsonRandom(seed))
  return 'impossible' in sample ? null : jsonOutput(sample.value)
}

function rejectUnsupportedFeatures(
  { modalities, response_format: format }: ChatRequest,
  { paints }: CompiledBehaviour,
): void {
  const other = modalities?.find((modality) => modality !== 'text' && !(paints && modality === 'image'))
  if (other !== undefined) {
    throw new UnsupportedRequest(`modalities: "${other}" is not supported by this model`)
  }
  if (format?.type === 'grammar' || format?.type === 'python') {
    throw new UnsupportedRequest(`response_format.type: "${format.type}" is not supported by this model`)
  }
}

function jsonOutput(value: unknown): PlannedOutput {
  return { tokens: splitIntoTokens(JSON.stringify(value)), proseLength: 0, toolCalls: [] }
}

function jsonRandom(seed: RandomSeed): SeededRandom {
  return new SeededRandom(seed, RANDOM_LANE.json)
}

function sampleOrReject(
  schema: unknown,
  random: SeededRandom,
  place: string,
  context?: SchemaContext,
): unknown {
  const sample = sampleJson(schema, random, context)
  if ('impossible' in sample) throw new UnsupportedRequest(`${place}: ${sample.impossible}`)
  return sample.value
}

const ID_LETTERS = 24

/** All calls of an answer share one budget: a prompt may ask for a hundred of them. */
function planToolCalls(calls: readonly ChosenCall[], seed: RandomSeed): readonly PlannedToolCall[] {
  let steps = STEP_BUDGET
  return calls.map(({ tool, written }, i) => {
    const random = new SeededRandom(seed, RANDOM_LANE.json + i)
    const { name, parameters } = tool.function
    const id = `call_${randomAlphanumerics(random, ID_LETTERS)}`
    if (written !== null) return { id, name, argumentTokens: splitIntoTokens(written) }
    const context = new SchemaContext(argumentsSchema(parameters), steps)
    const text = madeUpArguments(name, context, random)
    steps = context.left
    return { id, name, argumentTokens: splitIntoTokens(text) }
  })
}

function madeUpArguments(name: string, context: SchemaContext, random: SeededRandom): string {
  const place = `tools: parameters of "${name}"`
  const value = sampleOrReject(context.root, random, place, context)
  if (!isObject(value)) throw new UnsupportedRequest(`${place} do not describe an object`)
  return JSON.stringify(value)
}

/** Arguments are an object, also where the schema does not say so or leaves a choice. */
function argumentsSchema(parameters: Readonly<Record<string, unknown>> | undefined): unknown {
  if (parameters === undefined) return { type: 'object', maxProperties: 0 }
  const { type } = parameters
  const open = type === undefined || (Array.isArray(type) && type.includes('object'))
  return open ? { ...parameters, type: 'object' } : parameters
}
