/** What the gateway's answer says, whichever mode it came in, and whether it is well-formed at all. */
import type { Heard } from './gateway-caller.js'
import { listAt, type Members, membersIn, numberAt, objectAt, textAt } from './shape.js'

/** An answer as a client that knows the contract reads it. */
export interface Answer {
  /** The text so far, and why it ended; `''` when it does not say. */
  readonly text: string
  readonly finish: string
  readonly model: string
  readonly provider: string
  /** Null when there is none. */
  readonly usage: Members | null
  /** The `error` member; null when there is none. */
  readonly error: Members | null
  /** Routing metadata; null when there is none. */
  readonly metadata: Members | null
  /** A comment came before the first event. */
  readonly commented: boolean
  /** What a client would stumble over; null when the answer is well-formed. */
  readonly fault: string | null
}

const SILENT: Answer = {
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

export function answerIn(heard: Heard): Answer {
  if (heard.broke !== null) return { ...SILENT, fault: heard.broke }
  const type = (heard.headers['content-type'] ?? '').split(';')[0]
  if (type === 'text/event-stream' && heard.status === 200) return streamed(heard.body)
  if (type === 'application/json') return whole(heard)
  return { ...SILENT, fault: `a ${heard.status} of type ${type === '' ? 'nothing' : type}` }
}

// ── Whole ───────────────────────────────────────────────────────────────────

function whole({ status, body }: Heard): Answer {
  const members = membersIn(body)
  if (members === null) return { ...SILENT, fault: 'a body that is no JSON object' }
  const choice = listAt(members, 'choices')[0] ?? {}
  return {
    text: textAt(objectAt(choice, 'message'), 'content'),
    finish: textAt(choice, 'finish_reason'),
    ...common(members),
    commented: false,
    fault: faultOfWhole(status, members),
  }
}

function common(members: Members): Omit<Answer, 'text' | 'finish' | 'commented' | 'fault'> {
  return {
    model: textAt(members, 'model'),
    provider: textAt(members, 'provider'),
    usage: members.usage === undefined ? null : objectAt(members, 'usage'),
    error: members.error === undefined ? null : objectAt(members, 'error'),
    metadata: members.service_metadata === undefined ? null : objectAt(members, 'service_metadata'),
  }
}

function faultOfWhole(status: number, members: Members): string | null {
  if (status < 400) return members.error === undefined ? null : `an error inside a ${status}`
  const error = objectAt(members, 'error')
  if (numberAt(error, 'code') !== status) return `a ${status} whose error says ${String(error.code)}`
  return textAt(error, 'message') === '' ? 'an error without a message' : null
}

// ── Streamed ────────────────────────────────────────────────────────────────

const DONE = '[DONE]'

function streamed(body: string): Answer {
  const frames = body.split('\n\n')
  // What stands behind the last blank line.
  const rest = frames.pop()
  const events = frames.filter((frame) => !frame.startsWith(':'))
  const said = { ...read(events), commented: frames[0]?.startsWith(':') === true }
  const fault = said.fault ?? (rest === '' ? null : 'an event without its blank line')
  return { ...said, fault }
}

function read(events: readonly string[]): Answer {
  const chunks: Members[] = []
  for (const [at, event] of events.entries()) {
    if (!event.startsWith('data: ') || event.includes('\n'))
      return { ...SILENT, fault: 'an event that is not one data line' }
    const data = event.slice('data: '.length)
    if (data === DONE)
      return at === events.length - 1 ? ofChunks(chunks) : { ...SILENT, fault: 'words after [DONE]' }
    const chunk = membersIn(data)
    if (chunk === null) return { ...SILENT, fault: 'an event that is no JSON object' }
    chunks.push(chunk)
  }
  return { ...ofChunks(chunks), fault: 'a stream without [DONE]' }
}

function ofChunks(chunks: readonly Members[]): Answer {
  const choices = chunks.flatMap((chunk) => listAt(chunk, 'choices'))
  const deltas = choices.map((choice) => objectAt(choice, 'delta'))
  return {
    text: deltas.map((delta) => textAt(delta, 'content')).join(''),
    finish:
      choices.map((choice) => textAt(choice, 'finish_reason')).findLast((reason) => reason !== '') ?? '',
    ...common(chunks.at(-1) ?? {}),
    commented: false,
    fault: faultOfChunks(chunks, choices, deltas),
  }
}

function faultOfChunks(
  chunks: readonly Members[],
  choices: readonly Members[],
  deltas: readonly Members[],
): string | null {
  const errors = chunks.filter((chunk) => chunk.error !== undefined)
  if (errors.length > 1 || (errors.length === 1 && chunks.at(-1) !== errors[0]))
    return 'an error that is not the last event'
  if (deltas.filter((delta) => delta.role !== undefined).length > 1) return 'a role that is said twice'
  const error = objectAt(errors[0] ?? {}, 'error')
  if (errors.length === 1) {
    const finish = textAt(choices.at(-1) ?? {}, 'finish_reason')
    if (finish !== 'error') return 'an error whose finish_reason is not error'
    if (!Number.isInteger(error.code) || textAt(error, 'message') === '')
      return 'an error without code or message'
  }
  return null
}
