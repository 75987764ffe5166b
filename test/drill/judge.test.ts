/** What the judge of the drill makes of observations: of a good one nothing, and of each that differs what it should. */
import { test } from 'tap'
import { FULL_TEXT, HALF_TEXT } from '../../src/drill/behaviours.js'
import type { GatewayResponse } from '../../src/drill/gateway-client.js'
import { judgeCall } from '../../src/drill/judge.js'
import { type ParsedAnswer, parseAnswer } from '../../src/drill/parse-answer.js'
import type { CallObservation, DrillScenario, ScenarioStep } from '../../src/drill/scenario.js'
import { SCENARIOS } from '../../src/drill/scenarios.js'
import { DRILL_VERDICTS, type DrillVerdict, scoreResults, weighComplaints } from '../../src/drill/verdict.js'

const scenarioById = (id: string): DrillScenario => SCENARIOS.find((each) => each.id === id)!

function gatewayResponse(over: Partial<GatewayResponse> = {}): GatewayResponse {
  const headers = { 'x-generation-id': 'gen-1', 'content-type': 'text/event-stream' }
  return { status: 200, headers, body: '', headMs: 10, endMs: 40, incompleteReason: null, ...over }
}

// ── The last scenario: two fail, the third serves ───────────────────────────

/** Routing metadata of a call that took this way; `selected` is the provider that served, if one did. */
function routingOf(
  requested: string,
  attempts: readonly (readonly [provider: string, model: string, status: number])[],
  selected: string | null,
  others: readonly string[] = [],
) {
  const providers = [...new Set([...attempts.map(([provider]) => provider), ...others])]
  return {
    requested,
    attempt: selected === null ? 0 : attempts.length,
    attempts: attempts.map(([provider, model, status]) => ({ provider, model, status })),
    endpoints: {
      total: providers.length,
      available: providers.map((provider) => ({ provider, selected: provider === selected })),
    },
    generation_time: 30,
  }
}

const METADATA = routingOf(
  'drill/s16',
  [
    ['Drill First', 'drill/s16', 500],
    ['Drill Second', 'drill/s16', 429],
    ['Drill Third', 'drill/s16-other', 200],
  ],
  'Drill Third',
)
/** 20 tokens at 11 and 9 at 19 dollars per million. */
const COST = 0.000391
const USAGE = { prompt_tokens: 20, completion_tokens: 9, cost: COST }
const ANSWER: ParsedAnswer = {
  text: FULL_TEXT,
  finish: 'stop',
  model: 'drill/s16-other',
  provider: 'Drill Third',
  usage: USAGE,
  error: null,
  metadata: METADATA,
  commented: false,
  fault: null,
}
const RECORD = {
  outcome: 'settled',
  attempts: 3,
  streamed: true,
  total_cost: COST,
  tokens_prompt: 20,
  tokens_completion: 9,
  provider_name: 'Drill Third',
  model: 'drill/s16-other',
  estimated: false,
}
const GOOD: CallObservation = {
  mode: 'streamed',
  response: gatewayResponse(),
  answer: ANSWER,
  attempts: [
    ['first', 500],
    ['second', 429],
    ['third', 200],
  ],
  heldConnections: 0,
  ledgerRow: RECORD,
}

const answer = (over: Partial<ParsedAnswer>): Partial<CallObservation> => ({
  answer: { ...ANSWER, ...over },
})
const response = (over: Partial<GatewayResponse>): Partial<CallObservation> => ({
  response: gatewayResponse(over),
})
const metadata = (over: object): Partial<CallObservation> => answer({ metadata: { ...METADATA, ...over } })
const row = (over: object): Partial<CallObservation> => ({ ledgerRow: { ...RECORD, ...over } })

type JudgedCase = readonly [about: string, over: Partial<CallObservation>, said: string]

