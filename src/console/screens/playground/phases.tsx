/** Where the time of an answer went, as its row tells; asked for when somebody wants to see it. */
import { useResource } from '../../api/resource.ts'
import { ProblemNote } from '../../kit/page.tsx'
import { Count } from '../../kit/values.tsx'
import { useCharts } from '../chart.tsx'
import { type Generation, generationPath } from '../generations/wire.ts'

export function Phases({ id }: { id: string }) {
  const { data, problem, reload } = useResource<{ data: Generation }>(generationPath(id))
  const charts = useCharts()
  if (problem) return <ProblemNote problem={problem} retry={reload} />
  if (data === undefined || charts === null) return <span class="skeleton" />
  return charts ? <charts.Waterfall of={data.data} Count={Count} /> : null
}
