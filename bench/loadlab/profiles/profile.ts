/** Load profiles as data: what is asked, how hard, what is reported, and what is good enough. Nothing here runs. */
import type { ArrivalPattern } from '../../harness/http/arrival-schedule.js'
import type { AbortRule } from '../../harness/sse/timed-stream.js'
import type { FaultRequest } from '../runner/control.js'

/** Kinds of requests of the practice API. */
export type PracticeKind =
  | 'health'
  | 'get'
  | 'list'
  | 'create'
  | 'update'
  | 'delete'
  | 'search-none'
  | 'search-few'
  | 'search-half'
  | 'report'
  | 'hash-1k'
  | 'hash-10k'
  | 'hash-100k'

/** Weights; the sequence that follows from them is the same for every tool and every run. */
export type RequestMix = Readonly<Partial<Record<PracticeKind, number>>>

export type PracticeLoad =
  | { readonly kind: 'closed'; readonly connections: number }
  | { readonly kind: 'open'; readonly rate: number; readonly pattern: ArrivalPattern }
  /** A share of what the profile's stage `capacity` has reached. */
  | {
      readonly kind: 'share'
      readonly share: number
      readonly pattern: ArrivalPattern
      /** The share is of requests of this kind alone; the others of the mix come on top. */
      readonly of?: PracticeKind
    }
  /** `share` of the capacity, `factor` times as much in the middle for `peakS` seconds. */
  | { readonly kind: 'spike'; readonly share: number; readonly factor: number; readonly peakS: number }

export interface PracticeStage {
  /** `capacity` is what shares are of. */
  readonly label: string
  readonly load: PracticeLoad
  readonly seconds: number
  /** Instead of the profile's own. */
  readonly mix?: RequestMix
  /** Connections are closed by us after so many requests. */
  readonly requestsPerConnection?: number
  /** So many connections are open beside the load and say nothing. */
  readonly idle?: number
  readonly faults?: readonly FaultRequest[]
  /** Quasi-random delays of the report operation. */
  readonly quasi?: true
}

/** Milliseconds, per second, or counts, by name. */
type PracticeFigure =
  | 'mean'
  | 'p50'
  | 'p90'
  | 'p99'
  | 'p99.9'
  | 'rps'
  /** Requests without an answer, and answers of 400 and above that no fault asked for. */
  | 'bad'
  /** Answers of 500 and above plus lost requests, minus the faults that the server says it applied. */
  | 'faultGap'
  /** Percent per minute. */
  | 'rssSlope'
  /** Until the latency is back where it was, from the end of the peak on. */
  | 'recoveryMs'
  | 'bytesPerIdle'
  /** Mean wait of the kind that a share is of, over that of a queue with Poisson arrivals and even service (M/D/1). */
  | 'waitRatio'

export interface PracticeCriterion {
  /** Label of a stage; `*` is every one but `capacity`. */
  readonly stage: string
  readonly figure: PracticeFigure
  readonly kind?: PracticeKind
  readonly min?: number
  readonly max?: number
}

interface ProfileOf<Service, Stage, Criterion> {
  readonly service: Service
  readonly name: string
  readonly teaches: string
  readonly reports: readonly string[]
  readonly stages: readonly Stage[]
  readonly passes: readonly Criterion[]
}

export interface PracticeProfile extends ProfileOf<'practice', PracticeStage, PracticeCriterion> {
  readonly seedItems: number
  readonly mix: RequestMix
  /** The knee is the highest step at which this kind keeps this p99 and nothing fails. */
  readonly knee?: { readonly kind: PracticeKind; readonly p99: number }
}

/** One of the streams (or whole answers) that run at the same time in a stage. */
export interface CallLoad {
  readonly label: string
  /** `chat` is a whole answer; the others are event streams. */
  readonly endpoint: 'chat' | 'chat-stream' | 'messages-stream'
  /** Of the mock upstream. */
  readonly model: string
  readonly load:
    | { readonly kind: 'closed'; readonly streams: number }
    | { readonly kind: 'open'; readonly rate: number; readonly pattern: ArrivalPattern }
  readonly abort?: { readonly share: number; readonly rule: AbortRule }
  readonly bytesPerS?: number
  readonly paceMs?: number
  readonly goal?: { readonly firstTokenMs: number; readonly gapMs: number }
}

/** Event streams that are asked for when the calls of a file came, each as long as it says. */
export interface TracedCallLoad extends Omit<CallLoad, 'endpoint' | 'load'> {
  readonly endpoint: 'chat-stream'
  readonly load: {
    readonly kind: 'arrivals'
    /** A pace tape, a Mooncake or an Azure trace. In a profile that is kept it is empty: the command line names it. */
    readonly file: string
    /** So many times as fast. */
    readonly speed: number
  }
}

export function isTraced(call: CallLoad | TracedCallLoad): call is TracedCallLoad {
  return call.load.kind === 'arrivals'
}

export interface GatewayStage {
  readonly label: string
  /** Of a traced load: until its last call is due. */
  readonly seconds: number
  readonly loads: readonly (CallLoad | TracedCallLoad)[]
}

export type GatewayFigure =
  | 'firstTokenP50'
  | 'firstTokenP99'
  | 'gapP50'
  | 'gapP99'
  | 'driftMax'
  | 'goodput'
  | 'tokensPerS'
  /** 99th percentile of the time from when a stream was due until it was sent. */
  | 'lateP99'
  | 'p50'
  | 'p99'
  /** Streams that ended in any way but complete or given up on purpose. */
  | 'bad'
  /** Until the upstream holds no call any more, from the end of the load on. */
  | 'upstreamIdleMs'
  /** Calls that the upstream finished although their caller had left. */
  | 'upstreamOverrun'
  | 'rssMiB'
  /** Share of the requests, split at each byte, that were answered with 2xx. */
  | 'answeredShare'

export interface GatewayCriterion {
  readonly stage: string
  readonly load: string
  readonly figure: GatewayFigure
  readonly min?: number
  readonly max?: number
}

export interface GatewayProfile extends ProfileOf<'gateway', GatewayStage, GatewayCriterion> {
  /** Sends one call cut in two at every byte, instead of load. */
  readonly fragments?: true
}

export type Profile = PracticeProfile | GatewayProfile
