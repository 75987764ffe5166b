/** Runs scenarios: for each, interleaved rounds of floor, server and perhaps a peer in alternating order. */

import type { Progress } from '../harness/progress.js'
import { startFederationSides } from './federation/federation-sides.js'
import { startGatewaySides, startMessagesSides } from './gateway/gateway-sides.js'
import type { DriverName, RoundFigures, SideFigures, SideName } from './job.js'
import type { Scenario } from './scenarios.js'
import { type CampaignSettings, type ScenarioRun, type ScenarioSides, startPlainSides } from './sides.js'

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
export function plannedSeconds(scenario: Scenario, settings: CampaignSettings): number {
  const peers = scenario.floor.kind === 'relay' && settings.peerProgram !== null ? 1 : 0
  const sides = (scenario.floor.kind === 'none' ? 1 : 2) + peers
  const solo = scenario.itemsVisited === undefined ? 0 : soloSeconds(settings) + OVERHEAD_SECONDS
  const first = hasFirstLoad(scenario) ? sides * (FIRST_LOAD_SECONDS + OVERHEAD_SECONDS) : 0
  return first + settings.rounds * (sides * sideSeconds(settings) + solo)
}

/** Runs all rounds of one scenario. Throws when a server does not start or leaves while it is measured. */
export async function runScenario(run: ScenarioRun, progress: Progress): Promise<RoundFigures[]> {
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
