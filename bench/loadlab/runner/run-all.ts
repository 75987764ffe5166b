/** Makes the planned repetitions, one after the other, until they are done, or somebody asks for the end, or the server goes away. */
import type { Progress } from '../../harness/progress.js'
import type { Repetition } from '../report/repetition.js'
import { LabControlFault } from './control.js'
import { type ComparisonPlan, OVERHEAD_S } from './plan.js'
import { type RepetitionContext, runRepetition } from './repetition.js'

/** Whether the end was asked for. */
export interface StopRequest {
  asked: boolean
  /** Aborted when it is: ends the tool that runs. */
  readonly signal: AbortSignal
}

/** What was made stands, whatever ends it. */
export async function runAllRepetitions(
  plan: ComparisonPlan,
  stage: RepetitionContext,
  progress: Progress,
  stopping: StopRequest,
) {
  const repetitions: Repetition[] = []
  for (const [index, planned] of plan.planned.entries()) {
    if (stopping.asked) break
    const { round, scenario, variant, seconds } = planned
    const label = `${index + 1} of ${plan.planned.length}, round ${round}: ${variant.name} in ${scenario.name}`
    try {
      const repetition = await progress.during(label, seconds + OVERHEAD_S, () =>
        runRepetition(planned, stage),
      )
      // Interrupted in the middle: the tool was stopped with it, so there is nothing to judge.
      if (stopping.asked) break
      repetitions.push(repetition)
      reportFailure(repetition, progress)
    } catch (error) {
      if (!(error instanceof LabControlFault)) throw error
      progress.clear()
      process.stderr.write(`bench: ${error.message}\n`)
      return { repetitions, broken: error.message }
    }
  }
  return {
    repetitions,
    /** Why the rest was not made, in a sentence; null when all was, or when the end was asked for. */
    broken: null,
  }
}

function reportFailure({ tool, scenario, failure }: Repetition, progress: Progress): void {
  if (failure === undefined) return
  progress.clear()
  process.stderr.write(`bench: ${tool} in ${scenario}: ${failure}\n`)
}
