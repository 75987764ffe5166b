/** Where the time of an answer went, as its row tells; asked for when somebody wants to see it. */
import { useResource } from '../../api/resource.ts'
import { ProblemNote } from '../../kit/page.tsx'
import { Waterfall } from '../generations/waterfall.tsx'
import { type Generation, generationPath } from '../generations/wire.ts'

export function Phases({ id }: { id: string }) {
  const { data, problem, reload } = useResource<{ data: Generation }>(generationPath(id))
  if (problem) return <ProblemNote problem={problem} retry={reload} />
  return data === undefined ? <span class="skeleton" /> : <Waterfall of={data.data} />
}