const CASES: Readonly<Record<DrillVerdict, readonly JudgedCase[]>> = {
  pass: [['all as it should be', {}, '']],
  fail: [
    ['no end', answer({ fault: 'no end within 45 s' }), 'no end within 45 s'],
    ['an end that comes far too late', response({ endMs: 11_000 }), 'it took 11000 ms'],
    ['a part that looks whole', answer({ text: HALF_TEXT }), 'is passed off as a complete answer'],
    ['a part without figures', answer({ text: HALF_TEXT, usage: null }), 'passed off as a complete'],
    [
      'somebody asked after an answer had begun',
      { attempts: [...GOOD.attempts, ['third', 200]] },
      '2 endpoints were asked that may all bill it',
    ],
  ],
  safe: [
    [
      'a clean refusal instead of the rescue',
      {
        ...response({ status: 502, headers: { 'x-generation-id': 'gen-1' } }),
        ...answer({ text: '', finish: '', usage: null, error: { code: 502, message: 'no' } }),
        attempts: GOOD.attempts.slice(0, 2),
      },
      'the status is 502 instead of 200',
    ],
    ['an end that comes too late', response({ endMs: 3_000 }), 'it took 3000 ms instead of 0 to 2500'],
    ['an endpoint skipped', { attempts: GOOD.attempts.slice(1) }, 'asked second 429, third 200 instead of'],
    ['no id', response({ headers: {} }), 'there is no X-Generation-Id'],
    ['a connection kept', { heldConnections: 1 }, '1 connections to a provider that was given up'],
  ],
  partial: [
    ['no metadata', answer({ metadata: null }), 'there is no routing metadata'],
    ['an attempt left out', metadata({ attempts: METADATA.attempts.slice(1) }), 'metadata.attempts'],
    ['a wrong place', metadata({ attempt: 1 }), 'metadata.attempt is 1 instead of 3'],
    ['another model asked for', metadata({ requested: 'x' }), 'metadata.requested'],
    ['endpoints not counted', metadata({ endpoints: { ...METADATA.endpoints, total: 1 } }), 'total is 1'],
    ['nobody selected', metadata({ endpoints: { total: 3, available: [] } }), 'the selected endpoint'],
    ['a time that was not', metadata({ generation_time: 400 }), 'generation_time is 400 ms of 40'],
    ['another model named', answer({ model: 'drill/s16' }), 'the model of the answer'],
    ['another provider named', answer({ provider: 'Drill First' }), 'the provider of the answer'],
    [
      'failed attempts billed',
      answer({ usage: { prompt_tokens: 70_020, completion_tokens: 90_009, cost: 1 } }),
      'usage.prompt_tokens is 70020 instead of 20',
    ],
    ['the price of another', answer({ usage: { ...USAGE, cost: 0.000038 } }), 'usage.cost is 0.000038'],
    ['no row', { ledgerRow: null }, 'the ledger has no row of it'],
    ['a row of a failure', row({ outcome: 'failed' }), 'the ledger’s outcome'],
    ['a row with one attempt', row({ attempts: 1 }), 'the ledger’s attempts is 1 instead of 3'],
    ['a row of another', row({ provider_name: 'Drill First' }), 'the ledger’s provider'],
    ['a row of another model', row({ model: 'drill/s16' }), 'the ledger’s model'],
    ['a row that costs nothing', row({ total_cost: 0 }), 'the ledger’s cost is 0 instead of'],
    ['a row that was guessed', row({ estimated: true }), 'the ledger’s estimated'],
  ],
}

// ── A stream that breaks ────────────────────────────────────────────────────

const BROKEN_ROW = {
  ...RECORD,
  outcome: 'failed',
  attempts: 1,
  provider_name: 'Drill First',
  model: 'drill/s07',
  estimated: true,
  tokens_prompt: 16,
  tokens_completion: 5,
  total_cost: 0.000026,
}
const BROKEN: CallObservation = {
  ...GOOD,
  answer: {
    ...ANSWER,
    text: HALF_TEXT,
    finish: 'error',
    usage: null,
    error: { code: 502, message: 'no', metadata: { error_type: 'provider_unavailable' } },
    metadata: routingOf('drill/s07', [['Drill First', 'drill/s07', 200]], null, ['Drill Second']),
  },
  attempts: [['first', 200]],
  ledgerRow: BROKEN_ROW,
}
const brokenRow = (over: object): Partial<CallObservation> => ({ ledgerRow: { ...BROKEN_ROW, ...over } })

const BROKEN_CASES: typeof CASES = {
  pass: [['an error after half of it', {}, '']],
  fail: [],
  safe: [],
  partial: [
    [
      'nothing billed',
      brokenRow({ tokens_completion: 0, total_cost: 0.000016 }),
      'the ledger has 16 and 0 tokens',
    ],
    [
      'all of it billed',
      brokenRow({ tokens_completion: 9, total_cost: 0.000034 }),
      'for a part of an answer of 9',
    ],
    ['a cost of other tokens', brokenRow({ total_cost: 0.00002 }), 'the ledger’s cost'],
    ['counted by nobody', brokenRow({ estimated: false }), 'estimated is false instead of true'],
  ],
}

