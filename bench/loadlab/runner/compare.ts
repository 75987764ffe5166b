/** `npm run bench -- compare`: every installed tool, in random order, against the server that knows the truth. */
import { coresOfOthers, foreignLimit } from '../../../src/lab/verdict/evidence.js'
import { HttpLoad } from '../../harness/http/http-load.js'
import { renderRequest, resolveDestination } from '../../harness/http/requests.js'
import { describeMachine, describeSource, systemLimits } from '../../harness/machine/machine.js'
import { coresOfList, type Pinning, planPinning } from '../../harness/machine/pinning.js'
import { UsageError } from '../../harness/option-values.js'
import { Progress } from '../../harness/progress.js'
import { newReportFolder, openWorkplace, PROJECT_FOLDER, reportName } from '../../harness/project.js'
import type { ChildProcesses } from '../../harness/server/child-processes.js'
import { API_KEY } from '../../performance/gateway/calls.js'
import { INTERRUPTED } from '../drivers/running.js'
import { conclusion } from '../report/conclusion.js'
import type { ComparisonRun, Repetition, ToolRecord } from '../report/repetition.js'
import { summarizeRun } from '../report/summary.js'
import { findTool, type InstalledTool, TOOLS } from '../tools/catalogue.js'
import { discardDisturbed } from './discard.js'
import { type LabServer, runningServer, startLabServer } from './lab-server.js'
import { type CompareOptions, compareUsage, readCompareOptions } from './options.js'
import { type ComparisonPlan, planComparison } from './plan.js'
import { type RepetitionContext, runAllRepetitions, type StopRequest } from './repetition.js'
import { COMPARE_SCENARIOS } from './scenarios.js'
import { planSweep, runSweep } from './sweep.js'
import { verdictTable } from './table.js'

const WARMUP_S = 2
const WARMUP_RULE = `the server is warmed up once, ${WARMUP_S} s of load before the first run; every tool starts cold, as its users start it`

/** Runs the command; resolves to the exit code. */
export async function compareCommand(args: readonly string[]): Promise<number> {
  const options = readCompareOptions(args)
  if (options === null) {
    process.stdout.write(compareUsage)
    return 0
  }
  const { installed, records } = findTools(options)
  const { tempFolder, children } = openWorkplace('compare')
  const stopping = stopOnSignal()
  const server = await connectLabServer(options, children, tempFolder)
  try {
    const context = { options, args, installed, records, server, children, tempFolder, stopping }
    const run = await runComparison(context)
    if (run.repetitions.length === 0) throw new Error('nothing was measured')
    // Loaded late: it brings a plotting library that measuring must not wait for.
    const { writeReport } = await import('../report/write-report.js')
    const folder = newReportFolder(run.id)
    writeReport(run, folder)
    process.stdout.write(closingText(run, folder))
    return stopping.asked ? INTERRUPTED : 0
  } finally {
    await server.stop()
    await children.stopAll()
  }
}

interface ComparisonContext {
  readonly options: CompareOptions
  readonly args: readonly string[]
  readonly installed: readonly InstalledTool[]
  readonly records: readonly ToolRecord[]
  readonly server: LabServer
  readonly children: ChildProcesses
  readonly tempFolder: string
  readonly stopping: StopRequest
}

