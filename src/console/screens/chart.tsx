/** Charts, which are loaded when one is seen first. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'

type Charts = typeof import('./drawing.ts')

const charts = signal<Charts | null | undefined>(null)

/** Null until they are there; undefined where they cannot be had, as on a page of an earlier version of the server. */
export function useCharts(): Charts | null | undefined {
  useEffect(() => {
    if (charts.value !== null) return
    const put = (loaded?: Charts): void => {
      charts.value = loaded
    }
    import('./drawing.ts').then(put, () => put())
  }, [])
  return charts.value
}

interface ChartProps {
  /** The class by which its place, which is kept until then, is as high as the chart. */
  readonly kind: string
  readonly draw: (charts: Charts) => JSX.Element
}

export function Chart({ kind, draw }: ChartProps) {
  const loaded = useCharts()
  if (loaded) return draw(loaded)
  return (
    <figure class={kind} aria-busy={loaded === null}>
      <span class="small">{'\u00a0'}</span>
      <svg aria-hidden="true" />
      <figcaption class="small">{'\u00a0'}</figcaption>
    </figure>
  )
}
