import type { LabRecorder } from './recorder.js'

const PERIOD_MS = 10
/** Lateness from which on it is a stall and stands in the log. */
const STALL_MS = 100

/**
 * Tells the recorder how late a 10 ms timer fires, and keeps its clock going while nothing arrives.
 * The returned function ends it.
 */
export function startLagProbe(recorder: LabRecorder, now: () => number): () => void {
  let last = now()
  const timer = setInterval(() => {
    const at = now()
    const late = at - last - PERIOD_MS
    recorder.recordLag(late, at)
    if (late >= STALL_MS && recorder.blockedUntil < last)
      recorder.stalls.recordStall('unplanned', last + PERIOD_MS, at)
    last = at
  }, PERIOD_MS)
  timer.unref()
  return () => clearInterval(timer)
}
