/**
 * What the gateway part of the configuration file says once it has been checked. Plain data, so that it can go
 * from the supervisor to the workers. It holds credentials: it is never logged and never answered.
 */
import type { ConnectionPoolLimits, PhaseTimeouts } from '../../../upstream/port.js'

export interface GatewayConfig {
  /** By slug, the built-in `sim` included. */
  readonly providers: Readonly<Record<string, ProviderConfig>>
  /** The ready-made simulated models included. Ids are unique. */
  readonly models: readonly ModelConfig[]
  /** Who may call an operation, where the configuration says so (contract/decisions 3). By name of the operation. */
  readonly permissions: Readonly<Record<string, 'key' | 'management'>>
  readonly routing: RoutingConfig
}

/** How often and how patiently a call is tried again. */
export interface RoutingConfig {
  /** Further attempts at endpoints that have turned the call away or were out of reach. */
  readonly retries: number
  /** Longest wait before one of them; who asks for more is not asked again. */
  readonly retryWaitMs: number
  /** Share of the calls that may be tried again, over the worker. */
  readonly retryBudget: number
}

/** What callers are told about a provider, and what their preferences may ask of it. */
export interface ProviderTerms {
  /** Display name. */
  readonly name: string
  readonly privacyPolicyUrl: string | null
  readonly termsOfServiceUrl: string | null
  readonly statusPageUrl: string | null
  readonly collectsData: boolean
  readonly zeroDataRetention: boolean
  /** Calls stay away from an endpoint of it while that keeps failing. */
  readonly hasBreaker: boolean
}

/** A server that speaks the OpenAI chat format, or the messages format of Anthropic. */
interface ServerProviderConfig extends ProviderTerms {
  readonly kind: 'openai' | 'anthropic'
  /** `http` or `https`, without credentials, query, fragment and closing slash. */
  readonly baseUrl: string
  /** The credential itself; null when the server wants none. */
  readonly apiKey: string | null
  /** Further fixed request headers. None of them is one of connection, framing or authorization. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: PhaseTimeouts
  readonly connections: ConnectionPoolLimits
}

/** The provider inside. */
interface SimulatedProviderConfig extends ProviderTerms {
  readonly kind: 'simulated'
  readonly seed: number
  /** Callers may ask for a fault with a request header. */
  readonly allowRequestFaults: boolean
}

export type ProviderConfig = ServerProviderConfig | SimulatedProviderConfig

export interface ModelConfig {
  /** `vendor/name` or `vendor/name:variant`. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** Unix seconds; 0 when not configured. */
  readonly created: number
  readonly contextLength: number | null
  readonly inputModalities: readonly string[]
  readonly outputModalities: readonly string[]
  /** Of models that speak; null when they are not known. */
  readonly supportedVoices: readonly string[] | null
  readonly knowledgeCutoff: string | null
  readonly huggingFaceId: string | null
  /** In order of preference; at least one. */
  readonly endpoints: readonly EndpointConfig[]
}

export interface EndpointConfig {
  /** Slug of a configured provider. */
  readonly provider: string
  readonly upstreamModel: string
  readonly prices: Prices
  /** Decimal texts of dollars, under the names of the models operation (contract/gateway 11.1). */
  readonly pricing: Readonly<Record<string, string>>
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly quantization: string | null
  readonly supportedParameters: readonly string[]
  /** Service tiers that it has; null when that is not known. */
  readonly serviceTiers: readonly string[] | null
  /** Behaviour of a simulated endpoint, already validated; null for real ones. */
  readonly simulation: unknown
}

/** Nano-dollars per million tokens, and per request. What absent kinds cost is said in `price.ts`. */
export interface Prices {
  readonly prompt: number
  readonly completion: number
  readonly inputCacheRead: number | null
  readonly inputCacheWrite: number | null
  readonly internalReasoning: number | null
  readonly inputAudio: number | null
  readonly outputAudio: number | null
  /** Nano-dollars per million seconds of audio. */
  readonly audioSecond: number | null
  /** Nano-dollars per million characters of spoken text. */
  readonly inputCharacter: number | null
  /** Nano-dollars per request. */
  readonly request: number
}

/** Limits of the inference operations. Unlike the rest they count from the start of the server to its end. */
export interface InferenceLimits {
  readonly inferenceBodyBytes: number
  readonly inferenceDeadlineMs: number
  readonly uploadBodyBytes: number
}
