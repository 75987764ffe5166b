/** Runs scenarios: for each, interleaved rounds of floor, server and perhaps a peer in alternating order. */
import { describeSource } from '../harness/machine/machine.js'
import { planPinning } from '../harness/machine/pinning.js'
import { UsageError } from '../harness/option-values.js'
import { Progress } from '../harness/progress.js'
import { builtServer, openWorkplace, PROJECT_FOLDER } from '../harness/project.js'
import type { ChildProcesses } from '../harness/server/child-processes.js'
import { wrkVersion } from './drive-wrk.js'
import { startFederationSides } from './federation/federation-sides.js'
import { startGatewaySides, startMessagesSides } from './gateway/gateway-sides.js'
import { installPeer } from './gateway/peer.js'
import { type DriverName, errorTotal, type RoundFigures, type SideFigures, type SideName } from './job.js'
import type { BenchOptions } from './options.js'
import { type Scenario, scenarios } from './scenarios.js'
import { type CampaignSettings, type ScenarioRun, type ScenarioSides, startPlainSides } from './sides.js'

const INTERRUPTED = 130

type RoundsByScenario = Record<string, RoundFigures[]>
/** Measures scenarios by name, one after the other. */
type MeasureScenarios = (names: readonly string[], rounds?: number) => Promise<RoundsByScenario>

/**
 * Gives `work` what it needs to measure; whatever it started ends with it, however this program ends. Throws `UsageError`
 * when the generator is not installed, and what a start throws.
 */
export async function withCampaign<T>(
  options: BenchOptions,
  work: (settings: CampaignSettings, measure: MeasureScenarios) => Promise<T>,
): Promise<T> {
  const toolVersion = generatorVersion(options)
  const serverProgram = builtServer()
  const { tempFolder, children } = openWorkplace('bench')
  // Children keep their own temporary files in there too, so one removal leaves nothing behind.
  process.env.TMPDIR = tempFolder
  stopOnSignal(children)
  try {
    const pinning = planPinning(options.workers)
    const peerProgram = options.peer ? peerOf(options) : null
    const settings = { ...options, toolVersion, pinning, serverProgram, tempFolder, peerProgram }
    return await work(settings, (names, rounds = options.rounds) =>
      measureScenarios(names, { ...settings, rounds }, children),
    )
  } finally {
    await children.stopAll()
  }
}

/** Who has not asked for another gateway, but for the short table, gets that without it where it cannot be had. */
function peerOf({ quick }: BenchOptions): string | null {
  try {
    return installPeer()
  } catch (error) {
    if (!quick) throw error
    process.stderr.write(`bench: without a peer: ${(error as Error).message}\n`)
    return null
  }
}

async function measureScenarios(
  names: readonly string[],
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<RoundsByScenario> {
  const chosen = scenarios.filter(({ name }) => names.includes(name))
  const total = chosen.reduce((sum, scenario) => sum + plannedSeconds(scenario, settings), 0)
  const progress = new Progress(total, process.stderr)
  const rounds: RoundsByScenario = {}
  for (const scenario of chosen)
    rounds[scenario.name] = await runScenario({ scenario, settings, children }, progress)
  progress.clear()
  return rounds
}

/** The generator with its version, as the report names it. Throws `UsageError` when it is not installed. */
function generatorVersion(options: BenchOptions): string {
  if (options.generator === 'autocannon') {
    return `autocannon ${describeSource(PROJECT_FOLDER).libraries.autocannon ?? ''}, latencies from its response event`
  }
  const version = wrkVersion()
  if (version === null) throw new UsageError('--generator wrk: there is no wrk on the PATH')
  return version
}

function stopOnSignal(children: ChildProcesses): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.stderr.write('\nbench: interrupted, stopping what was started\n')
      void children.stopAll().finally(() => process.exit(INTERRUPTED))
    })
  }
}

/** A round without a single reply is as little a result as one with failures. */
export function hasErrors({ ours, floor, peer, solo }: RoundFigures): boolean {
  if (ours.completed === 0) return true
  return [ours, floor, peer, solo].some((side) => side !== null && errorTotal(side) > 0)
}

/** What a start, a stop and the messages around a measurement take; only the time estimate uses it. */
const OVERHEAD_SECONDS = 0.5

