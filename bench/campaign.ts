/** Runs scenarios: for each, interleaved rounds of floor and server in alternating order. */
import type { Children } from './children.js'
import type { RoundFigures, SideFigures } from './figures.js'
import type { Progress } from './progress.js'
import type { Scenario } from './scenarios.js'
import { type CampaignSettings, type Side, SluiceSide, startFloor } from './sides.js'

/** What a start, a stop and the messages around a measurement take; only the time estimate uses it. */
const OVERHEAD_SECONDS = 0.5

/** Expected seconds of a scenario, for the time left. */
export function plannedSeconds(scenario: Scenario, settings: CampaignSettings): number {
  const sides = scenario.floor.kind === 'none' ? 1 : 2
  const solo = scenario.itemsVisited === undefined ? 0 : soloSeconds(settings) + OVERHEAD_SECONDS
  return settings.rounds * (sides * sideSeconds(settings) + solo)
}

/** Runs all rounds of one scenario. Throws when a server does not start or leaves while it is measured. */
export async function runScenario(
  scenario: Scenario,
  settings: CampaignSettings,
  children: Children,
  progress: Progress,
): Promise<RoundFigures[]> {
  const ours = new SluiceSide(scenario, settings, children)
  let floor: Side | null = null
  try {
    await ours.start()
    floor = await startFloor(scenario, ours, settings, children)
    const rounds: RoundFigures[] = []
    for (let round = 0; round < settings.rounds; round++) {
      rounds.push(await runRound({ scenario, round, ours, floor, settings, progress }))
    }
    return rounds
  } finally {
    await ours.stop()
    await floor?.stop()
  }
}

interface Round {
  readonly scenario: Scenario
  readonly round: number
  readonly ours: SluiceSide
  readonly floor: Side | null
  readonly settings: CampaignSettings
  readonly progress: Progress
}

async function runRound({ scenario, round, ours, floor, settings, progress }: Round): Promise<RoundFigures> {
  const during = (what: string, seconds: number, measure: () => Promise<SideFigures>) =>
    progress.during(`${scenario.name}, round ${round + 1}/${settings.rounds}, ${what}`, seconds, measure)

  const measureFloor = async () =>
    floor === null ? null : await during('floor', sideSeconds(settings), () => floor.measure())
  const measureSolo = async () => {
    if (scenario.itemsVisited === undefined) return null
    const seconds = soloSeconds(settings)
    return await during('one connection', seconds + OVERHEAD_SECONDS, () => ours.measureSolo(seconds))
  }

  // The order turns round in every second round, so that neither side always meets the warmer machine.
  const floorFirst = round % 2 === 0
  const before = floorFirst ? await measureFloor() : null
  const figures = await during('ours', sideSeconds(settings), () => ours.measure())
  const solo = await measureSolo()
  const after = floorFirst ? null : await measureFloor()
  const order = floorFirst ? (['floor', 'ours'] as const) : (['ours', 'floor'] as const)
  return { order: floor === null ? ['ours'] : order, ours: figures, floor: before ?? after, solo }
}

function sideSeconds(settings: CampaignSettings): number {
  return settings.warmupSeconds + settings.measureSeconds + OVERHEAD_SECONDS
}

function soloSeconds(settings: CampaignSettings): number {
  return Math.max(1, settings.measureSeconds / 2)
}
