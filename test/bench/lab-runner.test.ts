import { createServer } from 'node:http'
import { type Test, test } from 'tap'
import { Progress } from '../../bench/harness/progress.js'
import type { Repetition } from '../../bench/loadlab/report/repetition.js'
import { LabControl, LabControlFault } from '../../bench/loadlab/runner/control.js'
import { discardDisturbed } from '../../bench/loadlab/runner/discard.js'
import { type PlannedRun, planComparison, QUICK_BUDGET_S } from '../../bench/loadlab/runner/plan.js'
import { runAllRepetitions, runRepetition } from '../../bench/loadlab/runner/repetition.js'
import { COMPARE_SCENARIOS } from '../../bench/loadlab/runner/scenarios.js'
import { verdictTable } from '../../bench/loadlab/runner/table.js'
import { type InstalledTool, TOOLS } from '../../bench/loadlab/tools/catalogue.js'
import { listen } from '../support/servers/listen.js'
import { TOY_FIGURES, toolPlace, toyRun, toyVariant } from './toy-tool.js'

const installed = (...names: string[]): InstalledTool[] =>
  TOOLS.filter(({ name }) => names.includes(name)).map((tool) => ({ tool, version: '1', program: tool.name }))

const HERE = installed('drive', 'autocannon', 'wrk')
const EVERY = TOOLS.filter(({ variants }) => variants.length > 0).map((tool) => ({
  tool,
  version: '1',
  program: '',
}))

/** What is run when these tools shall be compared in every scenario. */
const planned = (tools: readonly InstalledTool[], more: Partial<Parameters<typeof planComparison>[0]> = {}) =>
  planComparison({ tools, scenarios: COMPARE_SCENARIOS, rounds: 1, quick: false, seed: 1, ...more })

test('every variant runs once per scenario and round, in an order that the seed decides', async (t) => {
  const order = (seed: number, round?: number) =>
    planned(HERE, { rounds: 3, seed })
      .planned.filter((one) => round === undefined || one.round === round)
      .map(({ scenario, variant }) => `${scenario.name} ${variant.name}`)
  t.same(order(5, 1).sort(), order(5, 2).sort())
  t.equal(new Set(order(5, 1)).size, order(5, 1).length)
  t.not(order(5, 1).join(), order(5, 2).join(), 'another order in another round')
  t.same(order(5), order(5))
  t.not(order(6).join(), order(5).join())
})

test('each scenario asks the tools that can do it', async (t) => {
  const all = planned(EVERY).planned
  const of = (name: string) =>
    all.filter(({ scenario }) => scenario.name === name).map(({ variant }) => variant)
  t.ok(of('rate').every(({ rate }) => rate === 'needed'))
  t.ok(of('saturation').every(({ rate }) => rate === 'none'))
  t.ok(
    of('hold').some(({ name }) => name === 'autocannon-R') && of('hold').some(({ name }) => name === 'wrk'),
  )
  t.same(
    of('long-outage')
      .map(({ name }) => name)
      .sort(),
    ['drive', 'wrk', 'wrk-default-timeout'],
  )
  t.notOk(of('hold').some(({ onlyWhenAsked }) => onlyWhenAsked))
})

test('a quick comparison keeps its time, and says what it left out for it', async (t) => {
  const here = planned(HERE, { quick: true })
  t.ok(here.seconds <= QUICK_BUDGET_S, `${here.seconds} s`)
  t.same(here.leftOut, [])
  const every = planned(EVERY, { quick: true })
  t.ok(every.leftOut.length > 0)
  t.ok(
    every.planned.some(({ scenario }) => scenario.name === 'hold'),
    'the most telling scenario stays',
  )
})

function repetition(more: {
  round?: number
  generator?: number
  rate?: number
  failure?: string
  verdict?: string
}): Repetition {
  const { round = 1, generator = 0.99, rate, failure, verdict = 'valid' } = more
  return {
    tool: 'wrk',
    round,
    scenario: 'saturation',
    report: { ...(rate !== undefined && { rate }) },
    cpu: { generator, server: 0.5 },
    verdict: { verdict, loopClass: 'closed', reasons: [`reason of ${verdict}`], checks: [] },
    ...(failure !== undefined && { failure }),
  } as unknown as Repetition
}

