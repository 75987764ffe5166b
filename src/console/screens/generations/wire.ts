/** Generations as the API tells them; only what is shown. */
import { postCommand } from '../command.ts'

export interface Listed {
  readonly id: string
  readonly created_at: string
  readonly key_hash: string
  readonly key_name: string | null
  /** Null for management keys. */
  readonly workspace_id: string | null
  readonly model: string
  readonly requested: string
  readonly provider: string
  readonly outcome: Outcome
  readonly fault: string | null
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: number
  readonly duration_ms: number
  readonly first_event_ms: number | null
}

export type Outcome = 'settled' | 'failed' | 'aborted-confirmed' | 'aborted-estimated'

export interface Generation {
  readonly id: string
  readonly model: string
  readonly requested: string
  readonly key_hash: string
  readonly fault: string | null
  readonly created_at: string
  readonly total_cost: number
  readonly is_byok: boolean
  readonly cache_discount: number | null
  readonly finish_reason: string | null
  readonly provider_name: string | null
  readonly provider_responses: readonly Attempt[] | null
  readonly api_type: string | null
  readonly workspace_id: string | null
  readonly session_id: string | null
  readonly streamed: boolean | null
  readonly tokens_prompt: number | null
  readonly tokens_completion: number | null
  readonly native_tokens_reasoning: number | null
  readonly native_tokens_cached: number | null
  readonly user_agent: string | null
  readonly title: string | null
  readonly external_user: string | null
  readonly outcome: Outcome
  readonly estimated: boolean
  readonly upstream_cost: number
  readonly upstream_cost_basis: 'exact' | 'estimated'
  readonly config_version: string | null
  readonly price_version: string | null
  readonly region: string | null
  readonly candidates: readonly Candidate[]
  readonly unlisted_candidates: number
  readonly phases: Phases
  readonly rows: readonly Part[]
}

export interface Attempt {
  /** Of what kind of turn, and which of its kind. */
  readonly kind: string
  readonly turn: number
  readonly provider_name: string
  readonly model: string
  readonly status: number
  readonly error: string | null
  readonly latency: number
  /** Milliseconds of it; null where they are not known. */
  readonly queue: number | null
  readonly connect: number | null
  readonly charged: number
  readonly upstream_cost: number
  readonly upstream_cost_basis: 'exact' | 'estimated'
}

interface Phases {
  readonly admit: number
  readonly queue: number
  readonly connect: number
  readonly first_event: number | null
  readonly total: number
}

export interface Candidate {
  readonly provider_name: string
  readonly model: string
  readonly place: number | null
  readonly probability: number | null
  readonly why: readonly string[]
}

export interface Part {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly provider_name: string
  readonly outcome: Outcome
  readonly fault: string | null
  readonly charged: number
  readonly upstream_cost: number | null
  readonly tokens_prompt: number
  readonly tokens_completion: number
  readonly generation_time: number
  readonly phases: Phases
}

/** A call of a simulated model; `key`: the variable that holds what it is made with. */
export const firstCall = (key = 'SLUICE_API_KEY'): string =>
  postCommand(
    'chat/completions',
    { model: 'sim/fast', messages: [{ role: 'user', content: 'Say hello.' }] },
    key,
  )

export const GENERATIONS = 'api/v1/generations'
export const generationPath = (id: string): string => `api/v1/generation?id=${encodeURIComponent(id)}`
