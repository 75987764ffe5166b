/** Runs scenarios: for each, interleaved rounds of floor, server and perhaps a peer in alternating order. */

import type { Progress } from '../harness/progress.js'
import type { ChildProcesses } from '../harness/server/child-processes.js'
import { startFederationSides } from './federation/federation-sides.js'
import type { RoundFigures, SideFigures, SideName } from './figures.js'
import { startGatewaySides } from './gateway/gateway-sides.js'
import { startMessagesSides } from './gateway/messages-sides.js'
import type { Scenario } from './scenarios.js'
import { type CampaignSettings, type MeasuredSide, SluiceSide, startFloor } from './sides.js'

/** What a start, a stop and the messages around a measurement take; only the time estimate uses it. */
const OVERHEAD_SECONDS = 0.5

/** Expected seconds of a scenario, for the time left. */
export function plannedSeconds(scenario: Scenario, settings: CampaignSettings): number {
  const peers = scenario.floor.kind === 'relay' && settings.peerProgram !== null ? 1 : 0
  const sides = (scenario.floor.kind === 'none' ? 1 : 2) + peers
  const solo = scenario.itemsVisited === undefined ? 0 : soloSeconds(settings) + OVERHEAD_SECONDS
  return settings.rounds * (sides * sideSeconds(settings) + solo)
}

/** What one scenario measures in each round. */
interface ScenarioSides {
  readonly ours: MeasuredSide
  readonly floor: MeasuredSide | null
  readonly peer: MeasuredSide | null
  /** Measures ours on one connection; null when the scenario asks for no figure per item. */
  readonly solo: ((seconds: number) => Promise<SideFigures>) | null
  stop(): Promise<unknown>
}

/** Runs all rounds of one scenario. Throws when a server does not start or leaves while it is measured. */
export async function runScenario(
  scenario: Scenario,
  settings: CampaignSettings,
  children: ChildProcesses,
  progress: Progress,
): Promise<RoundFigures[]> {
  const sides = await startSides(scenario, settings, children)
  try {
    const rounds: RoundFigures[] = []
    for (let round = 0; round < settings.rounds; round++) {
      rounds.push(await runRound({ scenario, round, sides, settings, progress }))
    }
    return rounds
  } finally {
    await sides.stop()
  }
}

async function startSides(
  scenario: Scenario,
  settings: CampaignSettings,
  children: ChildProcesses,
): Promise<ScenarioSides> {
  const { floor: plan } = scenario
  if (plan.kind === 'jws' || plan.kind === 'key') {
    const sides = await startFederationSides(scenario, plan, settings, children)
    return { ...sides, peer: null, solo: null }
  }
  if (plan.kind === 'chat') {
    return { ...(await startMessagesSides(scenario, plan.model, settings, children)), peer: null, solo: null }
  }
  if (plan.kind === 'relay') {
    return { ...(await startGatewaySides(scenario, settings, children)), solo: null }
  }
  const ours = new SluiceSide(scenario, settings, children)
  await ours.start()
  const floor = await startFloor(scenario, ours, settings, children)
  const stop = async () => {
    await ours.stop()
    await floor?.stop()
  }
  const solo = (seconds: number) => ours.measureSolo(seconds)
  return { ours, floor, peer: null, solo: scenario.itemsVisited === undefined ? null : solo, stop }
}

interface RoundTask {
  readonly scenario: Scenario
  readonly round: number
  readonly sides: ScenarioSides
  readonly settings: CampaignSettings
  readonly progress: Progress
}

async function runRound({ scenario, round, sides, settings, progress }: RoundTask): Promise<RoundFigures> {
  const during = (what: string, seconds: number, measure: () => Promise<SideFigures>) =>
    progress.during(`${scenario.name}, round ${round + 1}/${settings.rounds}, ${what}`, seconds, measure)
  const measured: Partial<Record<SideName, SideFigures>> = {}
  let solo: SideFigures | null = null

  // The order turns round in every second round, so that no side always meets the warmer machine.
  const order = sideOrder(sides, round)
  for (const name of order) {
    measured[name] = await during(name, sideSeconds(settings), () => sides[name]!.measure())
    if (name !== 'ours' || sides.solo === null) continue
    const { solo: measureSolo } = sides
    const seconds = soloSeconds(settings)
    solo = await during('one connection', seconds + OVERHEAD_SECONDS, () => measureSolo(seconds))
  }
  const { ours, floor = null, peer = null } = measured
  return { order, ours: ours!, floor, peer, solo }
}

function sideOrder(sides: ScenarioSides, round: number): SideName[] {
  const order = (['floor', 'ours', 'peer'] as const).filter((name) => sides[name] !== null)
  return round % 2 === 0 ? order : order.reverse()
}

function sideSeconds(settings: CampaignSettings): number {
  return settings.warmupSeconds + settings.measureSeconds + OVERHEAD_SECONDS
}

function soloSeconds(settings: CampaignSettings): number {
  return Math.max(1, settings.measureSeconds / 2)
}
