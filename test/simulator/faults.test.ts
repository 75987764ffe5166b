import { test } from 'tap'
import type { FaultKind, GatewayErrorType } from '../../src/base/fault.js'
import { faultHeaders } from '../../src/http/dialects/dialect.js'
import { gatewayErrorOf } from '../../src/http/dialects/gateway.js'
import { behaviourSchema, FAULT_KINDS } from '../../src/simulator/behaviour.js'
import { BUILT_IN_MODELS } from '../../src/simulator/built-in-models.js'
import { FAULT_TABLE, type SeenWhole } from '../support/models/fault-table.js'
import {
  assembleCompletion,
  builtInEndpoint,
  type CallRecorder,
  runCompletion,
  runStream,
  setUpSimulator,
  startStream,
  userRequest,
} from './calls.js'

const request = userRequest('Tell me of the sea')

/** What the caller of the gateway would see of a failure before any event, or of an answer. */
function visibleOutcome(recorder: CallRecorder): SeenWhole {
  const { outcome } = recorder
  if (outcome === null) throw new Error('no outcome')
  if (outcome === 'ended') {
    const completion = recorder.completion ?? assembleCompletion(recorder.events)
    return { status: 200, finishReason: completion.choices[0]!.finishReason }
  }
  const { code, metadata } = gatewayErrorOf(outcome.fault)
  const retryAfter = faultHeaders(outcome.fault, code).find(([name]) => name === 'Retry-After')?.[1]
  return {
    status: code,
    errorType: metadata!.error_type as GatewayErrorType,
    retryAfter: retryAfter === undefined ? null : Number(retryAfter),
  }
}

for (const { model, nonStreaming, streaming } of FAULT_TABLE) {
  test(`${model} shows what the table says`, async (t) => {
    t.strictSame(visibleOutcome(runCompletion(request, model)), nonStreaming)
    const on = setUpSimulator()
    const recorder = runStream(request, model, { on })
    if ('chunk' in streaming) {
      const { code, errorType } = streaming.chunk
      t.strictSame(visibleOutcome(recorder), { status: code, errorType, retryAfter: null })
      t.equal(recorder.deltaCount, streaming.tokensBefore)
    } else t.strictSame(visibleOutcome(recorder), streaming)
    if ('errorType' in streaming) t.equal(recorder.events.length, 0)
    t.equal(on.wheel.size(), 0)
    t.notOk(on.clock.hasTimer)
  })
}

/** What the attempt loop may rely on; a provider of kind openai says the same of the same mishap. */
const CLASSES: readonly [string, FaultKind, string, number, string][] = [
  ['rate-limited', 'rate-limited', 'refused', 429, '429'],
  ['error', 'provider-failed', 'refused', 500, '500'],
  ['flap', 'unavailable', 'refused', 503, '503'],
  ['refused', 'provider-failed', 'not-sent', 0, 'refused'],
  ['reset', 'provider-failed', 'maybe-processed', 0, 'reset'],
  ['silence', 'provider-timeout', 'maybe-processed', 0, 'timeout'],
  ['cut', 'provider-failed', 'maybe-processed', 200, 'reset'],
  ['stall', 'provider-timeout', 'maybe-processed', 200, 'timeout'],
  ['malformed', 'provider-failed', 'maybe-processed', 200, '200'],
  ['no-terminator', 'provider-failed', 'maybe-processed', 200, '200'],
  ['context-length', 'bad-request', 'refused', 400, 'context_length_exceeded'],
]

for (const [name, kind, failureClass, status, code] of CLASSES) {
  test(`the failure of ${name} is ${kind}, ${failureClass}, after status ${status}`, async (t) => {
    const { outcome } = runStream(request, `sim/fault-${name}`)
    if (outcome === null || outcome === 'ended') throw new Error('it did not fail')
    t.match(
      { kind: outcome.fault.kind, class: outcome.class, status: outcome.status },
      { kind, class: failureClass, status },
    )
    t.equal(outcome.fault.metadata!.provider_code, code)
    t.equal(outcome.fault.metadata!.provider_name, 'Simulated')
  })
}

test('a flap fails every other call, whatever is asked', async (t) => {
  const on = setUpSimulator()
  const endpoint = builtInEndpoint('sim/fault-flap')
  const outcomes = Array.from(
    { length: 6 },
    () => visibleOutcome(runCompletion(request, endpoint, { on })).status,
  )
  t.strictSame(outcomes, [503, 200, 503, 200, 503, 200])
})

test('an overloaded model refuses about half of all prompts, with 503 and 529, and the same ones always', async (t) => {
  const statuses = () =>
    Array.from({ length: 400 }, (_, i) => {
      return visibleOutcome(runCompletion(userRequest(`question ${i}`), 'sim/overloaded')).status
    })
  const first = statuses()
  t.strictSame(statuses(), first)
  const share = (status: number) => first.filter((one) => one === status).length / first.length
  t.ok(Math.abs(share(200) - 0.5) < 0.1)
  t.ok(share(503) > 0.15 && share(529) > 0.15)
})