/**
 * The engine compiles in the first seconds of a load: each side has this much of it before anything counts. A server
 * that starts anew in each round never gets there, and its floor does not either.
 */
const FIRST_LOAD_SECONDS = 2

const FIRST_LOAD_CALLERS = 32

const hasFirstLoad = ({ freshStoreEachRound }: Scenario): boolean => freshStoreEachRound !== true

/** Expected seconds of a scenario, for the time left. */
function plannedSeconds(scenario: Scenario, settings: CampaignSettings): number {
  const peers = scenario.floor.kind === 'relay' && settings.peerProgram !== null ? 1 : 0
  const sides = (scenario.floor.kind === 'none' ? 1 : 2) + peers
  const solo = scenario.itemsVisited === undefined ? 0 : soloSeconds(settings) + OVERHEAD_SECONDS
  const first = hasFirstLoad(scenario) ? sides * (FIRST_LOAD_SECONDS + OVERHEAD_SECONDS) : 0
  return first + settings.rounds * (sides * sideSeconds(settings) + solo)
}

/** Runs all rounds of one scenario. Throws when a server does not start or leaves while it is measured. */
async function runScenario(run: ScenarioRun, progress: Progress): Promise<RoundFigures[]> {
  const sides = await startSides(run)
  try {
    if (hasFirstLoad(run.scenario)) await firstLoads(run, sides, progress)
    const rounds: RoundFigures[] = []
    while (rounds.length < run.settings.rounds)
      rounds.push(await runRound(run, sides, rounds.length, progress))
    return rounds
  } finally {
    await sides.stop()
  }
}

async function firstLoads({ scenario, settings }: ScenarioRun, sides: ScenarioSides, progress: Progress) {
  const load = {
    warmupSeconds: 0,
    measureSeconds: FIRST_LOAD_SECONDS,
    // One caller who waits for each answer would take minutes to have everything compiled.
    ...(scenario.pairs === true && {
      tool: crowdDriver(scenario, settings),
      connections: FIRST_LOAD_CALLERS,
    }),
  }
  for (const name of ['floor', 'ours', 'peer'] as const) {
    const side = sides[name]
    const seconds = FIRST_LOAD_SECONDS + OVERHEAD_SECONDS
    if (side !== undefined)
      await progress.during(`${scenario.name}, first load, ${name}`, seconds, () => side(load))
  }
}

function crowdDriver({ requests }: Scenario, { generator }: CampaignSettings): DriverName {
  return requests[0]?.answer?.kind === 'stream' ? 'streams' : generator
}

function startSides(run: ScenarioRun): Promise<ScenarioSides> {
  const { floor } = run.scenario
  if (floor.kind === 'jws' || floor.kind === 'key') return startFederationSides(run, floor)
  if (floor.kind === 'chat') return startMessagesSides(run, floor)
  return floor.kind === 'relay' ? startGatewaySides(run) : startPlainSides(run)
}

async function runRound(
  { scenario, settings }: ScenarioRun,
  sides: ScenarioSides,
  round: number,
  progress: Progress,
): Promise<RoundFigures> {
  const during = (what: string, seconds: number, measure: () => Promise<SideFigures>) =>
    progress.during(`${scenario.name}, round ${round + 1}/${settings.rounds}, ${what}`, seconds, measure)
  const measured: Partial<Record<SideName, SideFigures>> = {}
  let solo: SideFigures | null = null

  // The order turns round in every second round, so that no side always meets the warmer machine.
  const order = (['floor', 'ours', 'peer'] as const).filter((name) => sides[name] !== undefined)
  if (round % 2 === 1) order.reverse()
  for (const name of order) {
    measured[name] = await during(name, sideSeconds(settings), () => sides[name]!())
    const measureSolo = sides.solo
    if (name !== 'ours' || measureSolo === undefined) continue
    const seconds = soloSeconds(settings)
    solo = await during('one connection', seconds + OVERHEAD_SECONDS, () => measureSolo(seconds))
  }
  const { ours, floor = null, peer = null } = measured
  return { order, ours: ours!, floor, peer, solo }
}

function sideSeconds(settings: CampaignSettings): number {
  return settings.warmupSeconds + settings.durationSeconds + OVERHEAD_SECONDS
}

const soloSeconds = (settings: CampaignSettings): number => Math.max(1, settings.durationSeconds / 2)
