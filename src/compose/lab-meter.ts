import type { OperationMeter } from '../http/dispatch.js'
import type { OperationRecorder } from '../lab/recorder/operation-recorder.js'
import type { OperationStats } from '../telemetry/counters/operation-stats.js'

/** Counts for the operation's statistics and for the lab at once. */
export function labMeter(stats: OperationStats, recorder: OperationRecorder): OperationMeter {
  return {
    arrived: (at) => {
      stats.arrived()
      recorder.arrived(at)
    },
    settled: (serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt) => {
      stats.settled(serviceMs, status, bytesIn, bytesOut, aborted)
      recorder.settled(serviceMs, status, bytesIn, bytesOut, aborted, arrivedAt)
    },
    stream: {
      chunk: (arrivedAt, ms, first) => recorder.measured(arrivedAt, first ? 'firstChunk' : 'chunkGap', ms),
      waited: (arrivedAt, ms) => recorder.measured(arrivedAt, 'backpressure', ms),
      ended: (arrivedAt, chunks) => recorder.counted(arrivedAt, 'chunks', chunks),
    },
  }
}
