/** Rarer members of a message, a delta or a choice, as the strictest client of contract/gateway 12 takes them. */
import type {
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
import { refuseAccountReference } from '../http/server.js'

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

/**
 * The annotations that say what they are; undefined when there is none. One that names what lies in the account at the
 * server (a `file_path`, say) is left out: every caller shares that account.
 */
export function parseAnnotations(value: unknown): readonly JsonObject[] | undefined {
  const told = objectsIn(value).filter((annotation) => isText(annotation.type))
  return nonEmptyList(told.filter((annotation) => refuseAccountReference(annotation) === null))
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
  const isOdd = (name: string): boolean => detail[name] !== undefined && !optional[name]!(detail[name])
  const odd = Object.keys(optional).filter(isOdd)
  if (odd.length === 0) return detail as ReasoningDetail
  const fitting = Object.entries(detail).filter(([name]) => !odd.includes(name))
  return Object.fromEntries(fitting) as unknown as ReasoningDetail
}

// ── Tool calls, repaired to contract/gateway 3.2 and 4.3 ─────────────────────────

/** Parallel calls one answer may hold; further ones are dropped, so that a server cannot fill our memory. */
const MAX_CALLS = 1024

/** The calls of a whole message; undefined when there is none. The old single `function_call` counts as one. */
export function parseToolCalls(message: JsonObject, generationId: string): readonly ToolCall[] | undefined {
  if (message.tool_calls === undefined && message.function_call === undefined) return undefined
  const calls = toolCallFragments(message).flatMap((fragment, index): ToolCall[] => {
    const called = asObject(fragment.function)
    const name = nonEmptyText(called?.name)
    if (name === undefined) return []
    const id = nonEmptyText(fragment.id) ?? syntheticCallId(generationId, index)
    return [{ id, type: 'function', function: { name, arguments: argumentsText(called?.arguments) } }]
  })
  return nonEmptyList(calls)
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
    const added: ToolCallDelta[] = []
    for (const fragment of toolCallFragments(delta)) {
      const one = this.addFragment(fragment)
      if (one !== null) added.push(one)
    }
    return nonEmptyList(added)
  }

  /** Whether a call began and was never named. */
  hasUnnamedCall(): boolean {
    return this.slots.some((slot) => slot.held !== null)
  }

  private addFragment(fragment: JsonObject): ToolCallDelta | null {
    const called = asObject(fragment.function)
    const name = nonEmptyText(called?.name)
    const index = this.findSlot(asCount(fragment.index), nonEmptyText(fragment.id), name !== undefined)
    if (index === MAX_CALLS) return null
    const slot = this.slots[index]!
    const text = argumentsText(called?.arguments)
    if (slot.held === null) return text === '' ? null : { index, function: { arguments: text } }
    slot.held += text
    if (name === undefined) return null
    const held = slot.held
    slot.held = null
    return { index, id: slot.id, type: 'function', function: { name, arguments: held } }
  }

  /**
   * The call of a fragment: by the server's index where it counts, else by id, else the last one. Some servers make up
   * a new id for every fragment; only one that names a function begins another call.
   */
  private findSlot(theirs: number | undefined, id: string | undefined, isNamed: boolean): number {
    const { slots } = this
    const isSame = (slot: ToolCallSlot): boolean =>
      theirs === undefined
        ? id !== undefined && slot.id === id
        : slot.theirs === theirs && (id === undefined || slot.id === id || !isNamed)
    const known = slots.findLastIndex(isSame)
    if (known >= 0) return known
    if (theirs === undefined && id === undefined && slots.length > 0 && !isNamed) return slots.length - 1
    const index = slots.length
    if (index < MAX_CALLS)
      slots.push({ id: id ?? syntheticCallId(this.generationId, index), theirs, held: '' })
    return index
  }
}
