/** Throughput against latency: one CPU-bound operation at rising shares of its capacity, driven by our open loop. */
import type { Progress } from '../../harness/progress.js'
import type { Sweep, SweepPoint } from '../report/repetition.js'
import { driveArgv, parseDrive } from '../tools/own-drivers.js'
import { sumCounts } from '../tools/reading.js'
import type { ToolVariant } from '../tools/tool.js'
import { OVERHEAD_S } from './plan.js'
import { runTool, type ToolPlace } from './run-tool.js'

const PATH = '/api/v1/hash'
/** Some milliseconds of work: rates stay where our driver sends in time. */
const BODY = JSON.stringify({ data: 'sweep', rounds: 10_000 })
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1]
const QUICK_SHARES = [0.2, 0.5, 0.7, 0.9, 1.1]
const CONNECTIONS = 8
const TIMEOUT_S = 30
const SWEEP_LIMIT_MS = 50

type SweepPlan = ReturnType<typeof planSweep>

export function planSweep(quick: boolean) {
  const shares = quick ? QUICK_SHARES : SHARES
  const stepS = quick ? 2 : 5
  return { shares, stepS, seconds: (shares.length + 1) * (stepS + OVERHEAD_S) }
}

/** Null when the capacity could not be measured. `stopped` is asked before every step. */
export async function runSweep(
  plan: SweepPlan,
  origin: string,
  place: ToolPlace,
  seed: number,
  progress: Progress,
  stopped: () => boolean,
): Promise<Sweep | null> {
  const job = {
    url: new URL(PATH, origin),
    connections: CONNECTIONS,
    seconds: plan.stepS,
    timeoutS: TIMEOUT_S,
    seed,
  }
  const step = (label: string, rate: number | null) =>
    progress.during(`sweep of ${PATH}: ${label}`, plan.stepS + OVERHEAD_S, () =>
      runTool(hashVariant(rate === null ? 'closed' : 'poisson'), '', { ...job, rate }, place),
    )
  const ceiling = await step('its capacity', null)
  if (ceiling.figures === null) return null
  const capacity = ceiling.figures.rps
  const points: SweepPoint[] = []
  for (const share of plan.shares) {
    if (stopped()) break
    const target = capacity * share
    const { figures } = await step(`${Math.round(share * 100)} % of ${capacity.toFixed(0)}/s`, target)
    if (figures === null) continue
    const { p50 = 0, p99 = 0 } = figures.percentiles
    const refused = Object.entries(figures.statuses).filter(([status]) => Number(status) >= 400)
    const errors = sumCounts(figures.errors) + sumCounts(Object.fromEntries(refused))
    points.push({ target, achieved: figures.rps, p50, p99, errors })
  }
  return {
    scenario: `POST ${PATH}, 10,000 rounds, Poisson arrivals`,
    capacity,
    limitMs: SWEEP_LIMIT_MS,
    points,
  }
}

function hashVariant(pattern: 'closed' | 'poisson'): ToolVariant {
  const request = ['--method', 'POST', '--header', 'Content-Type: application/json', '--body', BODY]
  return {
    name: 'sweep',
    says: '',
    loop: pattern === 'closed' ? 'closed' : 'open',
    rate: 'needed',
    command: (job) => ({ argv: driveArgv(pattern, job, request) }),
    parse: parseDrive,
  }
}