test('only a repetition with less CPU than its peers is discarded', async (t) => {
  const steady = [1, 2, 3, 4].map((round) => repetition({ round }))
  const disturbed = repetition({ round: 5, generator: 0.37 })
  const { kept, discarded } = discardDisturbed([...steady, disturbed])
  t.same(kept, steady)
  t.match(discarded, [
    { repetition: { round: 5 }, reason: /V10: wrk in saturation, round 5, got 0\.37 .* 0\.99/ },
  ])
  t.equal(discardDisturbed([...steady, repetition({ generator: 0.95 })]).discarded.length, 0, 'within 5 %')
  t.equal(discardDisturbed([repetition({}), disturbed]).discarded.length, 0, 'too few peers')
  const paced = [0.2, 0.2, 0.2, 0.1].map((generator) => repetition({ generator, rate: 200 }))
  t.equal(discardDisturbed(paced).discarded.length, 0, 'paced runs need as much CPU as their rate needs')
})

test('the table gives each tool its commonest verdict, and the reason of that verdict', async (t) => {
  const table = verdictTable(
    [
      repetition({ verdict: 'latency invalid' }),
      repetition({ round: 2, verdict: 'latency invalid' }),
      repetition({ round: 3, verdict: 'valid' }),
    ],
    ['hold', 'saturation'],
  )
  t.match(table, /^saturation\n-+\nwrk +latency invalid \(2 of 3\) +closed +reason of latency invalid\n$/)
})

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

const TRUTH = {
  total: { arrivals: 9, completed: 7, aborted: 2, statuses: { '200': 7 } },
  workers: [{ worker: 0, cpuShare: 0.25, lag: {} }],
}
const VERDICT = { verdict: 'valid', loopClass: 'closed', reasons: [], checks: [] }

/** A control listener that says what it was asked, and answers as the real one does; a run is empty at so many looks. */
async function fakeControl(
  t: Test,
  refuse?: string,
  emptyLooks = 0,
): Promise<{ control: LabControl; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const path = request.url ?? ''
    asked.push({ method: request.method!, path, body: text === '' ? null : JSON.parse(text) })
    if (refuse !== undefined && path.endsWith(refuse)) response.writeHead(409)
    const looks = asked.filter((one) => one.method === 'GET' && one.path === '/lab/v1/runs/r1').length
    const answer = path.endsWith('/r1') ? { total: { arrivals: looks < emptyLooks ? 0 : 5 } } : answerTo(path)
    response.end(JSON.stringify(answer))
  })
  return { control: new LabControl(`http://127.0.0.1:${await listen(t, server)}`), asked }
}

function answerTo(path: string): unknown {
  if (path.includes('/clock')) return { monoNs: '1', wallMs: 1 }
  if (path.endsWith('/stop')) return TRUTH
  if (path.includes('/series')) return { steps: [{ atMs: 0 }] }
  if (path.includes('/histogram')) return { points: [[50, 1.5]] }
  if (path.endsWith('/client')) return { ...VERDICT, validity: 'text' }
  return { id: 'r1', startNs: '1' }
}

const toy = (script: string) =>
  toyVariant(script, () => ({ ...TOY_FIGURES, done: 7, statuses: { '2xx': 7 } }))

const stageFor = (t: Test, control: LabControl) => ({
  control,
  origin: 'http://127.0.0.1:1',
  serverPids: null,
  place: toolPlace(t),
  seed: 9,
})

const repeated = (t: Test, control: LabControl, script: string): Promise<Repetition> =>
  runRepetition(toyRun(toy(script), 'hold', 2), stageFor(t, control))

