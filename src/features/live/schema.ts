/** The events of the live feed on the wire. Money is in dollars, durations are in milliseconds. */
import { z } from 'zod'
import { nameSchema } from '../../http/json-schema.js'

const count = z.int().min(0)
const rate = z.number().min(0)
const text = z.string().nullable()

const Summary = nameSchema(
  'LiveCall',
  z.object({
    id: z.string(),
    created_at: z.string(),
    key_hash: z.string(),
    key_name: text,
    model: z.string(),
    requested: z.string().meta({ description: 'The model as the caller named it.' }),
    provider: z.string(),
    api: z.string(),
    streamed: z.boolean(),
    outcome: z.string(),
    fault: text.meta({ description: 'Kind of the fault that ended it.' }),
    finish: text,
    prompt_tokens: count,
    completion_tokens: count,
    cost: rate,
    byok_cost: rate.meta({ description: 'What went on the caller’s own account at the provider.' }),
    duration_ms: count,
    first_event_ms: count.nullable(),
    session_id: text,
    attempts: count,
  }),
)

const quantiles = z
  .object({ count, p50: rate, p90: rate, p99: rate, max: rate })
  .nullable()
  .meta({ description: 'Milliseconds, of the last five seconds; null where nothing was measured.' })

const Worker = z.object({
  worker: count,
  pid: count,
  uptime_s: rate,
  silent_ms: count.meta({
    description: 'Since it was heard last: a worker whose loop stands still says nothing.',
  }),
  connections: count,
  requests_in_flight: count,
  loop_utilization: rate,
  loop_lag_ms: z.object({ p50: rate, p99: rate, max: rate }),
  pool_threads: count,
  pool_queue: count,
  pool_queued_rounds: count,
  rss: count,
  cpu: rate.meta({ description: 'Of one core.' }),
})

const Machine = z.object({
  requests_in_flight: count.meta({ description: 'Of any operation.' }),
  answers_per_second: rate,
  answers_4xx_per_second: rate,
  answers_5xx_per_second: rate,
  overhead_ms: quantiles.meta({
    description: 'What was the server’s own of the time until callers got the first of an answer.',
  }),
  breakers: z
    .array(z.object({ endpoint: z.string(), state: z.enum(['open', 'half-open', 'cooling']) }))
    .meta({ description: 'Endpoints that are not called as usual.' }),
  supervisor_rss: count,
  workers: z.array(Worker),
})

/** Data of the event `sample`. */
export const LiveSample = nameSchema(
  'LiveSample',
  z.object({
    seq: count.meta({ description: 'Of the round: a gap is what a slow reader has missed.' }),
    at: z.number().meta({ description: 'Unix time in seconds, with a fraction.' }),
    calls_per_second: rate.meta({ description: 'Rates are those of the last second.' }),
    failed_per_second: rate,
    aborted_per_second: rate.meta({ description: 'Callers that left.' }),
    faults_per_second: z.record(z.string(), rate),
    prompt_tokens_per_second: rate,
    completion_tokens_per_second: rate,
    dollars_per_second: rate,
    byok_dollars_per_second: rate,
    latency_ms: quantiles,
    first_event_ms: quantiles,
    in_flight: count
      .nullable()
      .meta({ description: 'Calls under way; null for members, whose calls nobody counts apart.' }),
    machine: Machine.nullable().meta({ description: 'For the operator only.' }),
  }),
)

/** Data of the event `call`. */
export const LiveCalls = nameSchema(
  'LiveCalls',
  z.object({
    seq: count,
    data: z
      .array(Summary)
      .meta({ description: 'The latest calls that have ended since the round before, at most 10.' }),
  }),
)

/** Data of the event `end`. */
const LiveEnd = nameSchema(
  'LiveEnd',
  z.object({
    reason: z.enum(['credential', 'rights', 'server']).meta({
      description:
        'The `credential` does not count any more, the `rights` of the caller have changed, or the `server` stops or wants the connection back. After the last two a reader connects again.',
    }),
  }),
)

export const LiveEvent = z.union([LiveSample, LiveCalls, LiveEnd])