for (const [id, good, cases] of [
  ['S16', GOOD, CASES],
  ['S07', BROKEN, BROKEN_CASES],
] as const) {
  for (const verdict of DRILL_VERDICTS) {
    for (const [about, over, said] of cases[verdict]) {
      test(`${about}: ${verdict}`, async (t) => {
        const scenario = scenarioById(id)
        const complaints = judgeCall(scenario, scenario.steps.streamed[0]!, { ...good, ...over })
        t.equal(weighComplaints(complaints), verdict)
        t.match(complaints.map(({ sentence }) => sentence).join('\n'), said)
        if (verdict === 'pass') t.same(complaints, [])
      })
    }
  }
}

// ── A whole answer that is lost and rescued ──────────────────────────────────

const LOST = {
  provider_name: 'Drill First',
  status: 0,
  charged: 0,
  upstream_cost: 0.000016,
  upstream_cost_basis: 'estimated',
}
const RESCUED_COST = 0.000123
const RESCUED: CallObservation = {
  ...GOOD,
  mode: 'whole',
  ...response({ headers: { 'x-generation-id': 'gen-1', 'content-type': 'application/json' } }),
  ...answer({
    model: 'drill/s04',
    provider: 'Drill Second',
    usage: { ...USAGE, cost: RESCUED_COST },
    metadata: routingOf(
      'drill/s04',
      [
        ['Drill First', 'drill/s04', 0],
        ['Drill Second', 'drill/s04', 200],
      ],
      'Drill Second',
    ),
  }),
  attempts: [
    ['first', 0],
    ['second', 200],
  ],
}
const rescuedRow = (lost: readonly object[]): Partial<CallObservation> =>
  row({
    ...{ streamed: false, attempts: 2, total_cost: RESCUED_COST, lost_attempts: lost },
    ...{ provider_name: 'Drill Second', model: 'drill/s04' },
  })

for (const [about, lost, said] of [
  ['a loss that is told', [LOST], ''],
  ['a loss that is not told', [], 'lost attempts is "" instead of "Drill First without a status"'],
  ['a loss that costs nothing', [{ ...LOST, upstream_cost: 0 }], 'may cost something is false'],
  ['a loss that is charged', [{ ...LOST, charged: 0.1 }], 'nobody is charged for them is false'],
  ['a loss of another', [{ ...LOST, provider_name: 'Drill Third' }], 'is "Drill Third without'],
] as const) {
  test(`${about}: ${said === '' ? 'pass' : 'partial'}`, async (t) => {
    const scenario = scenarioById('S04')
    const step = scenario.steps.whole[0]!
    const complaints = judgeCall(scenario, step, { ...RESCUED, ...rescuedRow(lost) })
    t.match(complaints.map(({ sentence }) => sentence).join('\n'), said)
    t.equal(weighComplaints(complaints), said === '' ? 'pass' : 'partial')
  })
}

test('where the contract leaves a choice every way of it passes, and its metadata has to tell which it was', async (t) => {
  const flapping = scenarioById('S15')
  const step = flapping.steps.whole[0] as ScenarioStep
  for (const way of step.paths) {
    const attempts = way.map(([role, status]) => {
      return [role === 'guarded' ? 'Drill Guarded' : 'Drill Second', 'drill/s15', status] as const
    })
    const [provider, model] = attempts.at(-1)!
    const [prompt, completion] = provider === 'Drill Guarded' ? [1, 2] : [3, 7]
    const cost = (20 * prompt! + 9 * completion!) / 1e6
    const total = { total: 2, available: [{ provider, selected: true }] }
    const told = { ...routingOf('drill/s15', attempts, provider), endpoints: total }
    const observation: CallObservation = {
      ...GOOD,
      mode: 'whole',
      ...response({ headers: { 'x-generation-id': 'gen-1', 'content-type': 'application/json' } }),
      attempts: way,
      ...answer({ model, provider, usage: { ...USAGE, cost }, metadata: told }),
      ...row({ streamed: false, model, provider_name: provider, attempts: way.length, total_cost: cost }),
    }
    t.same(judgeCall(flapping, step, observation), [])
    const other = step.paths.find((each) => each !== way)!
    t.equal(weighComplaints(judgeCall(flapping, step, { ...observation, attempts: other })), 'partial')
  }
})

