/** Who runs when: every variant once per scenario and round, in an order drawn from a seed. */
import { shuffled } from '../../harness/figures/sequence.js'
import type { InstalledTool } from '../tools/catalogue.js'
import type { ToolVariant } from '../tools/tool.js'
import type { CompareScenario } from './scenarios.js'

export interface PlannedRun {
  /** From 1. */
  readonly round: number
  readonly scenario: CompareScenario
  readonly installed: InstalledTool
  readonly variant: ToolVariant
  readonly seconds: number
}

export type ComparisonPlan = ReturnType<typeof planComparison>

interface PlanRequest {
  readonly tools: readonly InstalledTool[]
  readonly scenarios: readonly CompareScenario[]
  readonly rounds: number
  readonly quick: boolean
  readonly seed: number
}

/** Starting a tool and a run, stopping and reading them. */
export const OVERHEAD_S = 1.5
/** What a quick comparison may take, so that it ends within six minutes with the build and the start of the server. */
export const QUICK_BUDGET_S = 330

/** The order of a quick comparison's sacrifices: the least telling scenario goes first. */
const SACRIFICES = ['uniform', 'rate', 'saturation', 'long-outage']

export function planComparison(wish: PlanRequest) {
  let scenarios = wish.scenarios
  const leftOut: string[] = []
  for (const name of wish.quick ? SACRIFICES : []) {
    if (plannedSeconds(planRound(wish, scenarios, 1)) <= QUICK_BUDGET_S || scenarios.length === 1) break
    if (!scenarios.some((scenario) => scenario.name === name)) continue
    scenarios = scenarios.filter((scenario) => scenario.name !== name)
    leftOut.push(`scenario ${name}, to keep a quick comparison within six minutes`)
  }
  const planned = Array.from({ length: wish.rounds }, (_, i) => planRound(wish, scenarios, i + 1)).flat()
  return {
    rounds: wish.rounds,
    planned,
    /** What was left out to keep the time, in words; empty when nothing was. */
    leftOut,
    seconds: plannedSeconds(planned),
  }
}

function planRound(
  { tools, quick, seed }: PlanRequest,
  scenarios: readonly CompareScenario[],
  number: number,
): PlannedRun[] {
  const all = scenarios.flatMap((scenario) =>
    tools.flatMap((installed) =>
      installed.tool.variants
        .filter((variant) => scenario.takes(variant))
        .map((variant): PlannedRun => {
          const { seconds: whole, quickSeconds = whole } = scenario
          const seconds = Math.max(variant.leastSeconds ?? 0, quick ? quickSeconds : whole)
          return { round: number, scenario, installed, variant, seconds }
        }),
    ),
  )
  return shuffled(all, seed + number)
}

/** What a planned run takes with the start and the end of its tool. */
export const wallSeconds = ({ seconds, variant }: PlannedRun): number =>
  seconds + (variant.overheadS ?? OVERHEAD_S)

function plannedSeconds(planned: readonly PlannedRun[]): number {
  return planned.reduce((sum, run) => sum + wallSeconds(run), 0)
}
