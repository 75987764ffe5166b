import type { OperationMeter } from '../http/dispatch.js'
import type { OperationRecorder } from '../lab/recorder/operation-recorder.js'
import type { OperationStats } from '../telemetry/counters/operation-stats.js'

/** Counts for the operation's statistics and for the lab at once. */
export function labMeter(stats: OperationStats, recorder: OperationRecorder): OperationMeter {
  return {
    onArrival: (at) => {
      stats.arrived()
      recorder.arrived(at)
    },
    onSettled: (serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt) => {
      stats.settled(serviceMs, status, bytesIn, bytesOut, aborted)
      recorder.settled(serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt)
    },
    stream: {
      onChunk: (arrivedAt, ms, first) => recorder.measured(arrivedAt, first ? 'firstChunk' : 'chunkGap', ms),
      onStall: (arrivedAt, ms) => recorder.measured(arrivedAt, 'backpressure', ms),
      onEnd: (arrivedAt, chunks) => recorder.counted(arrivedAt, 'chunks', chunks),
    },
  }
}
