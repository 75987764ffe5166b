/** Calls of the last two minutes, a bar for each second; failed ones stand at its foot. */
import type { Beat } from './live.ts'

const HEIGHT = 100
const WIDTH = 10
const GAP = 2

interface RateChartProps {
  readonly beats: readonly Beat[]
  /** Unix time in seconds. */
  readonly now: number | null
  readonly seconds: number
  readonly textOf: (rate: number) => string
}

export function RateChart({ beats, now, seconds, textOf }: RateChartProps) {
  const most = Math.max(0, ...beats.map(({ calls }) => calls))
  const heightOf = (value: number): number => (most === 0 ? 0 : (value / most) * HEIGHT)
  const first = Math.floor(now ?? 0) - seconds + 1
  return (
    <figure class="rate-chart">
      <span class="soft small">{most === 0 ? 'no calls' : `at most ${textOf(most)} a second`}</span>
      <svg
        viewBox={`0 0 ${seconds * WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Calls a second over two minutes, at most ${textOf(most)}`}
      >
        {beats
          .filter(({ at }) => at >= first)
          .map(({ at, calls, failed }) => (
            <g key={at} transform={`translate(${(at - first) * WIDTH} 0)`}>
              <rect y={HEIGHT - heightOf(calls)} width={WIDTH - GAP} height={heightOf(calls)} />
              <rect
                class="failed"
                y={HEIGHT - heightOf(failed)}
                width={WIDTH - GAP}
                height={heightOf(failed)}
              />
            </g>
          ))}
      </svg>
      <figcaption class="soft small">
        <span>two minutes ago</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}
