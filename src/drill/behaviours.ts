/** What the faulty provider can do with a call, and what it says then: whole answers and streams each in their way. */
import type { HeaderFields, ProviderCall } from './provider-call.js'

const WORDS = ['The ', 'lamp ', 'was ', 'lit ', 'before ', 'the ', 'ship ', 'came ', 'home.']

/** The whole answer, and as much of it as has been said when a stream breaks. */
export const FULL_TEXT = WORDS.join('')
export const HALF_TEXT = WORDS.slice(0, 4).join('')
/** What is left of an answer that the provider's own filter has ended. */
export const FILTERED_TEXT = WORDS.slice(0, 2).join('')

/** What the provider counts for the answer. */
export const ANSWER_USAGE = { prompt: 20, completion: 9 } as const
/** What it counts for one that it then fails; large, so that a bill with it in would show. */
const FAILED_CALL_USAGE = { prompt: 70_000, completion: 90_000 } as const

interface TokenCounts {
  readonly prompt: number
  readonly completion: number
}

function usageBody({ prompt, completion }: TokenCounts): object {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** A whole answer. */
function completionBody(
  model: string,
  content: string,
  finish = 'stop',
  counted: TokenCounts = ANSWER_USAGE,
): object {
  return {
    id: 'chatcmpl-drill',
    object: 'chat.completion',
    created: 1,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
    usage: usageBody(counted),
  }
}

/** One event of a streamed answer. */
function chunkBody(model: string, delta: object, finish: string | null = null): object {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return { id: 'chatcmpl-drill', object: 'chat.completion.chunk', created: 1, model, choices }
}

/** The event that tells what was consumed. */
function usageChunkBody(model: string, counted: TokenCounts = ANSWER_USAGE): object {
  return { ...chunkBody(model, {}), choices: [], usage: usageBody(counted) }
}

/** The events of a text, a word in each, without an end. */
function textChunks(model: string, text: string): object[] {
  const words = text.match(/\S+\s*/g) ?? []
  return [
    chunkBody(model, { role: 'assistant', content: '' }),
    ...words.map((content) => chunkBody(model, { content })),
  ]
}

/** The events of a text with its end and what it consumed. */
function completeAnswerChunks(model: string, text: string, finish = 'stop'): object[] {
  return [...textChunks(model, text), chunkBody(model, {}, finish), usageChunkBody(model)]
}

// ── Behaviours ──────────────────────────────────────────────────────────────

export type ProviderBehaviour = (call: ProviderCall) => void

const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'
const DONE = '[DONE]'

function writeEvents(call: ProviderCall, events: readonly object[]): void {
  call.writeChunkedHead(EVENTS)
  for (const event of events) call.writeEvent(event)
}

function endStream(call: ProviderCall): void {
  call.writeEvent(DONE)
  call.writeLastChunk()
}

/** One way for whole answers and one for streams. */
function byMode(
  whole: (call: ProviderCall, model: string) => void,
  streamed: (call: ProviderCall, model: string) => void,
): ProviderBehaviour {
  return (call) => (call.request.streamed ? streamed : whole)(call, call.request.model)
}

/** Answers, and ends the answer for this reason. */
export function answerAndFinish(text: string, finish: string): ProviderBehaviour {
  return byMode(
    (call, model) => call.writeJson(200, completionBody(model, text, finish)),
    (call, model) => {
      writeEvents(call, completeAnswerChunks(model, text, finish))
      endStream(call)
    },
  )
}

/** Answers as it should. */
export const answerFully = answerAndFinish(FULL_TEXT, 'stop')

/** Is silent for so long, without even a head, and then answers as it should. */
export function answerAfter(ms: number): ProviderBehaviour {
  return (call) => call.afterDelay(ms, () => answerFully(call))
}

/** Turns the call away. */
export function refuse(
  status: number,
  error: object = { message: 'no' },
  headers: HeaderFields = {},
): ProviderBehaviour {
  return (call) => call.writeJson(status, { error }, headers)
}

/** Breaks the connection once it has read the request. */
export const resetConnection: ProviderBehaviour = (call) => call.resetConnection()

/** Reads the request and says nothing, for ever. */
export const neverAnswer: ProviderBehaviour = () => {}

/** Half of a whole answer, whose length was announced, or half of a stream; then silence on a connection that stays. */
export const stallMidway: ProviderBehaviour = byMode(
  (call, model) => {
    const text = JSON.stringify(completionBody(model, FULL_TEXT))
    call.writeSizedJson(200, text.slice(0, text.length >> 1), {}, text.length)
  },
  (call, model) => writeEvents(call, textChunks(model, HALF_TEXT)),
)

/** Begins as a success and says nothing: a chunk with a role, or half of a whole answer. */
const beginWithoutContent: ProviderBehaviour = byMode(stallMidway, (call, model) =>
  writeEvents(call, textChunks(model, '')),
)

/** The same, then silence on a connection that stays; the connection closes; or something that is no JSON comes. */
export const stallBeforeContent = beginWithoutContent
export const closeBeforeContent: ProviderBehaviour = (call) => {
  beginWithoutContent(call)
  call.closeConnection()
}

/** Closes the connection in the middle of the answer. */
export const closeMidway: ProviderBehaviour = (call) => {
  stallMidway(call)
  call.closeConnection()
}

const MALFORMED = '{"id":"chatcmpl-drill","choices":[{"index":0,'

/** Says something that is no JSON: instead of its answer, or in the middle of its stream. */
export const sendMalformedJson = byMode(
  (call) => call.writeSizedJson(200, MALFORMED),
  (call, model) => {
    writeEvents(call, textChunks(model, HALF_TEXT))
    call.writeEvent(MALFORMED)
    endStream(call)
  },
)

/** The same before anything was said. */
export const sendMalformedFirst = byMode(
  (call) => call.writeSizedJson(200, MALFORMED),
  (call, model) => {
    writeEvents(call, textChunks(model, ''))
    call.writeEvent(MALFORMED)
    endStream(call)
  },
)

/** Says all of it, and leaves out what tells that it was all: the last chunk of a body, `[DONE]` of a stream. */
export const omitTerminator = byMode(
  (call, model) => {
    call.writeChunkedHead(JSON_TYPE)
    call.writeChunk(JSON.stringify(completionBody(model, FULL_TEXT)))
    call.closeConnection()
  },
  (call, model) => {
    writeEvents(call, completeAnswerChunks(model, FULL_TEXT))
    call.writeLastChunk()
  },
)

const BUSY = { code: 429, message: 'no' }

const refuseAfterCounting = byMode(
  (call, model) =>
    call.writeJson(200, {
      ...completionBody(model, '', 'error', FAILED_CALL_USAGE),
      choices: [],
      error: BUSY,
    }),
  (call, model) => {
    const begin = chunkBody(model, { role: 'assistant', content: '' })
    writeEvents(call, [begin, usageChunkBody(model, FAILED_CALL_USAGE), { error: BUSY }])
    call.writeLastChunk()
  },
)

/** Begins as a success, counts tokens, and then says that it is busy before there was any content. */
export const countTokensThenRefuse: ProviderBehaviour = (call) => {
  refuseAfterCounting(call)
  call.status = BUSY.code
}
