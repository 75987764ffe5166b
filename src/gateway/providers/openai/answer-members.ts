/** Members of a message, a delta or a choice, as the strictest client of contract/gateway 12 takes them. */
import type {
  ChatFinish,
  FinishReason,
  Logprobs,
  ReasoningDetail,
  TokenLogprob,
  ToolCall,
  ToolCallDelta,
} from '../../formats/canonical.js'
import {
  asCount,
  asList,
  asObject,
  type JsonObject,
  nonEmptyText,
  objectsIn,
} from '../../formats/json-values.js'

// ── Content, which servers send as a text or as parts ──────────────────────────

/** Content that came as a text, or as a list of parts of which the text ones count. */
export function joinTextParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return nonEmptyText(value)
  return nonEmptyText(
    value.map((part) => (typeof part === 'string' ? part : partText(part, 'text'))).join(''),
  )
}

/** What the parts of kind `thinking` say, for servers that put reasoning into the content. */
export function joinThinkingParts(value: unknown): string | undefined {
  if (!Array.isArray(value)) return undefined
  return nonEmptyText(value.map((part) => partText(part, 'thinking')).join(''))
}

function partText(part: unknown, kind: 'text' | 'thinking'): string {
  const members: JsonObject | null = asObject(part)
  if (members === null) return ''
  if (kind === 'text')
    return members.type === 'text' || members.type === 'output_text' ? (nonEmptyText(members.text) ?? '') : ''
  return members.type === 'thinking' ? (joinTextParts(members.thinking) ?? '') : ''
}

// ── Finish reasons (contract/gateway 3.2) ──────────────────────────────────────

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ...nativeReasons('stop', [
    'stop',
    'end_turn',
    'eos',
    'eos_token',
    'stop_sequence',
    'complete',
    'end',
    'normal',
  ]),
  ...nativeReasons('length', [
    'length',
    'max_tokens',
    'max_output_tokens',
    'max_length',
    'model_length',
    'token_limit',
  ]),
  ...nativeReasons('tool_calls', ['tool_calls', 'tool_call', 'tool_use', 'function_call']),
  ...nativeReasons('content_filter', [
    'content_filter',
    'content_filtered',
    'safety',
    'refusal',
    'recitation',
    'blocked',
  ]),
  ...nativeReasons('error', ['error', 'abort', 'aborted']),
])

function nativeReasons(
  reason: FinishReason,
  natives: readonly string[],
): readonly (readonly [string, FinishReason])[] {
  return natives.map((native) => [native, reason])
}

/** An unknown word is a stop: the answer did come to its end. */
export function parseFinishReason(value: unknown): ChatFinish {
  const native = typeof value === 'string' && value !== '' ? value : null
  return { reason: REASONS.get(native?.toLowerCase() ?? 'stop') ?? 'stop', native }
}

// ── Log probabilities, every member present (contract/gateway 3.2) ─────────────

/** Null when the server sent none. */
export function parseLogprobs(value: unknown): Logprobs | null {
  const members = asObject(value)
  if (members === null) return null
  const content = parseTokens(members.content)
  const refusal = parseTokens(members.refusal)
  return content === null && refusal === null ? null : { content, refusal }
}

function parseTokens(value: unknown): readonly TokenLogprob[] | null {
  return Array.isArray(value) ? value.flatMap((token) => parseToken(asObject(token)) ?? []) : null
}

function parseToken(members: JsonObject | null): TokenLogprob | null {
  const one = parseAlternative(members)
  if (one === null) return null
  return {
    ...one,
    top_logprobs: asList(members?.top_logprobs).flatMap((top) => parseAlternative(asObject(top)) ?? []),
  }
}

function parseAlternative(members: JsonObject | null): Omit<TokenLogprob, 'top_logprobs'> | null {
  if (members === null || typeof members.token !== 'string' || typeof members.logprob !== 'number')
    return null
  return { token: members.token, logprob: members.logprob, bytes: parseBytes(members.bytes) }
}

function parseBytes(value: unknown): readonly number[] | null {
  return Array.isArray(value) && value.every(Number.isInteger) ? value : null
}

