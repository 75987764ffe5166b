import type { StreamPorts } from './stream-reply.js'

/** What the inference operations need of the worker. */
export interface InferencePorts extends StreamPorts {
  /** Most bytes of a request body. */
  readonly bodyLimit: number
  /** Total time of a call in milliseconds. */
  readonly deadlineMs: number
}

/** What the transport leaves the gateway to tell a deadline: more than the sweeps of both take. */
export const GRACE_MS = 2_000
