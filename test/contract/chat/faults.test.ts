/** What a caller sees when a provider fails: every row of the table of fault models, whole and streamed. */
import tap, { type Test, test } from 'tap'
import { ChatCompletion, ChatCompletionChunk } from '../../../src/features/chat/response-schema.js'
import type { SimulatedFault } from '../../../src/simulator/behaviour.js'
import { BUILT_IN_MODELS } from '../../../src/simulator/built-in-models.js'
import {
  FAULT_TABLE,
  type FaultRow,
  type SeenStreamed,
  type SeenWhole,
} from '../../support/models/fault-table.js'
import {
  type Asked,
  askChat,
  CANARY_PROMPT,
  type Json,
  startGateway,
} from '../../support/servers/gateway-server.js'

const LAB = 'lab/plain'
const STRICT = 'strict/plain'
const SIMULATION = { tokens: { constant: 32 } }

/** One worker: a flap counts the calls of a worker. */
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    // The table tells what is seen when nothing is tried again.
    routing: { retries: 0 },
    providers: {
      lab: { kind: 'simulated', name: 'Lab', allow_request_faults: true, breaker: false },
      strict: { kind: 'simulated' },
    },
    models: {
      [LAB]: { endpoints: [{ provider: 'lab', simulation: SIMULATION }] },
      [STRICT]: { endpoints: [{ provider: 'strict', simulation: SIMULATION }] },
    },
  },
})
tap.teardown(() => server.stop())

const MESSAGES = [{ role: 'user', content: CANARY_PROMPT }]

function ask(model: string, stream: boolean, simulate = ''): Promise<Asked> {
  const headers = simulate === '' ? {} : { 'X-Service-Simulate': simulate }
  return askChat(server, { model, stream, messages: MESSAGES }, headers)
}

function refusedAs(t: Test, asked: Asked, seen: Extract<SeenWhole, { errorType: string }>): void {
  t.equal(asked.status, seen.status)
  t.match(asked.headers.get('content-type'), /^application\/json/)
  t.match(asked.headers.get('x-generation-id'), /^gen-/)
  t.equal(asked.headers.get('retry-after'), seen.retryAfter === null ? null : String(seen.retryAfter))
  t.match(asked.json(), {
    error: { code: seen.status, message: /./, metadata: { error_type: seen.errorType } },
  })
}

function wholeAs(t: Test, asked: Asked, seen: SeenWhole): void {
  if ('errorType' in seen) refusedAs(t, asked, seen)
  else answeredAs(t, asked, seen.finishReason)
}

function answeredAs(t: Test, asked: Asked, finishReason: string): void {
  t.equal(asked.status, 200)
  const body = asked.json()
  t.ok(ChatCompletion.safeParse(body).success)
  t.equal(body.choices[0].finish_reason, finishReason)
  t.ok(body.usage.total_tokens > 0)
}

function streamedAs(t: Test, asked: Asked, seen: SeenStreamed): void {
  if ('errorType' in seen) {
    refusedAs(t, asked, seen)
    return
  }
  t.equal(asked.status, 200)
  t.match(asked.headers.get('content-type'), /^text\/event-stream/)
  const events = asked.events()
  t.equal(events.pop(), '[DONE]')
  for (const event of events) t.ok(ChatCompletionChunk.safeParse(event).success, JSON.stringify(event))
  if ('chunk' in seen) brokenAs(t, events, seen)
  else completeAs(t, events, seen.finishReason)
}

function completeAs(t: Test, events: readonly Json[], finishReason: string): void {
  const reasons = events.map((event) => event.choices[0]?.finish_reason ?? null).filter((it) => it !== null)
  t.same(reasons, [finishReason])
  t.match(events.at(-1), { choices: [], usage: { total_tokens: Number } })
  t.notOk(events.some((event) => 'error' in event))
}

function brokenAs(
  t: Test,
  events: readonly Json[],
  seen: Extract<SeenStreamed, { tokensBefore: number }>,
): void {
  const spoken = events.filter((event) => (event.choices[0]?.delta.content ?? '') !== '')
  t.equal(spoken.length, seen.tokensBefore)
  t.match(events.at(-1), {
    choices: [{ finish_reason: 'error' }],
    error: { code: seen.chunk.code, metadata: { error_type: seen.chunk.errorType } },
  })
  t.notOk(events.some((event) => 'usage' in event))
}

/** The one that takes 20 s has a test of its own, with less patience. */
const SLOW = 'sim/fault-slow-first-token'
const FLAP = 'sim/fault-flap'
const rows = FAULT_TABLE.filter(({ model }) => model !== SLOW && model !== FLAP)

// All at once: some only fail after two seconds of silence.
const asked = new Map(rows.map(({ model }) => [model, [ask(model, false), ask(model, true)] as const]))

for (const { model, nonStreaming, streaming } of rows) {
  test(`${model} is what the table says, whole and streamed`, async (t) => {
    const [whole, streamed] = asked.get(model)!
    wholeAs(t, await whole, nonStreaming)
    streamedAs(t, await streamed, streaming)
  })
}

