// Runs alone: it measures gaps between events.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Test, test } from 'tap'
import { arrivalSchedule } from '../../../bench/harness/http/arrival-schedule.js'
import { requestBytes } from '../../../bench/harness/http/requests.js'
import { CheckedStream, isComplete, type StreamOutcome } from '../../../bench/harness/sse/checked-streams.js'
import { StreamLoad, type StreamPlan } from '../../../bench/harness/sse/stream-load.js'
import { StreamLoop } from '../../../bench/harness/sse/stream-loop.js'
import { classifyEvent } from '../../../bench/harness/sse/timed-stream.js'
import { seededChoice } from '../../../bench/loadlab/drivers/drive-stream-command.js'
import { streamReport } from '../../../bench/loadlab/drivers/stream-report.js'
import { freePort, listen } from '../../support/servers/listen.js'

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const token = (text: string): string => event({ choices: [{ delta: { content: text } }] })
const ROLE = event({ choices: [{ delta: { role: 'assistant', content: '' } }] })
const STOP = event({ choices: [{ delta: {}, finish_reason: 'stop' }] })
const DONE = 'data: [DONE]\n\n'

type Answer = (response: ServerResponse, number: number, request: IncomingMessage) => void | Promise<void>

async function serve(t: Test, answer: Answer): Promise<number> {
  let number = 0
  const server = createServer((request, response) => {
    request.resume()
    response.on('error', () => {})
    void answer(response, number++, request)
  })
  return await listen(t, server)
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Four tokens in gaps of 20 ms, the first after 50 ms. */
const paced: Answer = async (response) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  response.write(`: hello\n\n${ROLE}`)
  await pause(50)
  for (const word of ['one', 'two', 'three', 'four']) {
    response.write(token(word))
    await pause(20)
  }
  response.end(`${STOP}${DONE}`)
}

function planFor(port: number, more: Partial<StreamPlan> = {}): StreamPlan {
  const request = requestBytes({ method: 'POST', route: '/', path: '/', body: '{}' })
  return {
    to: { address: '127.0.0.1', port },
    schedule: arrivalSchedule([{ seconds: 0.5, rate: 20 }], 'constant', 1),
    seconds: 0.5,
    streams: 3,
    request: () => request,
    abort: () => null,
    bytesPerS: () => null,
    silenceMs: 3_000,
    paceMs: 20,
    goal: null,
    ...more,
  }
}

const reported = async (t: Test, answer: Answer, more?: Partial<StreamPlan>) =>
  streamReport(await new StreamLoad(planFor(await serve(t, answer), more)).run())

test('the first content counts as the first token, not the head, a comment or a role', async (t) => {
  const report = await reported(t, paced)
  t.equal(report.started, 10)
  t.match(report.ends, { complete: 10 })
  t.equal(report.tokens, 40)
  t.equal(report.gap.count, 30)
  t.ok(report.firstToken.percentiles.p50! >= 45, `first token after ${report.firstToken.percentiles.p50} ms`)
  t.ok(Math.abs(report.gap.percentiles.p50! - 20) < 10, `gaps of ${report.gap.percentiles.p50} ms`)
  t.equal(report.drift.count, 10)
})

test('so many streams at a time follow each other on kept connections', async (t) => {
  const report = await reported(t, paced, { schedule: null, streams: 3, seconds: 2 })
  t.equal(report.ends.complete, report.started)
  t.ok(report.started >= 6, `${report.started} streams`)
  t.equal(report.connectionsOpened, 3)
})

test('connections stand open for a burst, and none is left when the run is over', async (t) => {
  let open = 0
  const server = createServer((request, response) => {
    request.resume()
    void paced(response, 0, request)
  })
  server.on('connection', (socket) => {
    open++
    socket.on('close', () => open--)
  })
  const port = await listen(t, server)
  const report = streamReport(await new StreamLoad(planFor(port, { spare: 4 })).run())
  t.match(report.ends, { complete: 10 })
  t.ok(report.connectionsOpened >= 5, `${report.connectionsOpened} opened`)
  while (open > 0) await pause(1)
  t.equal(open, 0)
})

test('where none can be opened the spare ones are not tried again and again', async (t) => {
  let tried = 0
  const server = createServer()
  server.on('connection', (socket) => {
    tried++
    socket.destroy()
  })
  const report = streamReport(await new StreamLoad(planFor(await listen(t, server), { spare: 4 })).run())
  t.equal(report.started, 10)
  t.ok(tried <= 4 + 2 * 10, `${tried} connections`)
})

test('streams are given up at a time, at a token and before the first, and the server sees it', async (t) => {
  const rules = [{ kind: 'time', ms: 75 }, { kind: 'token', token: 2 }, { kind: 'before-first' }] as const
  for (const rule of rules) {
    let gone = 0
    const port = await serve(t, (response, number, request) => {
      response.on('close', () => {
        if (!response.writableEnded) gone++
      })
      return paced(response, number, request)
    })
    const plan = planFor(port, { abort: (index) => (index % 2 === 0 ? rule : null) })
    const report = streamReport(await new StreamLoad(plan).run())
    t.match(report.ends, { aborted: 5, complete: 5 }, rule.kind)
    while (gone < 5) await pause(1)
    t.equal(gone, 5, `${rule.kind}: seen by the server`)
    if (rule.kind === 'token') t.equal(report.tokens, 5 * 2 + 5 * 4)
    if (rule.kind === 'before-first') t.equal(report.tokens, 5 * 4)
  }
})

