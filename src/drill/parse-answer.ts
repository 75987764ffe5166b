/** What the gateway's answer says, whichever mode it came in, and whether it is well-formed at all. */
import type { GatewayResponse } from './gateway-client.js'

/** An answer as a client that knows the contract reads it. */
export interface ParsedAnswer {
  /** The text so far, and why it ended; `''` when it does not say. */
  readonly text: string
  readonly finish: string
  readonly model: string
  readonly provider: string
  /** Null when there is none. */
  readonly usage: JsonMembers | null
  /** The `error` member; null when there is none. */
  readonly error: JsonMembers | null
  /** Routing metadata; null when there is none. */
  readonly metadata: JsonMembers | null
  /** A comment came before the first event. */
  readonly commented: boolean
  /** What a client would stumble over; null when the answer is well-formed. */
  readonly fault: string | null
}

const EMPTY_ANSWER: ParsedAnswer = {
  text: '',
  finish: '',
  model: '',
  provider: '',
  usage: null,
  error: null,
  metadata: null,
  commented: false,
  fault: null,
}

/** An answer that no client could read. */
function unreadable(fault: string): ParsedAnswer {
  return { ...EMPTY_ANSWER, fault }
}

export function parseAnswer({ status, headers, body, incompleteReason }: GatewayResponse): ParsedAnswer {
  if (incompleteReason !== null) return unreadable(incompleteReason)
  const type = (headers['content-type'] ?? '').split(';')[0]
  if (type === 'text/event-stream' && status === 200) return parseStreamedAnswer(body)
  if (type === 'application/json') return parseWholeAnswer(status, body)
  return unreadable(`a ${status} of type ${type === '' ? 'nothing' : type}`)
}

// ── Whole ───────────────────────────────────────────────────────────────────

function parseWholeAnswer(status: number, body: string): ParsedAnswer {
  const members = parseMembers(body)
  if (members === null) return unreadable('a body that is no JSON object')
  const choice = listMember(members, 'choices')[0] ?? {}
  return {
    text: textMember(objectMember(choice, 'message'), 'content'),
    finish: textMember(choice, 'finish_reason'),
    ...commonMembers(members),
    commented: false,
    fault: findWholeAnswerFault(status, members),
  }
}

function commonMembers(members: JsonMembers): Omit<ParsedAnswer, 'text' | 'finish' | 'commented' | 'fault'> {
  return {
    model: textMember(members, 'model'),
    provider: textMember(members, 'provider'),
    usage: members.usage === undefined ? null : objectMember(members, 'usage'),
    error: members.error === undefined ? null : objectMember(members, 'error'),
    metadata: members.service_metadata === undefined ? null : objectMember(members, 'service_metadata'),
  }
}

function findWholeAnswerFault(status: number, members: JsonMembers): string | null {
  if (status < 400) return members.error === undefined ? null : `an error inside a ${status}`
  const error = objectMember(members, 'error')
  if (numberMember(error, 'code') !== status) return `a ${status} whose error says ${String(error.code)}`
  return textMember(error, 'message') === '' ? 'an error without a message' : null
}

// ── Streamed ────────────────────────────────────────────────────────────────

const DONE = '[DONE]'

function parseStreamedAnswer(body: string): ParsedAnswer {
  const frames = body.split('\n\n')
  // What stands behind the last blank line.
  const rest = frames.pop()
  const events = frames.filter((frame) => !frame.startsWith(':'))
  const said = { ...parseEvents(events), commented: frames[0]?.startsWith(':') === true }
  const fault = said.fault ?? (rest === '' ? null : 'an event without its blank line')
  return { ...said, fault }
}

function parseEvents(events: readonly string[]): ParsedAnswer {
  const chunks: JsonMembers[] = []
  for (const [at, event] of events.entries()) {
    if (!event.startsWith('data: ') || event.includes('\n'))
      return unreadable('an event that is not one data line')
    const data = event.slice('data: '.length)
    if (data === DONE)
      return at === events.length - 1 ? answerFromChunks(chunks) : unreadable('words after [DONE]')
    const chunk = parseMembers(data)
    if (chunk === null) return unreadable('an event that is no JSON object')
    chunks.push(chunk)
  }
  return { ...answerFromChunks(chunks), fault: 'a stream without [DONE]' }
}

function answerFromChunks(chunks: readonly JsonMembers[]): ParsedAnswer {
  const choices = chunks.flatMap((chunk) => listMember(chunk, 'choices'))
  const deltas = choices.map((choice) => objectMember(choice, 'delta'))
  return {
    text: deltas.map((delta) => textMember(delta, 'content')).join(''),
    finish:
      choices.map((choice) => textMember(choice, 'finish_reason')).findLast((reason) => reason !== '') ?? '',
    ...commonMembers(chunks.at(-1) ?? {}),
    commented: false,
    fault: findChunkFault(chunks, choices, deltas),
  }
}

function findChunkFault(
  chunks: readonly JsonMembers[],
  choices: readonly JsonMembers[],
  deltas: readonly JsonMembers[],
): string | null {
  const errors = chunks.filter((chunk) => chunk.error !== undefined)
  if (errors.length > 1 || (errors.length === 1 && chunks.at(-1) !== errors[0]))
    return 'an error that is not the last event'
  if (deltas.filter((delta) => delta.role !== undefined).length > 1) return 'a role that is said twice'
  const error = objectMember(errors[0] ?? {}, 'error')
  if (errors.length === 1) {
    const finish = textMember(choices.at(-1) ?? {}, 'finish_reason')
    if (finish !== 'error') return 'an error whose finish_reason is not error'
    if (!Number.isInteger(error.code) || textMember(error, 'message') === '')
      return 'an error without code or message'
  }
  return null
}

// ── Members of what a server sent ───────────────────────────────────────────

export type JsonMembers = Readonly<Record<string, unknown>>

const NONE: JsonMembers = Object.freeze({})

/** The value of a JSON text as an object; null when it is none. */
export function parseMembers(text: string): JsonMembers | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonMembers)
      : null
  } catch {
    return null
  }
}

/** A member that is an object; one without members when it is not. */
export function objectMember(members: JsonMembers, name: string): JsonMembers {
  const value = members[name]
  return typeof value === 'object' && value !== null ? (value as JsonMembers) : NONE
}

export function listMember(members: JsonMembers, name: string): readonly JsonMembers[] {
  const value = members[name]
  return Array.isArray(value)
    ? value.map((each) => (typeof each === 'object' && each !== null ? each : NONE))
    : []
}

/** `''` when it is no text. */
export function textMember(members: JsonMembers, name: string): string {
  const value = members[name]
  return typeof value === 'string' ? value : ''
}

/** NaN when it is no number. */
export function numberMember(members: JsonMembers, name: string): number {
  const value = members[name]
  return typeof value === 'number' ? value : Number.NaN
}