const rowOf = (model: string): FaultRow => FAULT_TABLE.find((row) => row.model === model)!

test(`${FLAP} fails and answers by turns, whole and streamed`, async (t) => {
  const { nonStreaming, streaming } = rowOf(FLAP)
  for (let round = 0; round < 2; round++) {
    wholeAs(t, await ask(FLAP, false), nonStreaming)
    wholeAs(t, await ask(FLAP, false), { status: 200, finishReason: 'stop' })
    streamedAs(t, await ask(FLAP, true), streaming)
    streamedAs(t, await ask(FLAP, true), { status: 200, finishReason: 'stop' })
  }
})

test(`${SLOW} is declared with its delay, and a delay asked for is kept`, async (t) => {
  const { nonStreaming, streaming } = rowOf(SLOW)
  const declared = BUILT_IN_MODELS[SLOW]?.endpoints[0].simulation
  t.same(declared?.fault, { kind: 'slow-first-token', delay_ms: 20_000 })
  const slowly = 'fault=slow-first-token; delay_ms=300'
  for (const stream of [false, true]) {
    const begun = performance.now()
    const answer = await ask(LAB, stream, slowly)
    t.ok(performance.now() - begun >= 299, 'not before the delay')
    if (stream) streamedAs(t, answer, streaming)
    else wholeAs(t, answer, nonStreaming)
  }
})

test('the table has a row for every fault model, and a model for every row', async (t) => {
  const models = Object.keys(BUILT_IN_MODELS).filter((id) => id.startsWith('sim/fault-'))
  t.same(FAULT_TABLE.map(({ model }) => model).sort(), models.sort())
})

test('sim/overloaded turns half of all prompts away, and an equal one always', async (t) => {
  const statusOf = async (content: string): Promise<number> =>
    (await askChat(server, { model: 'sim/overloaded', messages: [{ role: 'user', content }] })).status
  const prompts = Array.from({ length: 24 }, (_, i) => `${CANARY_PROMPT} ${i}`)
  const statuses = await Promise.all(prompts.map(statusOf))
  t.same([...new Set(statuses)].sort(), [200, 503, 529])
  t.same(await Promise.all(prompts.map(statusOf)), statuses)
})

/** What the header asks for, and the fault model that shows as the same. */
const BY_HEADER: readonly (readonly [asks: string, model: string, kind: SimulatedFault['kind']])[] = [
  ['fault=rate-limited; retry_after=3', 'sim/fault-rate-limited', 'rate-limited'],
  ['fault=rate-limited', 'sim/fault-rate-limited-bare', 'rate-limited'],
  ['fault=error', 'sim/fault-error', 'error'],
  ['fault=refused', 'sim/fault-refused', 'refused'],
  ['fault=reset', 'sim/fault-reset', 'reset'],
  ['fault=silence; limit_ms=50', 'sim/fault-silence', 'silence'],
  ['fault=cut; after=5', 'sim/fault-cut', 'cut'],
  ['fault=stall; after=5; limit_ms=50', 'sim/fault-stall', 'stall'],
  ['fault=malformed', 'sim/fault-malformed', 'malformed'],
  ['fault=no-terminator', 'sim/fault-no-terminator', 'no-terminator'],
  ['fault=context-length', 'sim/fault-context-length', 'context-length'],
  ['fault=content-filter', 'sim/fault-content-filter', 'content-filter'],
]

test('a request may ask for any of them where the operator allows it', async (t) => {
  for (const [asks, model] of BY_HEADER) {
    const { nonStreaming, streaming } = rowOf(model)
    await t.test(asks, async (t) => {
      wholeAs(t, await ask(LAB, false, asks), nonStreaming)
      streamedAs(t, await ask(LAB, true, asks), streaming)
    })
  }
})

const REFUSED = [
  ['where the operator does not allow it', STRICT, 'fault=error', /not allowed/],
  ['of a ready-made model', 'sim/instant', 'fault=error', /not allowed/],
  ['with an unknown fault', LAB, 'fault=earthquake', /unknown fault "earthquake"/],
  ['with an unknown name', LAB, 'fault=cut; before=5', /unknown name "before"/],
  ['with a name twice', LAB, 'fault=cut; fault=cut', /"fault" is given twice/],
  ['without a value', LAB, 'fault', /name=value/],
  ['with a parameter of another fault', LAB, 'fault=error; after=5', /X-Service-Simulate/],
  ['out of range', LAB, 'fault=cut; after=-1', /X-Service-Simulate: fault\.after/],
] as const

for (const [what, model, asks, message] of REFUSED) {
  test(`the header is refused ${what}`, async (t) => {
    for (const stream of [false, true]) {
      const answer = await ask(model, stream, asks)
      t.equal(answer.status, 400)
      t.match(answer.json().error, { code: 400, message, metadata: { error_type: 'invalid_request' } })
    }
  })
}

test('a fault of one call leaves the next alone', async (t) => {
  t.equal((await ask(LAB, false, 'fault=error')).status, 502)
  wholeAs(t, await ask(LAB, false), { status: 200, finishReason: 'stop' })
})
