/** The live feed as the API tells it; only what is shown. */
import type { Outcome } from '../generations/wire.ts'

interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface LiveWorker {
  readonly worker: number
  readonly silent_ms: number
  readonly connections: number
  readonly requests_in_flight: number
  readonly loop_lag_ms: { readonly p99: number }
  readonly pool_queue: number
  readonly rss: number
  readonly cpu: number
}

export interface Machine {
  readonly requests_in_flight: number
  readonly answers_per_second: number
  readonly answers_5xx_per_second: number
  readonly overhead_ms: Quantiles | null
  readonly breakers: readonly { readonly endpoint: string; readonly state: string }[]
  readonly workers: readonly LiveWorker[]
}

export interface Sample {
  readonly at: number
  readonly calls_per_second: number
  readonly failed_per_second: number
  readonly prompt_tokens_per_second: number
  readonly completion_tokens_per_second: number
  readonly dollars_per_second: number
  readonly latency_ms: Quantiles | null
  readonly first_event_ms: Quantiles | null
  readonly in_flight: number | null
  readonly machine: Machine | null
}

export interface Call {
  readonly id: string
  readonly created_at: string
  readonly model: string
  readonly outcome: Outcome
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: number
  readonly duration_ms: number
}

export type { Quantiles }
export const LIVE = 'api/v1/live'
export const GENERATIONS = 'api/v1/generations'
