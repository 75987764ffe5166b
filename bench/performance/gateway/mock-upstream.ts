/**
 * The mock upstream, a process of its own: an OpenAI-compatible server whose answers lie ready as bytes, so that it
 * is never the slowest part. The model's name chooses the answer (`mock-models.ts`), and the path its format: below
 * `/messages` whole and unpaced answers come in the messages format.
 *
 * Started by the runner it gets its port by message and says when it listens. By hand, to try a gateway against it:
 * node dist/bench/performance/gateway/mock-upstream.js <port>
 *
 * `GET /state` tells what it holds, so that a trial can see what a gateway left open.
 */
import * as uWS from 'uWebSockets.js'
import {
  closingEvents,
  encodeText,
  jsonAnswer,
  jsonMessage,
  messageEvents,
  openingEvents,
  streamEvents,
  tokenEvent,
} from './mock-answers.js'
import { CALM_MS, type MockModel, mockModel, PACE_MS, tagIn } from './mock-models.js'
import { PaceWheel } from './pace-wheel.js'

/** What the mock holds and has seen. Counts from its start on. */
export type MockState = ReturnType<typeof mockState>

type Response = uWS.HttpResponse
type AnswerFormat = 'chat' | 'messages'

/** One call under way. */
interface MockCall {
  readonly res: Response
  readonly model: string
  readonly plan: MockModel
  readonly tag: string
  readonly format: AnswerFormat
  /** False once the call was answered or its connection closed: the response may not be touched any more. */
  open: boolean
  /** Done when the connection closes early. */
  onGone: (() => void) | null
}

/** Aborted: calls whose connection closed before their end. */
const counts = { sockets: 0, started: 0, completed: 0, aborted: 0 }
const paced = new PaceWheel(PACE_MS)
const calm = new PaceWheel(CALM_MS)
const FLOOD_LETTERS = 4_096
const FLOOD_EVENTS = 4
const readyBodies = new Map<string, Uint8Array>()
const readyStreams = new Map<string, readonly Uint8Array[]>()

function cachedFor<T>(known: Map<string, T>, model: string, make: () => T): T {
  let value = known.get(model)
  if (value === undefined) known.set(model, (value = make()))
  return value
}

function finishCall(call: MockCall): void {
  call.open = false
  counts.completed++
  call.res.end()
}

function streamHead(res: Response): void {
  res.writeHeader('content-type', 'text/event-stream; charset=utf-8').writeHeader('cache-control', 'no-cache')
}

function answerJson(call: MockCall): void {
  const { model, tag, format } = call
  const make = () => encodeText(format === 'chat' ? jsonAnswer(model, tag) : jsonMessage(model, tag))
  const body = call.plan.tagged ? make() : cachedFor(readyBodies, `${format} ${model}`, make)
  call.open = false
  counts.completed++
  call.res.writeHeader('content-type', 'application/json').end(body)
}

function eventsOf({ plan, model, tag, format }: MockCall): readonly Uint8Array[] {
  const make = () => (format === 'chat' ? streamEvents : messageEvents)(model, plan.tokens, tag)
  return plan.tagged || plan.asked ? make() : cachedFor(readyStreams, `${format} ${model}`, make)
}

/**
 * Writes events, each a chunk of its own as providers send them, as far as the socket takes them, and the rest when it
 * can take more. Not for the reader's sake: with bytes left over this transport tries to send all of them again at
 * every further write, which would make the mock the slowest part.
 */
function writeAsTaken(call: MockCall, count: number, event: (index: number) => Uint8Array): void {
  const { res } = call
  let next = 0
  const more = (): boolean => {
    let taken = true
    res.cork(() => {
      while (taken && next < count) taken = res.write(event(next++))
      if (next === count) finishCall(call)
    })
    return taken
  }
  streamHead(res)
  res.onWritable(() => !call.open || more())
  more()
}

function answerAtOnce(call: MockCall): void {
  const events = eventsOf(call)
  writeAsTaken(call, events.length, (index) => events[index]!)
}

/**
 * The same large events in every gap, while the reader takes them, and no proper end. Large and many, because the
 * kernel keeps megabytes for a reader before anybody feels that it is slow; in gaps, because all of that at once would
 * show what a gateway's memory does under a storm instead of what it keeps for a slow reader.
 */
function answerFlood(call: MockCall, wheel: PaceWheel): void {
  const { res, model } = call
  const large = cachedFor(readyBodies, `flood ${model}`, () =>
    encodeText(tokenEvent(model, 0, 'x'.repeat(FLOOD_LETTERS))),
  )
  let taken = true
  streamHead(res)
  res.onWritable(() => (taken = true))
  call.onGone = wheel.add(() => {
    res.cork(() => {
      for (let event = 0; taken && event < FLOOD_EVENTS; event++) taken = res.write(large)
    })
    return call.open
  })
}