type MemberCheck = (value: unknown) => boolean

const isText: MemberCheck = (value) => typeof value === 'string'
const isTextOrNull: MemberCheck = (value) => value === null || typeof value === 'string'
const isInteger: MemberCheck = Number.isSafeInteger

// ── Audio, images, annotations (contract/gateway 3.2) ───────────────────────

const AUDIO: Readonly<Record<string, MemberCheck>> = {
  id: isText,
  data: isText,
  transcript: isText,
  expires_at: isInteger,
}

/** What of an audio object is of its kind; undefined when nothing is. */
export function parseAudio(value: unknown): JsonObject | undefined {
  const sent = asObject(value)
  if (sent === null) return undefined
  const names = Object.keys(AUDIO).filter((name) => AUDIO[name]!(sent[name]))
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, sent[name]]))
}

/** The images that have a URL; undefined when there is none. */
export function parseImages(value: unknown): readonly JsonObject[] | undefined {
  return nonEmptyList(objectsIn(value).filter((image) => isText(asObject(image.image_url)?.url)))
}

/** The annotations that say what they are; undefined when there is none. */
export function parseAnnotations(value: unknown): readonly JsonObject[] | undefined {
  return nonEmptyList(objectsIn(value).filter((annotation) => isText(annotation.type)))
}

function nonEmptyList<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined
}

// ── Reasoning details (contract/gateway 3.5) ────────────────────────────────

interface DetailRule {
  /** Members without which the detail says nothing. */
  readonly required: Readonly<Record<string, MemberCheck>>
  /** Members that are left out where they do not fit. */
  readonly optional: Readonly<Record<string, MemberCheck>>
}

const COMMON = { id: isTextOrNull, format: isTextOrNull, index: isInteger } as const

const KINDS: ReadonlyMap<unknown, DetailRule> = new Map<unknown, DetailRule>([
  ['reasoning.text', { required: {}, optional: { ...COMMON, text: isTextOrNull, signature: isTextOrNull } }],
  ['reasoning.summary', { required: { summary: isText }, optional: COMMON }],
  ['reasoning.encrypted', { required: { data: isText }, optional: COMMON }],
  [
    'reasoning.server_tool_call',
    {
      required: { tool_name: isText, arguments: isText, result: isText },
      optional: { ...COMMON, tool_call_id: isTextOrNull },
    },
  ],
])

/** A kind that nobody knows yet is passed on, with what all kinds have in common in order. */
const UNKNOWN: DetailRule = { required: {}, optional: COMMON }

/** The details that fit their kind, with all members nobody knows; undefined when there is none. */
export function parseReasoningDetails(value: unknown): readonly ReasoningDetail[] | undefined {
  return nonEmptyList(objectsIn(value).flatMap((detail) => parseReasoningDetail(detail) ?? []))
}

function parseReasoningDetail(detail: JsonObject): ReasoningDetail | null {
  if (!isText(detail.type)) return null
  const { required, optional } = KINDS.get(detail.type) ?? UNKNOWN
  for (const name in required) if (!required[name]!(detail[name])) return null
  const odd = Object.keys(optional).filter(
    (name) => detail[name] !== undefined && !optional[name]!(detail[name]),
  )
  if (odd.length === 0) return detail as ReasoningDetail
  return Object.fromEntries(
    Object.entries(detail).filter(([name]) => !odd.includes(name)),
  ) as unknown as ReasoningDetail
}

// ── Tool calls, repaired to contract/gateway 3.2 and 4.3 ─────────────────────────

/** Parallel calls one answer may hold; further ones are dropped, so that a server cannot fill our memory. */
const MAX_CALLS = 1024

/** The calls of a whole message; undefined when there is none. The old single `function_call` counts as one. */
export function parseToolCalls(message: JsonObject, generationId: string): readonly ToolCall[] | undefined {
  const calls = toolCallFragments(message).flatMap(
    (fragment, index) => parseToolCall(fragment, index, generationId) ?? [],
  )
  return calls.length > 0 ? calls : undefined
}