test('a repetition is a run, a fault, a tool, a stop and a report, in this order', async (t) => {
  const { control, asked } = await fakeControl(t)
  const result = await repeated(t, control, 'setTimeout(() => {}, 50)')
  t.same(
    asked.map(({ method, path }) => `${method} ${path.split('?')[0]}`),
    [
      'POST /lab/v1/runs',
      'POST /lab/v1/faults',
      'DELETE /lab/v1/faults',
      'POST /lab/v1/runs/r1/stop',
      'POST /lab/v1/runs/r1/client',
      'GET /lab/v1/runs/r1/series',
      'GET /lab/v1/runs/r1/histogram',
    ],
  )
  t.match(asked[0]?.body, {
    label: 'toy hold round 2',
    expect: { loop: 'closed', connections: 20 },
    delays: 'random',
  })
  t.match(asked[1]?.body, { kind: 'hold', op: 'health', forMs: 1000 })
  const { afterMs } = asked[1]!.body as { afterMs: number }
  t.ok(afterMs >= 3000 && afterMs <= 4000, `the hold begins after ${afterMs} ms`)
  t.match(asked[4]?.body, { tool: 'toy', version: 'toy 1', done: 7, statuses: { '2xx': 7 }, cpuCores: 1 })
  t.match(result, {
    tool: 'toy',
    round: 2,
    verdict: { verdict: 'valid' },
    cpu: { server: 0.25 },
    histograms: {
      client: [{ percentile: 50 }, { percentile: 99 }, { percentile: 100 }],
      server: [{ ms: 1.5 }],
    },
  })
  t.equal(result.failure, undefined)
})

const slow = (script: string): PlannedRun => toyRun({ ...toy(script), overheadS: 1 }, 'hold')

test('the hold of a tool that is slow to start is counted from its first request', async (t) => {
  const { control, asked } = await fakeControl(t, undefined, 3)
  await runRepetition(slow('setTimeout(() => {}, 1000)'), stageFor(t, control))
  t.same(
    asked.slice(0, 5).map(({ method, path }) => `${method} ${path}`),
    [
      'POST /lab/v1/runs',
      'GET /lab/v1/runs/r1',
      'GET /lab/v1/runs/r1',
      'GET /lab/v1/runs/r1',
      'POST /lab/v1/faults',
    ],
  )
})

test('a tool that is slow to start and never sends anything ends its run', async (t) => {
  const { control, asked } = await fakeControl(t, undefined, Number.POSITIVE_INFINITY)
  await runRepetition(slow(''), stageFor(t, control))
  t.ok(asked.some(({ path }) => path.endsWith('/stop')))
})

test('a tool that breaks leaves a marked repetition, a stopped run and no report', async (t) => {
  const { control, asked } = await fakeControl(t)
  const result = await repeated(t, control, 'process.kill(process.pid, "SIGKILL")')
  t.match(result.failure, /killed by SIGKILL/)
  t.match(result.verdict, {
    verdict: 'invalid',
    reasons: [/toy gave no figures that could be judged: it was killed/],
  })
  t.ok(asked.some(({ path }) => path.endsWith('/stop')))
  t.notOk(asked.some(({ path }) => path.endsWith('/client')))
})

test('what the control listener refuses is said with its own words', async (t) => {
  const { control } = await fakeControl(t, '/runs')
  const fault = await repeated(t, control, '').catch((error: unknown) => error)
  t.ok(fault instanceof LabControlFault)
  t.match((fault as Error).message, /POST \/lab\/v1\/runs was answered with 409/)
})

test('a report that the control listener refuses marks its repetition and nothing else', async (t) => {
  const { control } = await fakeControl(t, '/client')
  const result = await repeated(t, control, '')
  t.match(result.failure, /its report was refused: .*409/)
  t.equal(result.verdict.verdict, 'invalid')
})

test('a run whose repetition broke is ended, and its faults are taken away', async (t) => {
  const { control, asked } = await fakeControl(t, '/series?stepMs=100')
  await repeated(t, control, '').catch(() => {})
  t.same(
    asked.slice(-2).map(({ method, path }) => `${method} ${path}`),
    ['DELETE /lab/v1/faults', 'POST /lab/v1/runs/r1/stop'],
  )
})

test('a comparison keeps what it made when the server goes away', async (t) => {
  const { control } = await fakeControl(t, '/series?stepMs=100')
  const one = toyRun(toy(''), 'saturation')
  const plan = { rounds: 1, planned: [one, one], leftOut: [], seconds: 2 }
  const stopping = { asked: false, signal: new AbortController().signal }
  const progress = new Progress(2, { write: () => {} })
  const { repetitions, broken } = await runAllRepetitions(plan, stageFor(t, control), progress, stopping)
  t.equal(repetitions.length, 0)
  t.match(broken, /series.* was answered with 409/)
})

test('a control listener is told from silence', async (t) => {
  const { control } = await fakeControl(t)
  t.equal(await control.answers(), true)
  t.equal(await new LabControl('http://127.0.0.1:1').answers(), false)
})