async function runComparison(comparison: ComparisonContext): Promise<ComparisonRun> {
  const { options, server, children, tempFolder, stopping, installed } = comparison
  const pinning = planPinning(1)
  const scenarios = COMPARE_SCENARIOS.filter(
    ({ name, needsKey }) =>
      options.scenarios.includes(name) && !(needsKey && (options.quick || server.key === null)),
  )
  const plan = planComparison({
    tools: installed,
    scenarios,
    rounds: options.rounds,
    quick: options.quick,
    seed: options.seed,
  })
  if (plan.planned.length === 0) throw new UsageError('none of these tools can do any of these scenarios')
  const startedAt = new Date().toISOString()
  const machine = describeMachine(tempFolder)
  const stage: RepetitionContext = {
    control: server.control,
    origin: server.origin,
    serverPids: server.pids,
    key: server.key,
    place: { cores: pinning.generatorCores, children, tempFolder, signal: stopping.signal },
    seed: options.seed,
  }
  const sweepPlan = options.sweep ? planSweep(options.quick) : null
  const seconds = plan.seconds + (sweepPlan?.seconds ?? 0) + WARMUP_S
  announcePlan(plan, seconds, options, server)
  const progress = new Progress(seconds, process.stderr)
  await progress.during('warming the server up', WARMUP_S, () => warmUpServer(server))
  const { repetitions, broken } = await runAllRepetitions(plan, stage, progress, stopping)
  const sweep =
    sweepPlan === null || stopping.asked || broken !== null
      ? null
      : await runSweep(sweepPlan, server.origin, stage.place, options.seed, progress, () => stopping.asked)
  progress.clear()
  for (const { reason } of discardDisturbed(repetitions).discarded)
    process.stderr.write(`bench: discarded before any result was looked at: ${reason}\n`)
  return {
    id: `${reportName(startedAt)}-compare`,
    startedAt,
    finishedAt: new Date().toISOString(),
    command: ['npm run bench -- compare', ...comparison.args].join(' '),
    machine,
    source: describeSource(PROJECT_FOLDER),
    pinning: server.pids === null ? { ...pinning, serverCores: coresOfServer(repetitions) } : pinning,
    warnings: [
      ...busyWarnings(repetitions),
      ...sharedCoreWarnings(repetitions, pinning),
      ...pinning.warnings,
      ...planWarnings(plan, options, stopping, broken),
    ],
    server: {
      argv: server.argv,
      workers: server.workers || (repetitions[0]?.truth.workers.length ?? 0),
      recording: true,
    },
    limits: systemLimits(),
    tools: comparison.records,
    rounds: plan.rounds,
    warmupRule: WARMUP_RULE,
    measureSeconds: Math.max(...plan.planned.map(({ seconds }) => seconds)),
    orderSeed: options.seed,
    order: runOrder(plan),
    scenarios: scenarios.map(({ name, says }) => ({ name, says })),
    repetitions,
    ...(sweep !== null && { sweeps: [sweep] }),
  }
}

function findTools(options: CompareOptions): { installed: InstalledTool[]; records: ToolRecord[] } {
  const installed: InstalledTool[] = []
  const records: ToolRecord[] = []
  for (const tool of TOOLS.filter(({ name }) => options.tools.includes(name))) {
    const found = findTool(tool)
    if (found === null && options.toolsAsked)
      throw new UsageError(`--tools: ${tool.name} is not installed here`)
    const note = found === null ? 'not installed' : (tool.unusable?.() ?? undefined)
    records.push({ tool: tool.name, version: found?.version ?? null, ...(note !== undefined && { note }) })
    if (found !== null && note === undefined) installed.push(found)
  }
  return { installed, records }
}

async function connectLabServer(options: CompareOptions, children: ChildProcesses, tempFolder: string) {
  if (options.running !== null) return runningServer(options.running.origin, options.running.control)
  const environment = { SLUICE_API_KEY: API_KEY }
  return await startLabServer(children, planPinning(1), tempFolder, environment)
}

/** Both operations, so that neither meets cold code in the first repetition. */
async function warmUpServer({ origin }: LabServer): Promise<void> {
  for (const { path } of COMPARE_SCENARIOS.slice(0, 2)) {
    const url = new URL(path, origin)
    const request = renderRequest({ method: 'GET', route: path, path }, 0, url.host)
    await new HttpLoad({
      to: await resolveDestination(url),
      schedule: null,
      seconds: WARMUP_S / 2,
      connections: 16,
      mostConnections: 16,
      timeoutMs: 10_000,
      kinds: [path],
      request: () => request,
    }).run()
  }
}