test('silence and stalls end at their limits, a cut where the next token would come', async (t) => {
  const time = (simulate: string) => {
    const on = setUpSimulator()
    const begin = on.clock.time
    const recorder = runStream(request, {}, { simulate, on })
    return recorder.endedAt - begin
  }
  const about = (ms: number, expected: number) =>
    t.ok(ms >= expected && ms < expected + 3, `${ms} for ${expected}`)
  about(time('fault=silence; limit_ms=700'), 700)
  about(time('first_token_ms=50; gap_ms=10; fault=stall; after=3; limit_ms=400'), 50 + 2 * 10 + 400)
  about(time('first_token_ms=50; gap_ms=10; fault=cut; after=3'), 50 + 3 * 10)
  about(time('fault=slow-first-token; delay_ms=900; limit_ms=300'), 300)
  about(time('fault=slow-first-token; delay_ms=900; tokens=1'), 900)
})

test('the deadline of the call ends it in every phase, streamed and not', async (t) => {
  for (const simulate of ['first_token_ms=5000', 'gap_ms=3000', 'fault=silence; limit_ms=9000']) {
    for (const run of [runStream, runCompletion]) {
      const on = setUpSimulator()
      const deadlineAt = on.clock.time + 1000
      const recorder = run(request, {}, { simulate, deadlineAt, on })
      t.match(recorder.outcome, { fault: { kind: 'provider-timeout' }, class: 'maybe-processed' })
      t.ok(recorder.endedAt >= deadlineAt && recorder.endedAt < deadlineAt + 3)
      t.equal(on.wheel.size(), 0)
    }
  }
})

// ── X-Service-Simulate ──────────────────────────────────────────────────────

test('the header overlays the behaviour of the endpoint', async (t) => {
  const simulate = 'first_token_ms=200; gap_ms=10; tokens=6;reasoning_tokens=2 ; seed=5'
  const on = setUpSimulator()
  const begin = on.clock.time
  const recorder = runStream(request, 'sim/standard', { simulate, on })
  const { usage } = assembleCompletion(recorder.events)
  t.match(usage, { completion: 8, reasoning: 2 })
  t.ok(recorder.times[0]! - begin >= 200 && recorder.times[0]! - begin < 203)
  t.ok(Math.abs(recorder.endedAt - begin - 270) < 3)
  const lifted = runCompletion(request, 'sim/fault-error', { simulate: 'tokens=3' })
  t.match(lifted.outcome, { fault: { kind: 'provider-failed' } }, 'what is not written stays')
})

test('the header is refused where the operator does not allow it', async (t) => {
  const on = setUpSimulator({ allowRequestFaults: false })
  const { outcome } = runCompletion(request, {}, { simulate: 'fault=error', on })
  const note = "X-Service-Simulate is not allowed by this server's configuration"
  t.match(outcome, { fault: { kind: 'bad-request', note }, class: 'refused' })
})

const WRONG: readonly [header: string, note: RegExp][] = [
  ['speed=3', /unknown name "speed"/],
  ['fault=earthquake', /unknown fault "earthquake"/],
  ['fault=cut; after=5; after=6', /"after" is given twice/],
  ['fault=cut;', /"" is not of the form/],
  ['cut', /"cut" is not of the form/],
  ['fault=cut=5', /not of the form/],
  ['after=5', /fault/],
  ['fault=error; after=5', /after/],
  ['fault=cut; after=-1', /fault\.after/],
  ['fault=cut; after=many', /fault\.after/],
  ['fault=rate-limited; retry_after=1.5', /fault\.retry_after/],
  ['first_token_ms=-5', /first_token_ms/],
  ['tokens=1e9', /tokens/],
  ['__proto__=1', /unknown name "__proto__"/],
]

for (const [simulate, note] of WRONG) {
  test(`the header "${simulate}" is refused by name`, async (t) => {
    const { outcome } = runCompletion(request, {}, { simulate })
    t.match(outcome, { fault: { kind: 'bad-request', note }, class: 'refused', status: 400 })
  })
}

// ── Ready-made models ───────────────────────────────────────────────────────

const behaviours = Object.entries(BUILT_IN_MODELS).map(
  ([id, { endpoints }]) => [id, endpoints[0].simulation] as const,
)

test('every ready-made behaviour is valid, and there is a model and a row for each fault', async (t) => {
  for (const [id, simulation] of behaviours) t.ok(behaviourSchema.safeParse(simulation).success, id)
  const faults = new Set(behaviours.map(([, { fault }]) => fault?.kind))
  t.ok([...FAULT_KINDS].every((kind) => faults.has(kind as never)))
  const faultModels = behaviours.map(([id]) => id).filter((id) => id.startsWith('sim/fault-'))
  t.strictSame(
    FAULT_TABLE.map(({ model }) => model),
    faultModels,
  )
})

test('every ready-made model without a fault, a file or a picture answers, streamed and not', async (t) => {
  // What makes a file or a picture waits for a disk or a thread besides its clock.
  const plain = behaviours.filter(
    ([, { fault, makes_file, paints }]) => fault === undefined && !makes_file && !paints,
  )
  for (const [id] of plain) {
    const endpoint = builtInEndpoint(id)
    const recorder = runStream(request, endpoint)
    t.equal(recorder.outcome, 'ended', id)
    t.strictSame(assembleCompletion(recorder.events), runCompletion(request, endpoint).completion)
  }
})

test('the instant model sets no timer at all', async (t) => {
  const on = setUpSimulator()
  const { recorder } = startStream(request, 'sim/instant', { on })
  t.equal(recorder.events.length, 0, 'never before stream has returned')
  on.clock.turn()
  t.equal(recorder.outcome, 'ended', 'a short answer comes in one turn')
  t.equal(on.clock.armed, 0)
})