/** The opening at once, then a token in every gap; the closing goes with the last of them. */
function answerPaced(call: MockCall, wheel: PaceWheel): void {
  const { res, plan, model, tag } = call
  const events = plan.tagged || plan.asked ? null : eventsOf(call)
  let next = 0
  streamHead(res)
  res.write(encodeText(openingEvents(model).join('')))
  const token = () => events?.[next + 1] ?? encodeText(tokenEvent(model, next, tag))
  const step = (): boolean => {
    res.cork(() => {
      res.write(token())
      if (++next < plan.tokens) return
      for (const event of closingEvents(model, plan.tokens)) res.write(encodeText(event))
      finishCall(call)
    })
    return call.open
  }
  call.onGone = wheel.add(step)
}

const ANSWERS: Readonly<Record<MockModel['kind'], (call: MockCall) => void>> = {
  json: answerJson,
  stream: answerAtOnce,
  paced: (call) => answerPaced(call, paced),
  calm: (call) => answerPaced(call, calm),
  flood: (call) => answerFlood(call, paced),
  silent: () => {},
  headers: ({ res }) => {
    streamHead(res)
    // uWebSockets.js sends a head together with the first bytes of its body: a comment, which every reader skips.
    res.write(': waiting\n\n')
  },
}

function refuse(res: Response, status: string, message: string): void {
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } })
  res.cork(() => res.writeStatus(status).writeHeader('content-type', 'application/json').end(body))
}

/** What a call asks for; `stop: 'answer-500'` asks for a failure. */
function readCall(text: string) {
  try {
    const { model, stop, max_tokens: most } = JSON.parse(text) as Readonly<Record<string, unknown>>
    const maxTokens = typeof most === 'number' ? most : 1
    return { model: String(model), fails: stop === 'answer-500', maxTokens }
  } catch {
    return { model: '', fails: false, maxTokens: 1 }
  }
}

function beginCall(
  res: Response,
  call: MockCall | null,
  text: string,
  format: AnswerFormat,
): MockCall | null {
  const { model, fails, maxTokens } = readCall(text)
  const plan = mockModel(model, maxTokens)
  if (fails) {
    refuse(res, '500 Internal Server Error', 'as it was asked to')
    return call
  }
  if (plan === null) {
    refuse(res, '404 Not Found', `no model named ${JSON.stringify(model.slice(0, 80))}`)
    return call
  }
  counts.started++
  const tag = plan.tagged ? tagIn(text) : ''
  const taken: MockCall = { res, model, plan, tag, format, open: true, onGone: null }
  res.cork(() => ANSWERS[plan.kind](taken))
  return taken
}

function onCall(res: Response, req: uWS.HttpRequest): void {
  const format: AnswerFormat = req.getUrl().endsWith('/messages') ? 'messages' : 'chat'
  let call: MockCall | null = null
  let gone = false
  let early: Buffer[] | null = null
  res.onAborted(() => {
    gone = true
    if (call === null || !call.open) return
    call.open = false
    counts.aborted++
    call.onGone?.()
  })
  res.onData((bytes, last) => {
    if (gone) return
    if (last && early === null) {
      call = beginCall(res, call, Buffer.from(bytes).toString(), format)
      return
    }
    // The bytes are borrowed for this turn only.
    early = [...(early ?? []), Buffer.from(Buffer.from(bytes))]
    if (last) call = beginCall(res, call, Buffer.concat(early).toString(), format)
  })
}

/** Open connections without the one that asks; calls without an end so far are busy. */
function mockState() {
  const { sockets, started, completed, aborted } = counts
  return { sockets: sockets - 1, busy: started - completed - aborted, started, completed, aborted }
}

function listen(port: number, ready: () => void): void {
  const app = uWS.App()
  app.filter((_res, change) => {
    counts.sockets += Number(change) > 0 ? 1 : -1
  })
  app.post('/*', onCall)
  app.get('/state', (res) => {
    res.writeHeader('content-type', 'application/json').end(JSON.stringify(mockState()))
  })
  app.listen('127.0.0.1', port, (socket) => {
    if (!socket) process.exit(1)
    ready()
  })
}

if (process.send === undefined) {
  const port = Number(process.argv[2] ?? 0)
  listen(port, () => process.stdout.write(`mock upstream on http://127.0.0.1:${port}/v1\n`))
} else {
  process.once('disconnect', () => process.exit(0))
  process.once('message', (message) => {
    // It has to be named: this transport cannot say which port it was given.
    listen((message as { port: number }).port, () => process.send?.({ listening: true }))
  })
}
