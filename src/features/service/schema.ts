import { z } from 'zod'
import { nameSchema } from '../../http/json-schema.js'

export const Health = nameSchema(
  'Health',
  z.object({
    status: z.enum(['ok', 'draining']),
    version: z.string(),
    worker: z.int(),
    uptime_s: z.number(),
  }),
)

const count = z.int().min(0)
const milliseconds = z.number().min(0)

const Quantiles = z.object({
  mean: milliseconds,
  p50: milliseconds,
  p90: milliseconds,
  p99: milliseconds,
  p99_9: milliseconds,
  max: milliseconds,
})

const Operation = z.object({
  count: count.meta({ description: 'Calls that arrived: answered, aborted or in flight' }),
  errors: count.meta({ description: 'Answers with a status of 400 or above' }),
  in_flight: count,
  aborted: count,
  bytes_in: count,
  bytes_out: count,
  ...Quantiles.shape,
  by_status: z.record(z.string(), count),
})

const Pool = z.object({
  threads: count,
  queue: count,
  queued_rounds: count,
  completed: count,
  rejected: count,
  dropped: count,
  wait_ms: Quantiles,
  run_ms: Quantiles,
  per_thread: z.array(z.object({ thread: count, tasks: count, busy_ms: milliseconds })),
})

/** Counters of one worker since it started. Times in milliseconds, from a histogram with 1.6 % resolution. */
export const Stats = nameSchema(
  'Stats',
  z.object({
    worker: count,
    pid: count,
    started_at: z.number().meta({ description: 'Unix time in seconds' }),
    uptime_s: z.number(),
    requests: z.object({
      total: count,
      in_flight: count,
      by_status: z.object({ '2xx': count, '3xx': count, '4xx': count, '5xx': count }),
      aborted: count,
    }),
    operations: z.record(z.string(), Operation),
    event_loop: z.object({
      utilization: z.number().min(0).max(1),
      delay_ms: z.object({ p50: milliseconds, p99: milliseconds, max: milliseconds }),
    }),
    pool: Pool,
    memory: z.object({ rss: count, heap_used: count, external: count }),
    connections: count,
  }),
)
