/** What the faulty provider can do with a call. Each has its own way for whole answers and for streams. */
import { chunk, completion, HALF, TEXT, telling, told, usageChunk, WASTED } from './answers.js'
import type { HeaderMap, UpstreamCall } from './upstream-call.js'

export type Behaviour = (call: UpstreamCall) => void

const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'
const DONE = '[DONE]'

function tell(call: UpstreamCall, events: readonly object[]): void {
  call.chunkedHead(EVENTS)
  for (const event of events) call.event(event)
}

/** Answers as it should. */
export const serves: Behaviour = (call) => answers(call, TEXT, 'stop')

/** Answers, and ends the answer for this reason. */
export function ends(text: string, finish: string): Behaviour {
  return (call) => answers(call, text, finish)
}

function answers(call: UpstreamCall, text: string, finish: string): void {
  const { model, streamed } = call.asked
  if (!streamed) {
    call.json(200, completion(model, text, finish))
    return
  }
  tell(call, told(model, text, finish))
  call.event(DONE)
  call.endChunks()
}

/** Is silent for so long, without even a head, and then answers as it should. */
export function servesAfter(ms: number): Behaviour {
  return (call) => call.later(ms, () => serves(call))
}

/** Turns the call away. */
export function refuses(
  status: number,
  error: object = { message: 'no' },
  headers: HeaderMap = {},
): Behaviour {
  return (call) => call.json(status, { error }, headers)
}

/** Breaks the connection once it has read the request. */
export const resets: Behaviour = (call) => call.reset()

/** Reads the request and says nothing, for ever. */
export const staysSilent: Behaviour = () => {}

/** Half of a whole answer, whose length was announced; half of a stream. */
function half(call: UpstreamCall): void {
  const { model, streamed } = call.asked
  if (streamed) {
    tell(call, telling(model, HALF))
    return
  }
  const text = JSON.stringify(completion(model, TEXT))
  call.sized(200, text.slice(0, text.length >> 1), {}, text.length)
}

/** Closes the connection in the middle of the answer. */
export const cutsMidway: Behaviour = (call) => {
  half(call)
  call.cut()
}

/** Falls silent in the middle of the answer, and keeps the connection. */
export const stallsMidway: Behaviour = (call) => half(call)

/** Says something that is no JSON: instead of its answer, or in the middle of its stream. */
export const garbles: Behaviour = (call) => {
  const { model, streamed } = call.asked
  if (!streamed) {
    call.sized(200, '{"id":"chatcmpl-drill","choices":[{"index":0,')
    return
  }
  tell(call, telling(model, HALF))
  call.event('{"id":"chatcmpl-drill","choices":[{"index":0,')
  call.event(DONE)
  call.endChunks()
}

/** Says all of it, and leaves out what tells that it was all: the last chunk of a body, `[DONE]` of a stream. */
export const forgetsTheEnd: Behaviour = (call) => {
  const { model, streamed } = call.asked
  if (streamed) {
    tell(call, told(model, TEXT))
    call.endChunks()
    return
  }
  call.chunkedHead(JSON_TYPE)
  call.chunk(JSON.stringify(completion(model, TEXT)))
  call.cut()
}

/** Begins as a success, counts tokens, and then says that it is busy before there was any content. */
export const countsAndRefuses: Behaviour = (call) => {
  const { model, streamed } = call.asked
  const error = { code: 429, message: 'no' }
  if (!streamed) {
    call.json(200, { ...completion(model, '', 'error', WASTED), choices: [], error })
  } else {
    tell(call, [chunk(model, { role: 'assistant', content: '' }), usageChunk(model, WASTED), { error }])
    call.endChunks()
  }
  call.status = error.code
}
