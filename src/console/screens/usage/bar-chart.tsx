/** Sums as bars, one for each day or hour. The table beneath tells the same to those who do not see it. */
import type { Slot, Span } from './slots.ts'

export type Figure = 'cost' | 'calls' | 'failed' | 'tokens'

const HEIGHT = 100
const WIDTH = 10
const GAP = 2

interface BarChartProps {
  readonly slots: readonly Slot[]
  readonly figure: Figure
  readonly span: Span
  /** Of dollars. */
  readonly moneyText: (dollars: number) => string
}

export function BarChart({ slots, figure, span, moneyText }: BarChartProps) {
  const values = slots.map((slot) => figureOf(slot, figure))
  const most = Math.max(...values)
  const textOf = (value: number): string =>
    figure === 'cost' ? `$${moneyText(value)}` : value.toLocaleString('en-US')
  return (
    <figure class={`bar-chart ${figure}`}>
      <span class="soft small">{most === 0 ? 'nothing yet' : `at most ${textOf(most)}`}</span>
      <svg
        viewBox={`0 0 ${slots.length * WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${textOf(values.reduce((sum, value) => sum + value, 0))} in all, at most ${textOf(most)} in one ${span}`}
      >
        {slots.map(({ at }, n) => {
          const height = most === 0 ? 0 : (values[n]! / most) * HEIGHT
          const x = n * WIDTH
          return (
            <g key={at}>
              <title>{`${labelOf(at, span)}: ${textOf(values[n]!)}`}</title>
              <rect class="ground" x={x} width={WIDTH - GAP} height={HEIGHT} />
              <rect x={x} y={HEIGHT - height} width={WIDTH - GAP} height={height} />
            </g>
          )
        })}
      </svg>
      <figcaption class="soft small">
        <span>{labelOf(slots[0]!.at, span)}</span>
        <span>{labelOf(slots.at(-1)!.at, span)}</span>
      </figcaption>
    </figure>
  )
}

function figureOf(slot: Slot, figure: Figure): number {
  if (figure === 'tokens') return slot.prompt_tokens + slot.completion_tokens
  return slot[figure]
}

const labelOf = (at: string, span: Span): string =>
  `${at.slice(0, 10)}${span === 'day' ? '' : ` ${at.slice(11, 16)}`} UTC`
