/**
 * The repetitions of a comparison. Each is a run at the control listener around one run of one tool, and the verdict on
 * what it said.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../../src/base/random.js'
import type { LoadExpectation, LoadToolVerdict, RunSummary } from '../../../src/lab/run-summary.js'
import { costBetween, readCost } from '../../harness/machine/proc.js'
import type { Progress } from '../../harness/progress.js'
import type { Repetition } from '../report/repetition.js'
import { curveOfPercentiles } from '../tools/reading.js'
import { type LabControl, LabControlFault } from './control.js'
import { type ComparisonPlan, type PlannedRun, wallSeconds } from './plan.js'
import { longestSeconds, runTool, type ToolPlace, type ToolRun } from './run-tool.js'
import { serverHeat } from './server-heat.js'

export interface RepetitionContext {
  readonly control: LabControl
  /** Where the load goes. */
  readonly origin: string
  /** Of the server; null when it was not started here. */
  readonly serverPids: readonly number[] | null
  readonly place: ToolPlace
  readonly seed: number
  /** Of the server's gateway, where it is known. */
  readonly key?: string | null
}

/** A tool's own patience where it can be told: longer than anything the server does to it. */
const TIMEOUT_S = 60

/** Throws ControlFault when the control listener fails; the run is then ended as well as it can be. */
export async function runRepetition(planned: PlannedRun, stage: RepetitionContext): Promise<Repetition> {
  const { control } = stage
  const run = await startControlRun(planned, stage)
  const toolEnded = new AbortController()
  try {
    const hold = planHold(planned, stage, run, toolEnded.signal)
    // It may fail while the tool runs; that is told when it is waited for.
    hold.catch(() => {})
    // A hold that waits for the tool is ordered while the tool runs; any other before.
    if (planned.variant.overheadS === undefined) await hold
    const measured = await measureTool(planned, stage).finally(() => toolEnded.abort())
    await hold
    await control.clearFaults()
    const truth = await control.stop(run)
    return await judgeRepetition(planned, stage, run, measured, truth)
  } catch (error) {
    await control.clearFaults().catch(() => {})
    await control.stop(run).catch(() => {})
    throw error
  }
}

const plannedRate = ({ variant, scenario }: PlannedRun): number | null =>
  variant.rate === 'needed' ? scenario.rate : null

const plannedSeed = ({ round }: PlannedRun, { seed }: RepetitionContext): number => seed + round

/** Starts a run at the control listener; resolves to its id. */
function startControlRun(planned: PlannedRun, stage: RepetitionContext): Promise<string> {
  const { scenario, variant, round, seconds } = planned
  return stage.control.start({
    label: `${variant.name} ${scenario.name} round ${round}`,
    expect: expectedLoad(planned, plannedRate(planned)),
    // It is stopped when the tool has ended, at the latest when the runner would have stopped the tool.
    measureS: longestSeconds(seconds) + 10,
    seed: plannedSeed(planned, stage),
    delays: scenario.delays,
  })
}

type MeasuredToolRun = Awaited<ReturnType<typeof measureTool>>

async function measureTool(planned: PlannedRun, stage: RepetitionContext) {
  const { scenario, variant, installed, seconds } = planned
  const job = {
    url: new URL(scenario.path, stage.origin),
    connections: scenario.connections,
    seconds,
    rate: plannedRate(planned),
    timeoutS: variant.fixedTimeoutS ?? TIMEOUT_S,
    seed: plannedSeed(planned, stage),
    ...(stage.key && { key: stage.key }),
  }
  const serverCpuMs = () => (stage.serverPids === null ? null : readCost(stage.serverPids)?.cpuMs)
  const serverBefore = serverCpuMs()
  const ran = await runTool(variant, installed.program, job, stage.place)
  const serverMs = costBetween(serverBefore, serverCpuMs())
  return {
    ran,
    /** Cores that the server kept busy; null when its processes are not known here. */
    serverShare: serverMs === null ? null : serverMs / 1000 / ran.wallS,
  }
}

async function judgeRepetition(
  planned: PlannedRun,
  { control }: RepetitionContext,
  run: string,
  { ran, serverShare }: MeasuredToolRun,
  truth: RunSummary,
): Promise<Repetition> {
  const { scenario, variant, round } = planned
  const report = clientReportOf(planned, ran, plannedRate(planned))
  const generator = ran.cpuShare ?? 0
  const server = serverShare ?? truth.workers.reduce((sum, { cpuShare }) => sum + cpuShare, 0)
  const { verdict, failure } = await verdictOn(variant.name, ran, truth, () => control.post(run, report))
  const own = curveOfPercentiles(report.percentiles, report.max)
  const heat = ran.figures?.heat ?? (await serverHeat(control, run, scenario.operation, truth))
  return {
    tool: variant.name,
    round,
    scenario: scenario.name,
    report,
    truth,
    series: await control.series(run),
    histograms: {
      client: ran.figures === null ? [] : (ran.figures.curve ?? own),
      server: (await control.serviceTimes(run, scenario.operation)).points,
    },
    verdict,
    argv: ran.argv,
    cpu: { generator, server },
    ...(heat && { heat }),
    ...(ran.figures?.streams && { streams: ran.figures.streams }),
    ...(failure !== null && { failure }),
  }
}

