/** Models, their endpoints and plans as the API tells them; only what is shown. */

export interface Model {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly context_length: number | null
  readonly pricing: Pricing
  readonly architecture: {
    readonly input_modalities: readonly string[]
    readonly output_modalities: readonly string[]
  }
  readonly alias_target?: { readonly slug: string }
}

/** Dollars for one of each, as decimals. */
export interface Pricing extends Readonly<Record<string, string | undefined>> {
  readonly prompt: string
  readonly completion: string
  readonly request?: string
}

interface Percentiles {
  readonly p50: number
  readonly p99: number
}

export interface Endpoint {
  readonly provider_name: string
  readonly tag: string
  readonly context_length: number
  readonly max_completion_tokens: number | null
  readonly pricing: Pricing
  readonly supported_parameters: readonly string[]
  readonly uptime_last_30m: number | null
  /** Milliseconds. */
  readonly latency_last_30m: Percentiles | null
  /** Tokens a second. */
  readonly throughput_last_30m: Percentiles | null
  /** -1 while its breaker is open. */
  readonly status: 0 | -1
}

export interface ModelWithEndpoints extends Pick<Model, 'id' | 'name' | 'description' | 'architecture'> {
  readonly endpoints: readonly Endpoint[]
}

export interface Provider {
  readonly name: string
  readonly slug: string
  readonly status_page_url: string | null
  readonly privacy_policy_url: string | null
  readonly terms_of_service_url: string | null
}

/** What the request could say instead; `request` is a merge patch on it, or null for what no request can bring about. */
export interface Change {
  readonly says: string
  readonly request: Readonly<Record<string, unknown>> | null
}

interface Candidate {
  readonly model: string
  readonly provider: string
  readonly tag: string
  readonly would_change: readonly Change[]
}

export interface Planned extends Candidate {
  readonly position: number
  readonly state: 'closed' | 'half-open' | 'open' | 'cooling'
  readonly is_byok: boolean
  /** Dollars per million tokens, prompt and completion together. */
  readonly price: number
  readonly latency_ms: number | null
  readonly tokens_per_second: number | null
  readonly probability: number | null
  readonly why: readonly string[]
}

export interface Excluded extends Candidate {
  readonly why: string
}

export interface Explanation {
  readonly requested: string
  readonly config_version: string
  readonly total: number
  readonly endpoints: readonly Planned[]
  readonly excluded: readonly Excluded[]
}

export const MODELS = 'api/v1/models'
export const PROVIDERS = 'api/v1/providers'
export const EXPLAIN = 'api/v1/routing/explain'
export const endpointsPath = (id: string): string => `${MODELS}/${encodeURIComponent(id)}/endpoints`

/** Prices are told for one token; people compare them for a million. */
export const perMillion = (dollars: string): number => Number((Number(dollars) * 1e6).toPrecision(12))
