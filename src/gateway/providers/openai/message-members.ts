/** Members of a message, a delta or a choice, as the strictest client of contract/gateway 12 takes them. */
import type { FinishReason, Logprobs, ReasoningDetail, TokenLogprob } from '../../formats/canonical.js'
import { asList, asObject, type Members, nonEmptyText, objectsIn } from '../../formats/json-values.js'

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
  const members: Members | null = asObject(part)
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

interface ParsedFinish {
  readonly reason: FinishReason
  /** The server's own word. */
  readonly native: string | null
}

/** A word nobody knows is a stop: the answer did come to its end. */
export function parseFinishReason(value: unknown): ParsedFinish {
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

function parseToken(members: Members | null): TokenLogprob | null {
  const one = parseAlternative(members)
  if (one === null) return null
  return {
    ...one,
    top_logprobs: asList(members?.top_logprobs).flatMap((top) => parseAlternative(asObject(top)) ?? []),
  }
}

function parseAlternative(members: Members | null): Omit<TokenLogprob, 'top_logprobs'> | null {
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
export function parseAudio(value: unknown): Members | undefined {
  const sent = asObject(value)
  if (sent === null) return undefined
  const names = Object.keys(AUDIO).filter((name) => AUDIO[name]!(sent[name]))
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, sent[name]]))
}

/** The images that have a URL; undefined when there is none. */
export function parseImages(value: unknown): readonly Members[] | undefined {
  return nonEmptyList(objectsIn(value).filter((image) => isText(asObject(image.image_url)?.url)))
}

/** The annotations that say what they are; undefined when there is none. */
export function parseAnnotations(value: unknown): readonly Members[] | undefined {
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

function parseReasoningDetail(detail: Members): ReasoningDetail | null {
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
