/** Whether a profile's results are good enough, by its own criteria. */
import type { DriveReport } from '../drivers/drive-report.js'
import type { GatewayCriterion, GatewayFigure, PracticeCriterion, PracticeProfile } from './profile.js'
import type { CallResult, GatewayResult } from './run-gateway.js'
import { type PracticeResult, serverFailures } from './run-practice.js'

export interface CriterionResult {
  /** What was wanted, in words. */
  readonly wanted: string
  /** Null: the figure is not there. */
  readonly value: number | null
  readonly met: boolean
}

interface FigureBounds {
  readonly min?: number
  readonly max?: number
}

export function judgePractice(
  passes: readonly PracticeCriterion[],
  results: readonly PracticeResult[],
): CriterionResult[] {
  return passes.flatMap((criterion) =>
    results
      .filter(({ label }) => criterion.stage === label || (criterion.stage === '*' && label !== 'capacity'))
      .map((result) => {
        const value = practiceFigure(criterion, result)
        const what =
          criterion.kind === undefined ? criterion.figure : `${criterion.figure} of ${criterion.kind}`
        return criterionResult(`${result.label}: ${what}`, value, criterion)
      }),
  )
}

function practiceFigure(
  { figure, kind }: PracticeCriterion,
  { drive, extras }: PracticeResult,
): number | null {
  if (figure === 'bad') return badAnswers(drive)
  if (figure === 'rps') return drive.report.rps
  const quantiles = kind === undefined ? drive.latency : drive.kinds[kind]
  if (figure === 'mean') return quantiles?.mean ?? null
  if (quantiles?.percentiles[figure] !== undefined) return quantiles.percentiles[figure]
  return extras[figure] ?? null
}

function badAnswers(drive: DriveReport): number {
  const refused = Object.entries(drive.report.statuses).filter(([status]) => /^4/.test(status))
  return serverFailures(drive) + refused.reduce((sum, [, count]) => sum + count, 0)
}

export function judgeGateway(
  passes: readonly GatewayCriterion[],
  results: readonly GatewayResult[],
): CriterionResult[] {
  return passes.flatMap((criterion) =>
    results
      .filter(({ label }) => criterion.stage === label || criterion.stage === '*')
      .map((result) => {
        const value = gatewayFigure(criterion, result)
        return criterionResult(`${result.label}: ${criterion.figure} of ${criterion.load}`, value, criterion)
      }),
  )
}

function gatewayFigure({ load, figure }: GatewayCriterion, result: GatewayResult): number | null {
  if (figure === 'upstreamIdleMs') return result.upstreamIdleMs
  if (figure === 'upstreamOverrun') return result.upstreamOverrun
  if (figure === 'rssMiB') return result.rssMiB
  if (figure === 'answeredShare') return fragmentsAnsweredShare(load, result)
  const call = result.calls.find(({ label }) => label === load)
  return call === undefined ? null : callFigure(figure, call)
}

function fragmentsAnsweredShare(part: string, { fragments }: GatewayResult): number | null {
  const own = fragments?.parts[part as keyof typeof fragments.parts]
  return own === undefined || own.sent === 0 ? null : own.answered / own.sent
}

function callFigure(figure: GatewayFigure, { drive, stream }: CallResult): number | null {
  if (drive !== null) {
    if (figure === 'bad') return badAnswers(drive)
    return drive.latency.percentiles[figure] ?? null
  }
  if (stream === null) return null
  switch (figure) {
    case 'firstTokenP50':
      return stream.firstToken.percentiles.p50 ?? null
    case 'firstTokenP99':
      return stream.firstToken.percentiles.p99 ?? null
    case 'gapP50':
      return stream.gap.percentiles.p50 ?? null
    case 'gapP99':
      return stream.gap.percentiles.p99 ?? null
    case 'driftMax':
      return stream.drift.max
    case 'goodput':
      return stream.goodput
    case 'tokensPerS':
      return stream.tokensPerSecond
    case 'bad':
      return stream.started - stream.cut - (stream.ends.complete ?? 0) - (stream.ends.aborted ?? 0)
    default:
      return stream.total.percentiles[figure] ?? null
  }
}

function criterionResult(what: string, value: number | null, { min, max }: FigureBounds): CriterionResult {
  const bounds = [min === undefined ? '' : `at least ${min}`, max === undefined ? '' : `at most ${max}`]
  const met =
    value !== null && value >= (min ?? Number.NEGATIVE_INFINITY) && value <= (max ?? Number.POSITIVE_INFINITY)
  return { wanted: `${what} ${bounds.filter((text) => text !== '').join(' and ')}`, value, met }
}

/** The highest rate of a ramp at which the knee's kind keeps its p99 and nothing fails, in words; null without a ramp. */
export function kneeText({ knee }: PracticeProfile, results: readonly PracticeResult[]): string | null {
  if (knee === undefined) return null
  const held = results.filter(
    ({ label, drive }) =>
      label !== 'capacity' &&
      badAnswers(drive) === 0 &&
      (drive.kinds[knee.kind]?.percentiles.p99 ?? Number.POSITIVE_INFINITY) <= knee.p99,
  )
  const wanted = `a p99 of ${knee.p99} ms for ${knee.kind}`
  const highest = held.reduce<PracticeResult | null>(
    (best, one) => ((one.rate ?? 0) > (best?.rate ?? 0) ? one : best),
    null,
  )
  if (highest === null) return `knee: not even the lowest step kept ${wanted}`
  return `knee: ${highest.label} (${highest.rate?.toFixed(0)}/s) is the highest step that kept ${wanted}`
}
