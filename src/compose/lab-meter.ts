import type { OperationMeter } from '../http/dispatch.js'
import type { OperationRecorder } from '../lab/recorder/operation-recorder.js'
import type { OperationStats } from '../telemetry/counters/operation-stats.js'

/** Counts for the operation's statistics and for the lab at once. */
export function labMeter(stats: OperationStats, recorder: OperationRecorder): OperationMeter {
  return {
    onArrival: (at) => {
      stats.recordArrival()
      recorder.recordArrival(at)
    },
    onSettled: (serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt) => {
      stats.recordSettled(serviceMs, status, bytesIn, bytesOut, aborted)
      recorder.recordSettled(serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt)
    },
    stream: {
      onChunk: (arrivedAt, ms, first) =>
        recorder.recordDuration(arrivedAt, first ? 'firstChunk' : 'chunkGap', ms),
      onStall: (arrivedAt, ms) => recorder.recordDuration(arrivedAt, 'backpressure', ms),
      onEnd: (arrivedAt, chunks) => recorder.recordCount(arrivedAt, 'chunks', chunks),
    },
  }
}
