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
  const first = Math.floor(now ?? 0) - seconds + 1
  /** One shape for all bars: to move 240 elements every second is a good part of what the page has to do. */
  const barsOf = (rateOf: (beat: Beat) => number): string =>
    beats
      .filter((beat) => beat.at >= first && rateOf(beat) > 0)
      .map((beat) => {
        const height = Math.round((100 * HEIGHT * rateOf(beat)) / most) / 100
        return `M${(beat.at - first) * WIDTH} ${HEIGHT}v${-height}h${WIDTH - GAP}v${height}z`
      })
      .join('')
  return (
    <figure class="rate-chart">
      <span class="soft small">{most === 0 ? 'no calls' : `at most ${textOf(most)} a second`}</span>
      <svg
        viewBox={`0 0 ${seconds * WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Calls a second over two minutes, at most ${textOf(most)}`}
      >
        <path d={barsOf(({ calls }) => calls)} />
        <path class="failed" d={barsOf(({ failed }) => failed)} />
      </svg>
      <figcaption class="soft small">
        <span>two minutes ago</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}