const ENDS: readonly (readonly [end: string, answer: Answer])[] = [
  [
    'cut',
    (response) => void response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(token('half')),
  ],
  ['error', (response) => void response.writeHead(503).end('{"error":{}}')],
  [
    'error',
    (response) => void response.writeHead(200).end(`${token('a')}event: error\ndata: {"type":"error"}\n\n`),
  ],
  ['closed', (response) => void response.writeHead(200).write(token('a'), () => response.socket?.end())],
  [
    'reset',
    (response) => {
      response.writeHead(200).write(token('a'))
      setTimeout(() => response.socket?.resetAndDestroy(), 30)
    },
  ],
  ['timeout', (response) => void response.writeHead(200).write(token('a'))],
]

test('every way in which a stream can fail has its name', async (t) => {
  for (const [end, answer] of ENDS) {
    const report = await reported(t, answer, { silenceMs: end === 'timeout' ? 200 : 5_000 })
    t.same(report.ends, { [end]: 10 }, end)
  }
})

test('nobody there is counted for every stream', async (t) => {
  const plan = planFor(await freePort())
  t.same(streamReport(await new StreamLoad(plan).run()).ends, { refused: 10 })
})

test('a slow reader takes its time, the others do not', async (t) => {
  const text = 'x'.repeat(200)
  const port = await serve(
    t,
    (response) => void response.writeHead(200).end(`${token(text)}${token(text)}${DONE}`),
  )
  const plan = planFor(port, {
    schedule: arrivalSchedule([{ seconds: 0.1, rate: 20 }], 'constant', 1),
    bytesPerS: (index) => (index === 0 ? 1_000 : null),
  })
  const { ends, total } = streamReport(await new StreamLoad(plan).run())
  t.match(ends, { complete: 2 })
  t.ok(total.max > 400, `the slow one took ${total.max} ms`)
})

test('a goal divides the good from the merely complete', async (t) => {
  for (const [ms, goodput] of [
    [1, 0],
    [2_000, 1],
  ] as const)
    t.match(await reported(t, paced, { goal: { firstTokenMs: ms, gapMs: ms } }), { goodput })
})

test('an interruption keeps what was measured', async (t) => {
  const port = await serve(t, (response) => void response.writeHead(200).write(token('for ever')))
  const load = new StreamLoad(
    planFor(port, { schedule: arrivalSchedule([{ seconds: 60, rate: 20 }], 'constant', 1) }),
  )
  setTimeout(() => load.interrupt(), 300)
  const report = streamReport(await load.run())
  t.equal(report.partial, true)
  t.equal(report.cut, report.started)
  t.ok(report.tokens > 0)
})

test('events are told apart in the formats of chat, messages and responses', async (t) => {
  const kinds: readonly (readonly [string, string])[] = [
    [token('hi'), 'token'],
    [ROLE, 'other'],
    [STOP, 'other'],
    [DONE, 'end'],
    [': ping', 'other'],
    ['event: content_block_delta\ndata: {"delta":{"type":"text_delta","text":"hi"}}', 'token'],
    ['event: content_block_start\ndata: {"content_block":{"type":"text","text":""}}', 'other'],
    ['event: message_stop\ndata: {"type":"message_stop"}', 'end'],
    ['data: {"type":"response.output_text.delta","delta":"hi"}', 'token'],
    ['data: {"type":"response.completed","response":{}}', 'end'],
    ['event: error\ndata: {"type":"error","error":{}}', 'error'],
    ['data: {"error":{"message":"\\"content\\":\\"x"}}', 'error'],
  ]
  for (const [text, kind] of kinds) {
    const bytes = Buffer.from(`before${text.trimEnd()}"content":"after`)
    t.equal(classifyEvent(bytes, 6, 6 + text.trimEnd().length), kind, JSON.stringify(text))
  }
})

test('the same seed chooses the same streams, about as many as asked for', async (t) => {
  const chosen = Array.from({ length: 5_000 }, (_, i) => seededChoice(0.1, 42)(i))
  t.same(
    chosen,
    Array.from({ length: 5_000 }, (_, i) => seededChoice(0.1, 42)(i)),
  )
  const share = chosen.filter(Boolean).length / 5_000
  t.ok(Math.abs(share - 0.1) < 0.02, `${share}`)
})

test('a closed loop of checked streams begins spread out, says when all have begun, and tells each outcome', async (t) => {
  const port = await serve(t, (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.end(`${ROLE}${token('w0 ')}${token('w1 ')}${STOP}${DONE}`)
  })
  const calls: number[] = []
  const outcomes: StreamOutcome[] = []
  let allBegunAt = 0
  const began = performance.now()
  const loop = new StreamLoop<StreamOutcome>(
    {
      to: { address: '127.0.0.1', port },
      schedule: null,
      seconds: 0.3,
      streams: 3,
      spreadMs: 150,
      request: () => requestBytes({ method: 'POST', route: '/', path: '/', body: '{}' }),
      silenceMs: 5_000,
    },
    {
      call: (index, _dueAt, now) => {
        calls.push(index)
        return new CheckedStream('', null, 'chat', now)
      },
      ended: (outcome) => {
        outcomes.push(outcome)
        return true
      },
      refused: () => t.fail('refused'),
      allBegun: () => {
        allBegunAt = performance.now()
      },
    },
  )
  const { cut } = await loop.run()
  t.ok(allBegunAt - began >= 100, 'the last of three begins after two thirds of the time')
  t.same(
    calls.sort((a, b) => a - b),
    Array.from({ length: loop.started }, (_, index) => index),
  )
  t.equal(outcomes.length + cut, loop.started)
  t.equal(cut, 0)
  t.ok(outcomes.every((outcome) => isComplete(outcome, { tokens: 2, tag: '' })))
})