test('the score counts a partial as two thirds of a pass, and a safe as one', async (t) => {
  const result = (verdict: DrillVerdict) =>
    ({ scenario: scenarioById('S01'), mode: 'whole', verdict, ms: 1, complaints: [] }) as const
  t.equal(scoreResults([]), 0)
  t.equal(scoreResults([result('pass')]), 100)
  t.equal(scoreResults([result('pass'), result('partial'), result('safe'), result('fail')]), 50)
})

// ── Answers that no client could read ───────────────────────────────────────

const CHUNK = 'data: {"choices":[{"delta":{"role":"assistant","content":"a"}}]}\n\n'
const ERROR =
  'data: {"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"no"}}\n\n'
const DONE = 'data: [DONE]\n\n'

for (const [about, body, fault] of [
  ['a good stream', CHUNK + DONE, null],
  ['a stream that begins with a comment', `: WAIT\n\n${CHUNK}${DONE}`, null],
  ['an error at the end', CHUNK + ERROR + DONE, null],
  ['no terminator', CHUNK, 'a stream without [DONE]'],
  ['an error without terminator', CHUNK + ERROR, 'a stream without [DONE]'],
  ['words after the terminator', CHUNK + DONE + CHUNK, 'words after [DONE]'],
  ['two terminators', CHUNK + DONE + DONE, 'words after [DONE]'],
  ['half an event', `${CHUNK}data: {"cho`, 'a stream without [DONE]'],
  ['a terminator without its blank line', `${CHUNK}data: [DONE]\n`, 'a stream without [DONE]'],
  ['an event that is no JSON', `data: {"a\n\n${DONE}`, 'an event that is no JSON object'],
  ['an event of two lines', `data: {\ndata: }\n\n${DONE}`, 'an event that is not one data line'],
  ['a comment passed on as data', `data: : WAIT\n\n${DONE}`, 'an event that is no JSON object'],
  [
    'an event after an error',
    CHUNK + ERROR + CHUNK.replace('"role":"assistant",', '') + DONE,
    'an error that is not the last event',
  ],
  ['a role said twice', CHUNK + CHUNK + DONE, 'a role that is said twice'],
  [
    'an error that finishes for another reason',
    CHUNK + ERROR.replace('"error"}],', '"stop"}],') + DONE,
    'an error whose finish_reason is not error',
  ],
  [
    'an error without a code',
    CHUNK + ERROR.replace('"code":502,', '') + DONE,
    'an error without code or message',
  ],
] as const) {
  test(`${about} is ${fault === null ? 'clean' : 'found out'}`, async (t) => {
    t.equal(parseAnswer(gatewayResponse({ body })).fault, fault)
  })
}

const JSON_HEADERS = { 'content-type': 'application/json' }
const NO_WORDS = '{"error":{"code":502}}'
const TWOFOLD = '{"choices":[],"error":{"code":429,"message":"no"}}'

for (const [about, status, body, fault] of [
  ['a good answer', 200, '{"choices":[]}', null],
  ['a good error', 502, '{"error":{"code":502,"message":"no"}}', null],
  ['an error of another code', 502, '{"error":{"code":500,"message":"no"}}', 'a 502 whose error says 500'],
  ['an error without words', 502, NO_WORDS, 'an error without a message'],
  ['an error inside a success', 200, TWOFOLD, 'an error inside a 200'],
  ['half of an answer', 200, '{"choi', 'a body that is no JSON object'],
] as const) {
  test(`${about} is ${fault === null ? 'clean' : 'found out'}`, async (t) => {
    t.equal(parseAnswer(gatewayResponse({ status, body, headers: JSON_HEADERS })).fault, fault)
  })
}

test('an answer of no type, and one that broke, are not clean', async (t) => {
  t.equal(parseAnswer(gatewayResponse({ headers: {} })).fault, 'a 200 of type nothing')
  t.equal(
    parseAnswer(gatewayResponse({ headers: { 'content-type': 'text/html' } })).fault,
    'a 200 of type text/html',
  )
  t.equal(parseAnswer(gatewayResponse({ incompleteReason: 'it broke' })).fault, 'it broke')
})
