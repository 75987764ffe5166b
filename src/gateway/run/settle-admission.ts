/** The end of what an inference was admitted with. */
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import type { Generation } from './generation.js'
import type { Admission, RunPorts } from './ports.js'

/**
 * Settles also where the observer has a defect: what was taken would be held for ever. Never throws: a caller is told of
 * the end also where settling failed.
 */
export function settleAdmission(
  admission: Admission,
  generation: Generation<RoutedRequest>,
  outcome: InferenceOutcome,
  { observe, onDefect }: Pick<RunPorts, 'observe' | 'onDefect'>,
): Promise<void> | null {
  try {
    observe(generation, outcome)
  } catch (error) {
    onDefect(error)
  }
  try {
    return admission.settle(generation, outcome)
  } catch (error) {
    onDefect(error)
    return null
  }
}

/**
 * Takes a step when an admission is settled: now, or when its row is written. What the step throws is told then as well:
 * a second promise for that would cost every answer a turn of the queue.
 */
export function whenSettled(
  settled: Promise<void> | null,
  step: () => void,
  onDefect: (error: unknown) => void,
): void {
  const guarded = (): void => {
    try {
      step()
    } catch (error) {
      onDefect(error)
    }
  }
  if (settled === null) step()
  else settled.then(guarded, onDefect)
}
