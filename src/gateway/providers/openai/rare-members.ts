/** Members of a message or a delta that few servers send, as the strictest client of contract/gateway 12 takes them. */
import type { ReasoningDetail } from '../../formats/canonical.js'
import { asObject, type Members, objectsIn } from '../../formats/json-values.js'

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
