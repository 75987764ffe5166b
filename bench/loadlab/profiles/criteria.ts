/** Whether a profile's results are good enough, by its own criteria. */
import type { DriveReport } from '../drivers/drive-report.js'
import type { StreamReport } from '../drivers/stream-report.js'
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
  const about = ({ figure, kind }: PracticeCriterion) =>
    kind === undefined ? figure : `${figure} of ${kind}`
  return judgeStages(passes, results, practiceFigure, about)
}

export function judgeGateway(
  passes: readonly GatewayCriterion[],
  results: readonly GatewayResult[],
): CriterionResult[] {
  return judgeStages(passes, results, gatewayFigure, ({ figure, load }) => `${figure} of ${load}`)
}

/** Each criterion on the results of the stages it is about; `about` names its figure. */
function judgeStages<
  Criterion extends FigureBounds & { readonly stage: string },
  Result extends { readonly label: string },
>(
  passes: readonly Criterion[],
  results: readonly Result[],
  figureOf: (criterion: Criterion, result: Result) => number | null,
  about: (criterion: Criterion) => string,
): CriterionResult[] {
  return passes.flatMap((criterion) => {
    const { stage, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = criterion
    const bounds = [
      ...(criterion.min === undefined ? [] : [`at least ${min}`]),
      ...(criterion.max === undefined ? [] : [`at most ${max}`]),
    ]
    const own = results.filter(({ label }) => stage === label || (stage === '*' && label !== 'capacity'))
    return own.map((result) => {
      const value = figureOf(criterion, result)
      const wanted = `${result.label}: ${about(criterion)} ${bounds.join(' and ')}`
      return { wanted, value, met: value !== null && value >= min && value <= max }
    })
  })
}

function practiceFigure(
  { figure, kind }: PracticeCriterion,
  { drive, extras }: PracticeResult,
): number | null {
  if (figure === 'bad') return badAnswers(drive)
  if (figure === 'rps') return drive.report.rps
  const quantiles = kind === undefined ? drive.latency : drive.kinds[kind]
  if (figure === 'mean') return quantiles?.mean ?? null
  return quantiles?.percentiles[figure] ?? extras[figure] ?? null
}

function badAnswers(drive: DriveReport): number {
  const refused = Object.entries(drive.report.statuses).filter(([status]) => /^4/.test(status))
  return serverFailures(drive) + refused.reduce((sum, [, count]) => sum + count, 0)
}

function gatewayFigure({ load, figure }: GatewayCriterion, result: GatewayResult): number | null {
  if (figure === 'upstreamIdleMs' || figure === 'upstreamOverrun' || figure === 'rssMiB')
    return result[figure]
  if (figure === 'answeredShare') return fragmentsAnsweredShare(load, result)
  const call = result.calls.find(({ label }) => label === load)
  return call === undefined ? null : callFigure(figure, call)
}

function fragmentsAnsweredShare(part: string, { fragments }: GatewayResult): number | null {
  const own = fragments?.parts[part as keyof typeof fragments.parts]
  return own === undefined || own.sent === 0 ? null : own.answered / own.sent
}

const STREAM_FIGURES: Readonly<Partial<Record<GatewayFigure, (stream: StreamReport) => number | undefined>>> =
  {
    firstTokenP50: ({ firstToken }) => firstToken.percentiles.p50,
    firstTokenP99: ({ firstToken }) => firstToken.percentiles.p99,
    gapP50: ({ gap }) => gap.percentiles.p50,
    gapP99: ({ gap }) => gap.percentiles.p99,
    driftMax: ({ drift }) => drift.max,
    goodput: ({ goodput }) => goodput,
    tokensPerS: ({ tokensPerSecond }) => tokensPerSecond,
    lateP99: ({ lateness }) => lateness.percentiles.p99,
    bad: ({ started, cut, ends }) => started - cut - (ends.complete ?? 0) - (ends.aborted ?? 0),
  }

function callFigure(figure: GatewayFigure, { drive, stream }: CallResult): number | null {
  if (drive !== null)
    return figure === 'bad' ? badAnswers(drive) : (drive.latency.percentiles[figure] ?? null)
  if (stream === null) return null
  return STREAM_FIGURES[figure]?.(stream) ?? stream.total.percentiles[figure] ?? null
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