function runOrder({ rounds, planned }: ComparisonPlan): string[][] {
  return Array.from({ length: rounds }, (_, i) =>
    planned
      .filter(({ round }) => round === i + 1)
      .map(({ variant, scenario }) => `${variant.name} in ${scenario.name}`),
  )
}

/** Programs outside of the comparison make tools look slow and late: the report has to say so first. */
function busyWarnings(repetitions: readonly Repetition[]): string[] {
  const disturbed = repetitions.flatMap(({ truth, report }) => {
    const cores = coresOfOthers(truth, report) ?? 0
    return cores > foreignLimit(truth) ? [cores] : []
  })
  if (disturbed.length === 0) return []
  const most = Math.max(...disturbed).toFixed(2)
  return [
    `the machine was busy: other programs used its cores in ${disturbed.length} of ${repetitions.length} repetitions, up to ${most} cores; what depends on that is not judged, run again on a quiet machine`,
  ]
}

/** A server that was started elsewhere says itself on which cores it may run. */
const coresOfServer = ([first]: readonly Repetition[]): number[] =>
  coresOfList(String(first?.truth.environment.affinity ?? ''))

function sharedCoreWarnings(repetitions: readonly Repetition[], { generatorCores }: Pinning): string[] {
  const cores = coresOfServer(repetitions)
  if (generatorCores === null || !cores.includes(generatorCores[0]!)) return []
  return [
    `the server may use cores ${cores.join(', ')}, the generator's among them, so they disturb each other: start it with taskset -c 0, or let the comparison start its own`,
  ]
}

function planWarnings(
  plan: ComparisonPlan,
  { quick, rounds }: CompareOptions,
  { asked }: StopRequest,
  broken: string | null,
): string[] {
  const few = rounds < 6 && !quick
  return [
    quick &&
      `a quick comparison: ${rounds === 1 ? 'one round' : `${rounds} rounds`} of short runs give a first impression, no interval`,
    few && `${rounds} rounds are fewer than the 6 that an interval for the median needs`,
    asked && 'interrupted: not every planned repetition was made',
    broken !== null && `not every planned repetition was made: ${broken}`,
    ...plan.leftOut.map((what) => `left out: ${what}`),
  ].filter((warning) => warning !== false)
}

function announcePlan(
  { planned, rounds, leftOut }: ComparisonPlan,
  seconds: number,
  { seed, quick }: CompareOptions,
  server: LabServer,
): void {
  const minutes = Math.ceil(seconds / 60)
  process.stderr.write(
    `bench: ${planned.length} repetitions in ${rounds} round(s), about ${minutes} min; order by seed ${seed}; server ${
      server.pids === null ? `at ${server.origin}, already running` : 'started here'
    }${quick ? '; quick: a first impression, no result' : ''}\nbench: watch it at ${server.control.origin}/lab\n`,
  )
  for (const what of leftOut) process.stderr.write(`bench: left out: ${what}\n`)
}

/** The conclusion first, then what to know before it is believed, then every verdict. */
function closingText(run: ComparisonRun, folder: string): string {
  const { scenarios } = summarizeRun(run)
  const missing = run.tools.flatMap(({ tool, note }) => (note === undefined ? [] : [`${tool} (${note})`]))
  const table = verdictTable(
    discardDisturbed(run.repetitions).kept,
    scenarios.map(({ name }) => name),
  )
  return [
    `\n${conclusion(scenarios)}\n`,
    ...run.warnings.map((warning) => `! ${warning}\n`),
    `\n${table}\n`,
    missing.length === 0 ? '' : `Not compared: ${missing.join('; ')}\n`,
    `The report with the two numbers behind every verdict: ${folder}\n`,
  ].join('')
}

/** Ctrl-C ends the tool that runs and then the comparison; a second one ends the program. */
function stopOnSignal(): StopRequest {
  const controller = new AbortController()
  const stopping: StopRequest = { asked: false, signal: controller.signal }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping.asked) process.exit(INTERRUPTED)
      stopping.asked = true
      controller.abort()
      process.stderr.write('\nbench: interrupted, reporting what was measured so far\n')
    })
  }
  return stopping
}