function parseToolCall(fragment: JsonObject, index: number, generationId: string): ToolCall | null {
  const called = asObject(fragment.function)
  const name = nonEmptyText(called?.name)
  if (name === undefined) return null
  const id = nonEmptyText(fragment.id) ?? syntheticCallId(generationId, index)
  return { id, type: 'function', function: { name, arguments: argumentsText(called?.arguments) } }
}

/** The tool call members of a message or a delta, in one shape. */
function toolCallFragments(members: JsonObject): readonly JsonObject[] {
  const single = asObject(members.function_call)
  if (single !== null) return [{ function: single }]
  return objectsIn(members.tool_calls)
}

function syntheticCallId(generationId: string, index: number): string {
  return `call_${generationId.replace(/^gen-/, '')}_${index}`
}

/** Arguments are a text of JSON; some servers send the value itself. */
function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

interface ToolCallSlot {
  readonly id: string
  /** What the server counts the call by. */
  readonly theirs: number | undefined
  /** Arguments that came before the name; null once the first fragment has gone out. */
  held: string | null
}

/**
 * The tool calls of one streamed choice. Calls are counted in the order in which they begin. The first fragment that
 * goes out carries id, type and name, the later ones arguments only; a call whose name has not come yet is held.
 */
export class ToolCallStream {
  private readonly slots: ToolCallSlot[] = []

  constructor(private readonly generationId: string) {}

  /** What a delta adds; undefined when it adds nothing. */
  addDelta(delta: JsonObject): readonly ToolCallDelta[] | undefined {
    if (delta.tool_calls === undefined && delta.function_call === undefined) return undefined
    const out: ToolCallDelta[] = []
    for (const addFragment of toolCallFragments(delta)) {
      const added = this.addFragment(addFragment)
      if (added !== null) out.push(added)
    }
    return out.length > 0 ? out : undefined
  }

  /** Whether a call began and was never named. */
  hasUnnamedCall(): boolean {
    return this.slots.some((slot) => slot.held !== null)
  }

  private addFragment(addFragment: JsonObject): ToolCallDelta | null {
    const index = this.findSlot(addFragment)
    if (index < 0) return null
    const slot = this.slots[index]!
    const called = asObject(addFragment.function)
    const text = argumentsText(called?.arguments)
    if (slot.held === null) return text === '' ? null : { index, function: { arguments: text } }
    const name = nonEmptyText(called?.name)
    slot.held += text
    return name === undefined ? null : this.firstDelta(index, slot, name)
  }

  private firstDelta(index: number, slot: ToolCallSlot, name: string): ToolCallDelta {
    const text = slot.held ?? ''
    slot.held = null
    return { index, id: slot.id, type: 'function', function: { name, arguments: text } }
  }

  /** By index, where the server counts; a new id under a known index is another call. By id, or the last one, else. */
  private findSlot(addFragment: JsonObject): number {
    const theirs = asCount(addFragment.index)
    const id = nonEmptyText(addFragment.id)
    const known = this.slots.findLastIndex((slot) => continuesCall(slot, addFragment, theirs, id))
    if (known >= 0) return known
    if (theirs === undefined && id === undefined && this.slots.length > 0 && !namesFunction(addFragment))
      return this.slots.length - 1
    return this.addSlot(theirs, id)
  }

  private addSlot(theirs: number | undefined, id: string | undefined): number {
    const index = this.slots.length
    if (index === MAX_CALLS) return -1
    this.slots.push({ id: id ?? syntheticCallId(this.generationId, index), theirs, held: '' })
    return index
  }
}

/** Some servers make up a new id for every fragment; only one that names a function begins another call. */
function continuesCall(
  slot: ToolCallSlot,
  fragment: JsonObject,
  theirs: number | undefined,
  id: string | undefined,
): boolean {
  if (theirs === undefined) return id !== undefined && slot.id === id
  return slot.theirs === theirs && (id === undefined || slot.id === id || !namesFunction(fragment))
}

/** A fragment that names a function may begin a call. */
function namesFunction(fragment: JsonObject): boolean {
  return nonEmptyText(asObject(fragment.function)?.name) !== undefined
}