/** A tool without figures, or with figures that no run can have, is not judged but marked. */
async function verdictOn(
  tool: string,
  ran: ToolRun,
  truth: RunSummary,
  post: () => Promise<LoadToolVerdict>,
): Promise<{ verdict: LoadToolVerdict; failure: string | null }> {
  const broken = (failure: string) => ({ verdict: brokenVerdict(tool, failure), failure })
  if (ran.failure !== null) return broken(`${ran.failure}; ${whatServerSaw(truth)}`)
  try {
    return { verdict: await post(), failure: null }
  } catch (error) {
    if (!(error instanceof LabControlFault) || error.status === null || error.status >= 500) throw error
    return broken(`its report was refused: ${error.message}`)
  }
}

/** The server's side of a run without figures. */
function whatServerSaw({ total, connections }: RunSummary): string {
  if (total.arrivals > 0)
    return `the server read ${total.arrivals} requests, answered ${total.completed}, and ${total.aborted} were given up`
  return connections.opened === 0
    ? 'it never connected to the server'
    : `the server had ${connections.opened} connections of it and no request on them that it takes: it answers what is HTTP/1.0 or malformed with 505 and closes`
}

function expectedLoad({ scenario, variant }: PlannedRun, rate: number | null): LoadExpectation {
  const pattern = variant.name === 'drive-poisson' ? 'poisson' : 'constant'
  if (rate !== null) {
    // An open loop opens as many connections as it needs.
    return {
      loop: 'open',
      rate,
      pattern,
      ...(variant.loop === 'closed' && { connections: scenario.connections }),
    }
  }
  return { loop: 'closed', connections: scenario.connections }
}

const FIRST_REQUEST_POLL_MS = 100

/** Resolves when the run has its first request, or when `ended` is aborted before. */
async function firstRequest(control: LabControl, run: string, ended: AbortSignal): Promise<void> {
  while (!ended.aborted && (await control.arrivals(run)) === 0) await sleep(FIRST_REQUEST_POLL_MS)
}

/**
 * The hold begins at another phase in every round, so that no tool is lucky by its rhythm: counted from the begin of the
 * run, or from the first request of a tool that is slow to start.
 */
async function planHold(
  { scenario, round, variant }: PlannedRun,
  { control, seed }: RepetitionContext,
  run: string,
  ended: AbortSignal,
) {
  if (scenario.hold === undefined) return
  if (variant.overheadS !== undefined) await firstRequest(control, run, ended)
  const [from, to] = scenario.hold.afterS
  const afterS = from + (to - from) * seededRandom(seed + 1_000 * round)()
  await control.plan({
    kind: 'hold',
    op: scenario.operation,
    afterMs: Math.round(afterS * 1000),
    forMs: scenario.hold.forS * 1000,
  })
}

function clientReportOf({ variant, installed, scenario }: PlannedRun, ran: ToolRun, rate: number | null) {
  const common = {
    tool: variant.name,
    version: installed.version,
    argv: ran.argv,
    loop: variant.loop,
    connections: scenario.connections,
    ...(rate !== null && { rate }),
    pipelining: 1,
    cpuCores: 1,
    wallS: ran.wallS,
    cpuShare: ran.cpuShare ?? 0,
    ...(ran.cpuShare !== null && { cpuS: ran.cpuShare * ran.wallS }),
  }
  if (ran.figures === null) {
    return {
      ...common,
      durationS: ran.wallS,
      done: 0,
      errors: {},
      statuses: {},
      rps: 0,
      percentiles: {},
      quantum: 1,
    }
  }
  const { curve: _curve, heat: _heat, streams: _streams, busyShare, ...figures } = ran.figures
  return {
    ...common,
    ...figures,
    ...common,
    connections: figures.connections ?? scenario.connections,
    // A driver that watches the clock between its requests uses a core without being short of one.
    cpuShare: busyShare ?? common.cpuShare,
  }
}

function brokenVerdict(tool: string, failure: string): LoadToolVerdict {
  return {
    verdict: 'invalid',
    loopClass: 'unknown',
    reasons: [`${tool} gave no figures that could be judged: ${failure}`],
    checks: [],
  }
}

/** Whether the end was asked for. */
export interface StopRequest {
  asked: boolean
  /** Aborted when it is: ends the tool that runs. */
  readonly signal: AbortSignal
}

/**
 * Makes the planned repetitions, one after the other, until they are done, or somebody asks for the end, or the
 * server goes away. What was made stands, whatever ends it.
 */
export async function runAllRepetitions(
  plan: ComparisonPlan,
  stage: RepetitionContext,
  progress: Progress,
  stopping: StopRequest,
) {
  const repetitions: Repetition[] = []
  for (const [index, planned] of plan.planned.entries()) {
    if (stopping.asked) break
    const { round, scenario, variant } = planned
    const label = `${index + 1} of ${plan.planned.length}, round ${round}: ${variant.name} in ${scenario.name}`
    try {
      const repetition = await progress.during(label, wallSeconds(planned), () =>
        runRepetition(planned, stage),
      )
      // Interrupted in the middle: the tool was stopped with it, so there is nothing to judge.
      if (stopping.asked) break
      repetitions.push(repetition)
      reportFailure(repetition, progress)
    } catch (error) {
      if (!(error instanceof LabControlFault)) throw error
      progress.clear()
      process.stderr.write(`bench: ${error.message}\n`)
      return { repetitions, broken: error.message }
    }
  }
  return {
    repetitions,
    /** Why the rest was not made, in a sentence; null when all was, or when the end was asked for. */
    broken: null,
  }
}

function reportFailure({ tool, scenario, failure }: Repetition, progress: Progress): void {
  if (failure === undefined) return
  progress.clear()
  process.stderr.write(`bench: ${tool} in ${scenario}: ${failure}\n`)
}
